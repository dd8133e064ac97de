"""A real study: two models on a phantom with several cases, rated by two people."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import intrabench
from intrabench.people.rating.design import Plan, design
from intrabench.people.rating.study import Study

PHANTOM = "phantom:shape=12x40x44,instances=2,scans=3"
PLAN = Plan(title="A study", inputs=4, raters=("r1", "r2"), anchors=0.5, repeats=0.25, training=2, seed=3)


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder with masks, beside its data."""
    folder = tmp_path_factory.mktemp("rated")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INTRABENCH_DATA", str(folder / "data"))
        intrabench.run(
            ["box_fill", "random_walker"],
            "box_interp:n=3",
            PHANTOM,
            metric=["hd95"],
            save_masks=True,
            workers=0,
            out=folder / "results",
        )
    return folder / "results"


@pytest.fixture(scope="session")
def designed(results: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a study that nobody changes."""
    folder = tmp_path_factory.mktemp("designed") / "study"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INTRABENCH_DATA", str(results.parent / "data"))
        design(results, folder, PLAN)
    return folder


@pytest.fixture
def study(designed: Path, tmp_path: Path) -> Study:
    """A copy of it."""
    import shutil

    shutil.copytree(designed, tmp_path / "study")
    return Study.open(tmp_path / "study")


class Client:
    """Asks a server as the page does."""

    def __init__(self, address: str, token: str = "") -> None:
        self.address, self.token = address, token

    def ask(self, path: str, posted: Any = None, **headers: str) -> tuple[int, Any]:
        """The status, and the parsed answer (bytes if it is no JSON)."""
        sent = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        body = None if posted is None else posted if isinstance(posted, bytes) else json.dumps(posted).encode()
        request = urllib.request.Request(self.address + path, body, {**sent, **headers})
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                status, content, kind = answer.status, answer.read(), answer.headers["Content-Type"]
        except urllib.error.HTTPError as error:
            status, content, kind = error.code, error.read(), error.headers["Content-Type"]
        return status, json.loads(content) if "json" in kind else content


class Running:
    """`intrabench rate serve` as a process of its own."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        command = [sys.executable, "-m", "intrabench", "rate", "serve", str(folder), "--port", str(port)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.links: dict[str, str] = {}
        assert self.process.stdout is not None
        for rater in Study.open(folder).raters:
            name, _, link = self.process.stdout.readline().strip().partition(": ")
            assert name == rater
            self.links[rater] = link

    def client(self, rater: str) -> Client:
        """As a rater."""
        address, _, token = self.links[rater].partition("#")
        return Client(address, token)

    @property
    def port(self) -> int:
        return int(self.links["r1"].split(":")[2].split("/")[0])


@contextmanager
def running(folder: Path, port: int = 0) -> Iterator[Running]:
    """A server while the context lasts."""
    server = Running(folder, port)
    try:
        yield server
    finally:
        server.process.kill()
        server.process.communicate()


def answer(study: Study, rater: str, at: int, **more: Any) -> dict[str, Any]:
    """A complete answer of a rater at a place."""
    job = study.order(rater)[at]
    given = {
        "id": f"{rater}-{at:08d}",
        "place": at,
        "job": job,
        "score": 7,
        "seconds": 3.5,
        "seen": list(range(*study.see(job))),
        "views": 9,
    }
    return given | more
