"""What dies around a run on a Dask cluster: its scheduler, the command, a worker again and again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import polars as pl
import pytest

from intrabench.results.parts import read_rows
from tests.engine.test_dask import DATA, cluster, run, stored, undisturbed
from tests.engine.test_workers import PLUGIN, differing

__all__ = ["cluster", "undisturbed"]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("data"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
COMMAND = ["run", "--model", "faulty", "--prompter", "box_volume", "--prompter", "stuck", "--dataset", DATA]
COMMAND += ["--plugin", str(PLUGIN), "--out", "out"]


@pytest.fixture
def processes() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts commands of this interpreter, which are ended with the test."""
    with ExitStack() as ends:

        def start(*words: str) -> subprocess.Popen[str]:
            process = subprocess.Popen([sys.executable, "-m", *words], stderr=subprocess.PIPE, text=True)
            ends.callback(process.wait, 60)
            ends.callback(process.kill)
            return process

        yield start


def scheduler(start: Callable[..., subprocess.Popen[str]]) -> tuple[str, subprocess.Popen[str]]:
    """The address of a scheduler with two workers, and its process."""
    process = start("distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", "s.json")
    address = ""
    while not address:
        time.sleep(0.2)
        with suppress(OSError, ValueError):
            address = json.loads(Path("s.json").read_text())["address"]
    for name in ("a", "b"):
        start("distributed.cli.dask_worker", address, "--nthreads", "1", "--name", name, "--no-dashboard")
    return address, process


def wait_for_rows() -> None:
    end = time.monotonic() + 120
    while not list(Path("out/rows").glob("*.parquet")):
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.mark.parametrize("collect", [False, True])
def test_without_its_scheduler_a_run_ends_and_is_continued(
    processes: Callable[..., subprocess.Popen[str]], undisturbed: object, collect: bool
) -> None:
    address, dask = scheduler(processes)
    Path("fault").write_text("slow prompter any")
    command = processes("intrabench", *COMMAND, "--dask", address, *["--collect"] * collect)
    wait_for_rows()
    dask.kill()
    _, said = command.communicate(timeout=120)
    assert command.returncode == 75, said
    assert "the Dask scheduler is gone; finished sessions are kept, and the same command continues" in said
    Path("fault").unlink()
    assert 0 < len(stored("out")) < 24
    assert run("out", workers=0).equals(undisturbed)  # type: ignore[arg-type]
    assert len(stored("out")) == len(read_rows(Path("out"))) == 24


def test_a_worker_that_joins_and_never_answers_stops_nobody(
    processes: Callable[..., subprocess.Popen[str]], undisturbed: object
) -> None:
    """Dask itself gives it up only after five minutes."""
    address, _ = scheduler(processes)
    Path("fault").write_text("slow prompter any")
    command = processes("intrabench", *COMMAND, "--dask", address)
    wait_for_rows()
    silent = processes("distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard")
    assert silent.stderr is not None
    assert any("Registered to" in line for line in silent.stderr)
    os.kill(silent.pid, signal.SIGSTOP)
    _, said = command.communicate(timeout=200)
    assert command.returncode == 0, said
    assert run("out", workers=0).equals(undisturbed)  # type: ignore[arg-type]
    assert len(stored("out")) == 24


def test_workers_that_die_before_they_begin_are_said(processes: Callable[..., subprocess.Popen[str]]) -> None:
    Path("dies.py").write_text(
        "import os, sys\nif 'distributed.worker' in sys.modules: os._exit(3)\n"
        "from intrabench.models.box_fill import BoxFill\n\nclass Dies(BoxFill):\n    name = 'dies'\n"
    )
    address, _ = scheduler(processes)
    words = ["run", "--model", "dies", "--plugin", "dies.py", "--prompter", "box_volume", "--dataset", DATA]
    command = processes("intrabench", *words, "--out", "out", "--dask", address)
    _, said = command.communicate(timeout=200)
    assert command.returncode == 2, said
    assert "error: Dask workers died 3 times in a row before they began a task; what they print says why" in said


@pytest.mark.parametrize("asked", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("collect", [False, True])
def test_a_command_that_is_asked_to_end_keeps_what_is_complete(
    processes: Callable[..., subprocess.Popen[str]], undisturbed: object, collect: bool, asked: signal.Signals
) -> None:
    address, _ = scheduler(processes)
    Path("fault").write_text("slow prompter any")
    command = processes("intrabench", *COMMAND, "--dask", address, *["--collect"] * collect)
    wait_for_rows()
    os.kill(command.pid, asked)
    _, said = command.communicate(timeout=120)
    assert command.returncode == (130 if asked == signal.SIGINT else 75), said
    assert "interrupted; finished sessions are kept, and the same command continues" in said
    assert not list(Path("out/locks").glob("*.lock"))
    rows = len(stored("out"))
    assert 0 < rows < 24
    Path("fault").unlink()
    assert run("out", dask=address, collect=collect).equals(undisturbed)  # type: ignore[arg-type]
    assert len(stored("out")) == len(read_rows(Path("out"))) == 24


@pytest.mark.parametrize("collect", [True, False])
def test_a_group_that_kills_three_dask_workers_fails_alone(cluster: object, undisturbed: object, collect: bool) -> None:
    Path("fault").write_text("parent prompter any case-2")
    address = cluster.scheduler_address  # type: ignore[attr-defined]
    rows = run("out", dask=address, collect=collect)
    bad = differing(rows, undisturbed)  # type: ignore[arg-type]
    said = {"3 Dask workers died of this image"}
    said |= set() if collect else {"3 runs in a row died or were ended while they played this image"}  # by the lease
    assert {one[2] for one in bad} == {"error"}
    assert {one[3] for one in bad} <= said
    assert set(rows.filter(pl.col("status") != "ok")["case"]) == {"case-2"}
    assert 3 <= len(bad) <= 6  # boxes of that case may be played before the prompter that kills
    assert len(stored("out")) == 24
    Path("fault").unlink()
    assert run("out", dask=address, collect=collect).equals(undisturbed)  # type: ignore[arg-type]
