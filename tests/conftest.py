"""Shared fixtures: every test runs in an empty folder, outside of any workspace, with its own data folder."""

from __future__ import annotations

import ctypes
import gc
import os
import platform
import re
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer.main
from hypothesis import settings

from intrabench.cli.main import main
from intrabench.mask import Mask
from intrabench.registry import registry
from intrabench.results import model_cards
from intrabench.target import Target
from tests import versions
from tests.server import Server, serving
from tests.tabs import Tabs
from tests.wording import wording as wording

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it is ignored, also by what tests start,
signal.signal(signal.SIGINT, signal.default_int_handler)  # and so is this in the background of a shell

GOLDEN = Path(__file__).parent / "golden"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")

sys.dont_write_bytecode = False  # rewriting the asserts of all tests anew takes as long as a thousand tests,
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # and compiling the package a fifth of what a short command takes

os.fsync = lambda handle: None  # no test pulls the plug, and disks are slow

# `make test` draws the same examples each time, without deadlines: it fails because of a change, not by chance or load.
# `make test-slow` looks for new ones.
settings.register_profile("busy", deadline=None, max_examples=25, derandomize=True)
settings.register_profile("thorough", deadline=None, max_examples=250)
settings.load_profile("busy")

get_command = cache(typer.main.get_command)  # reads the signatures of all commands, as often as one is typed


IMPORTED = pytest.StashKey[frozenset[str]]()


def pytest_configure(config: pytest.Config) -> None:
    """Digests of behaviours are written with what syrupy writes."""
    versions.UPDATE = config.getoption("update_snapshots", False)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files of whole commands come first: a long one at the end would leave a worker without work."""
    items.sort(key=lambda item: item.path.parent != Path(__file__).parent)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Notes which modules collecting the tests has imported."""
    session.config.stash[IMPORTED] = frozenset(sys.modules)
    keep()


def keep() -> None:
    """What lives now stays: runs collect garbage, and would search all tests and libraries for it each time."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """At the end nothing stays, or libraries tell of what they leak."""
    gc.unfreeze()


GLIBC = platform.libc_ver()[0] == "glibc"


@pytest.fixture(scope="module", autouse=True)
def _keep() -> Iterator[None]:
    """After a file, what of it still lives is kept, and the memory of the rest goes back: glibc would keep that too."""
    yield
    keep()
    if GLIBC:
        ctypes.CDLL(None).malloc_trim(0)


numbers = count()


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder; pytest's own looks through the folders of all earlier tests for the next number."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    return tmp_path_factory.mktemp(f"{name}{next(numbers)}", numbered=False)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    monkeypatch.setenv("INTRABENCH_WORKERS", "0")  # tests of workers ask for some
    monkeypatch.setattr(registry, "_plugins", {room: {} for room in registry.ROOMS})
    for noted in ("_stated", "_agreed"):
        monkeypatch.setattr(model_cards, noted, {})


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data folder."""
    monkeypatch.setenv("INTRABENCH_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


@dataclass
class Said:
    """What a command ended with and printed."""

    code: int
    out: str
    err: str


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, data: Path) -> Callable[..., Said]:
    """Type a command."""

    def call(*words: str) -> Said:
        monkeypatch.setattr(sys, "argv", ["intrabench", *words])
        monkeypatch.setattr(typer.main, "get_command", get_command)
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return Said(int(ended.value.code or 0), printed.out, printed.err)

    return call


@pytest.fixture
def server() -> Iterator[Server]:
    """A web server on this machine."""
    with serving() as server:
        yield server


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A real browser; where there is none, the test is skipped."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"none of {', '.join(BROWSERS)} is installed")
    with api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def tabs(chromium: Any) -> Tabs:
    """Tabs of the browser, which tests use one after another."""
    return Tabs(chromium)


@pytest.fixture(scope="module")
def axe() -> Any:
    """Finds what keeps people from using a page; what it does not object to is not listed, which takes longest."""
    found = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    return partial(found.run, options={"resultTypes": ["violations"]})


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses asked for; none of them is really made."""
    asked: list[float] = []
    monkeypatch.setattr("time.sleep", asked.append)
    monkeypatch.setenv("NO_PROXY", "*")
    return asked


def make_target(
    array: np.ndarray, spacing_mm: tuple[float, float, float] = (1.0, 1.0, 1.0), instance: int = 1
) -> Target:
    """A target from a plain mask."""
    depth, height, width = array.shape
    return Target("case", "thing", instance, Mask.of(array), (depth, height, width), spacing_mm)


@pytest.fixture
def ball() -> np.ndarray:
    """A ball of radius 6 voxels in a volume of 20 x 24 x 28."""
    z, y, x = np.ogrid[:20, :24, :28]
    return (z - 9) ** 2 + (y - 12) ** 2 + (x - 15) ** 2 <= 36
