"""Disks that take no more: one sentence, and neither half a page nor half a scan is left."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from tests.conftest import Said
from tests.wording import line_with

Say = Callable[..., Said]
RUN = ("run", "-m", "box_fill", "-p", "box_slice", "-d", "phantom:shape=16x64x64,instances=1", "--save-masks")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the size of files like this")


@contextmanager
def narrow(size: int) -> Iterator[None]:
    """No file can have more bytes; not even that to which the results of the tests are written.

    What is imported meanwhile is not compiled: Python keeps the cut file, and all later tests would read it.
    """
    sys.dont_write_bytecode = True
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        sys.dont_write_bytecode = False


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the ``data`` and the ``results`` of `RUN`."""
    folder = tmp_path_factory.mktemp("played")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INTRABENCH_DATA", str(folder / "data"))
        patch.setenv("INTRABENCH_WORKERS", "0")
        intrabench.run(RUN[2], RUN[4], RUN[6], save_masks=True, out=folder / "results")
    return folder


@pytest.fixture
def here(played: Path, data: Path) -> None:
    """As if `RUN` had been typed here."""
    shutil.copytree(played / "data", data)
    shutil.copytree(played / "results", "intrabench-results")


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("words", "size", "file"),
    [
        (("export", "masks", "new"), 100, "box_slice__seed0_round0.nii.gz"),
        (("export", "rows", "new/rows.csv"), 100, "new/rows.csv"),
        (("export", "rows", "new/rows.parquet"), 100, "new/rows.parquet"),
        (("export", "rows", "new/rows.jsonl"), 100, "new/rows.jsonl"),
        (("report", "new/page.html"), 50_000, "new/page.html"),
        (("figures", "new"), 1000, "new/dice_against_interactions.png"),
        (("figures", "new", "--format", "pdf"), 1000, "new/dice_against_interactions.pdf"),
        (("figures", "new", "--format", "svg"), 1000, "new/dice_against_interactions.svg"),
        (("preview", "-p", "box_slice", "-d", RUN[6], "--file", "new/p.png"), 1000, "new/p.png"),
        (("merge", "intrabench-results", "--out", "new"), 1000, "new"),
        (("init", "new/bench"), 1000, "new/bench"),
    ],
    ids=lambda given: " ".join(given[:3]) if isinstance(given, tuple) else "",
)
@pytest.mark.usefixtures("here")
def test_what_is_written_for_people(say: Say, words: tuple[str, ...], size: int, file: str) -> None:
    with narrow(size):
        said = say(*words)
    assert said.code == 2
    assert said.err.startswith("error: ")
    assert said.err.count("\n") == 1
    assert f"{file} cannot be written" in said.err
    assert "File too large" in said.err
    if words[0] != "init":
        assert files(Path("new")) == [] if Path("new").exists() else True


@pytest.mark.parametrize("size", [100, 2000])
def test_a_run_and_its_data(say: Say, data: Path, size: int, wording: SnapshotAssertion) -> None:
    with narrow(size):
        said = say(*RUN)
    assert said.code == 2  # the case would be a failed row, but that cannot be written either
    assert line_with(said.err, "writable folder") == wording
    assert files(data) == []


@pytest.mark.parametrize("size", [100, 1000, 5000])
def test_results_that_cannot_be_written(say: Say, data: Path, size: int, wording: SnapshotAssertion) -> None:
    assert say("data", "get", RUN[6]).code == 0
    with narrow(size):
        said = say(*RUN)
    assert said.code == 2
    if size == 100:  # not even who works here
        assert said.err == wording
    else:
        assert "error: cannot write to " in said.err
    assert list(Path("intrabench-results").rglob("*.part")) == list(Path("intrabench-results/rows").iterdir()) == []
    assert say(*RUN).code == 0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device")
@pytest.mark.usefixtures("here")
def test_output_to_a_full_disk(wording: SnapshotAssertion) -> None:
    with Path("/dev/full").open("w") as full:
        words = [sys.executable, "-m", "intrabench", "table", "--csv"]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr == wording
