"""Models in another interpreter (the same one, in a process of its own): same rows, and what its death costs."""

from __future__ import annotations

import os
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import intrabench
from intrabench.datasets import store as cases
from intrabench.engine import remote
from intrabench.engine.remote import RemoteModel
from intrabench.errors import IntraBenchError
from intrabench.mask import Mask
from intrabench.models.base import Answer, Failure, Request, Runtime
from intrabench.prompts import Turn, box3d
from tests.conftest import Said
from tests.engine.test_run import lasting

PYTHON = Path(sys.executable)
PLUGIN = Path(__file__).with_name("remote_plugin.py")
SMALL = "phantom:shape=16x32x32,instances=5,spacing=3x1x2,orientation=LPI"
GONE = "the worker process ended with signal 9, perhaps out of memory: last words; the next request gets a fresh one"


@pytest.fixture(autouse=True)
def started(monkeypatch: pytest.MonkeyPatch, data: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    """The processes that were started; none of them is left by a test. They find the tests as this one does."""
    processes: list[subprocess.Popen[bytes]] = []
    real = subprocess.Popen

    def popen(*args: Any, **options: Any) -> subprocess.Popen[bytes]:
        processes.append(real(*args, **options))
        return processes[-1]

    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    monkeypatch.setattr(remote.subprocess, "Popen", popen)
    yield processes
    left = [process for process in processes if process.poll() is None]
    for process in left:
        process.kill()
        process.wait()
    assert not left


def run(model: str, prompter: str = "box_volume", out: str = "remote", **options: Any) -> pl.DataFrame:
    """Rows of a run, in the other process unless told otherwise."""
    return intrabench.run(model, prompter, SMALL, out=out, plugins=[PLUGIN], **{"python": PYTHON, **options})


def here(model: str, prompter: str = "box_volume", **options: Any) -> pl.DataFrame:
    return run(model, prompter, out="here", python=None, **options)


def target_rows() -> list[int]:
    """The row at which the box of each target begins."""
    cases.prepare(intrabench.dataset(SMALL), "case-1")
    return [target.mask.box[1] for target in cases.open_case(intrabench.dataset(SMALL), "case-1").targets()]


def test_a_model_of_volumes_gives_the_same_rows(started: list[Any]) -> None:
    options = {"rounds": 2, "seed": [0, 1]}
    expected = here("random_walker", "box_volume+scribble", **options)
    assert started == []
    assert lasting(run("random_walker", "box_volume+scribble", **options)).equals(lasting(expected))
    assert set(expected["round"]) == {0, 1, 2}
    assert len(started) == 1
    assert started[0].returncode == 0


def test_a_network_with_a_memory_gives_the_same_rows_even_if_it_is_killed(started: list[Any]) -> None:
    options = {"rounds": 2, "weights": Path("random")}
    expected = here("mortal", "points_slice:n=2+click_slice", **options)
    rows = run("mortal", "points_slice:n=2+click_slice", **options)
    assert lasting(rows).equals(lasting(expected))
    assert set(rows["model"]) == {"mortal (random weights)"}
    assert len(started) == 1
    Path("mortal").touch()
    killed = run("mortal", "points_slice:n=2+click_slice", out="killed", **options)
    assert [process.returncode for process in started] == [0, -9, 0]
    assert lasting(killed).equals(lasting(expected))
    forgetful = here("mortal:remembers=false", "points_slice:n=2+click_slice", **options)
    final = pl.col("round") == 2
    assert forgetful.filter(final)["dice"].to_list() != expected.filter(final)["dice"].to_list()


def test_a_request_that_kills_the_process_is_one_failed_row() -> None:
    rows = run(f"killer:row={target_rows()[2]}")
    assert rows["status"].to_list() == ["ok", "ok", "error", "ok", "ok"]
    assert rows["error"].to_list() == ["", "", GONE, "", ""]
    others = pl.col("target") != "blob.3"
    assert rows.filter(others)["dice"].equals(here("box_fill").filter(others)["dice"])


def test_how_a_process_ended_is_told_with_its_last_words() -> None:
    rows = run("killer:row=-1,code=3", targets=["blob.1"])
    assert rows["error"].to_list() == [
        "the worker process ended with exit code 3: last words; the next request gets a fresh one"
    ]


def asked(row: int) -> Request:
    return Request(f"row {row}", (Turn(box3d((0, row, 0, 4, row + 4, 4))),))


@pytest.fixture
def opened() -> Iterator[Callable[[str], Any]]:
    """Opens the phantom with a model of the plugin, in another process."""
    models: list[RemoteModel] = []
    target_rows()
    volume = cases.open_case(intrabench.dataset(SMALL), "case-1").volume

    def make(spec: str) -> Any:
        models.append(RemoteModel(PYTHON, spec, Runtime(), [PLUGIN]))
        return models[-1].open(volume)

    yield make
    for model in models:
        model.close()


def test_a_model_that_always_dies_is_started_three_times_for_a_batch(opened: Any) -> None:
    with opened("killer:row=-1") as image:
        answers = image.segment([asked(row) for row in range(8)])
        assert [answer.message for answer in answers] == [GONE] * 8
        assert len(Path("starts").read_text().split()) == 3
        assert image.segment([asked(0)])[0].message == GONE
        assert len(Path("starts").read_text().split()) == 4


def test_requests_before_the_second_death_are_answered(opened: Any) -> None:
    with opened("killer:row=1") as image:
        answers = image.segment([asked(row) for row in (0, 1, 2, 1, 3)])
        assert [isinstance(answer, Answer) for answer in answers] == [True, False, True, False, False]
        assert isinstance(image.segment([asked(3)])[0], Answer)


def test_memories_are_forgotten_over_there_when_they_are_no_longer_needed_here(opened: Any) -> None:
    with opened("counting") as image:
        first, second = image.segment([asked(0), asked(1)])
        assert isinstance(first.memory, remote.Remembered)
        later = Request("row 0", asked(0).turns * 2, Mask.empty(), first.memory)
        (first,) = image.segment([later])  # the session's earlier memory is needed no longer
        del later, second
        (first,) = image.segment([Request("row 0", asked(0).turns * 3, Mask.empty(), first.memory)])
        gone = weakref.ref(first.memory)
        del first
        assert gone() is None
        image.segment([asked(2)])
    assert Path("alive").read_text().splitlines() == ["0 none", "1 none", "2 Memory", "1 Memory", "0 none"]


def test_memories_do_not_outlive_their_sessions() -> None:
    run("counting", "box_volume+click_center", rounds=2, seed=list(range(4)), strict=False)
    alive = [int(line.split()[0]) for line in Path("alive").read_text().splitlines()]
    assert len(alive) == 20
    assert alive[-1] < 20


def test_the_scan_and_the_failure_are_the_same_there() -> None:
    rows, expected = run("looking"), here("looking")
    assert rows.select("status", "error").equals(expected.select("status", "error"))
    assert set(rows["status"]) == {"timeout"}
    assert expected["error"][0].startswith("TimeoutError: ((16, 32, 32), (3.0, 1.0, 2.0), 'int16', ")
    assert "synthetic, CT-like" in expected["error"][0]


@pytest.mark.xfail(strict=True, reason="a failure of the model as a whole comes back as an IntraBenchError")
@pytest.mark.parametrize("spec", ["exhausted", "exhausted:opening=true"])
def test_running_out_of_memory_as_a_whole_is_the_same_there(spec: str) -> None:
    rows, expected = run(spec), here(spec)
    assert rows.select("status", "error").equals(expected.select("status", "error"))
