"""Faults of machines, tried for real: afterwards the rows are those of an undisturbed run, and nothing is left over."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from intrabench.results.parts import read_rows
from tests.engine.kill_drill import MARK, alive
from tests.engine.test_run import lasting

PLUGIN = Path(__file__).with_name("drill_plugin.py")
DATA = "phantom:shape=16x64x64,instances=4,scans=3"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("data"),
    pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc"),
]


def started(out: str, how: str = "", **more: str) -> subprocess.Popen[str]:
    """A run with two workers, whose model does something in its first request that tells that it plays."""
    words = [sys.executable, "-m", "intrabench", "run", "-m", "drilled", "-p", "box_volume", "-d", DATA]
    words += ["--plugin", str(PLUGIN), "--out", out, "--workers", "2", "--timeout", "4", "--save-masks"]
    environment = {**os.environ, "HOW": how, MARK: str(Path.cwd()), **more}
    return subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def playing(process: subprocess.Popen[str]) -> int:
    """Wait until a worker plays; its number."""
    while not (found := list(Path().glob("playing.*"))):
        assert process.poll() is None
        time.sleep(0.02)
    return int(found[0].suffix[1:])


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, said = process.communicate(timeout=120)
    assert "Traceback" not in said
    assert alive(Path.cwd()) == 0
    return process.returncode, said


@pytest.fixture
def undisturbed() -> pl.DataFrame:
    assert ended(started("undisturbed"))[0] == 0
    rows = lasting(read_rows(Path("undisturbed")))
    assert len(rows) == 12
    return rows


def is_whole(out: str, undisturbed: pl.DataFrame) -> None:
    """Continue a run to its end, and compare it."""
    assert ended(started(out))[0] == 0
    assert lasting(read_rows(Path(out))).equals(undisturbed)
    good = [pl.read_parquet(path).filter(status="ok") for path in Path(out, "rows").glob("*.parquet")]
    assert len(pl.concat(good)) == len(undisturbed)
    assert not list(Path(out, "locks").glob("*.lock"))


@pytest.mark.parametrize(
    ("how", "signals"),
    [("sleep", ["INT"]), ("sleep", ["TERM", "TERM"]), ("sleep", ["HUP", "INT"]), ("deaf", ["INT", "INT"])],
)
def test_a_run_that_is_told_to_end_while_its_model_hangs_ends(
    undisturbed: pl.DataFrame, how: str, signals: list[str]
) -> None:
    """deaf: the model does not hear Ctrl-C, either."""
    process = started("out", how)
    playing(process)
    for one in signals:
        process.send_signal(signal.Signals[f"SIG{one}"])
        time.sleep(0.5)
    assert ended(process)[0] == (130 if signals[0] == "INT" else 75)
    is_whole("out", undisturbed)


def test_a_worker_that_is_suspended_fails_at_most_the_session_that_it_played(undisturbed: pl.DataFrame) -> None:
    process = started("out", "slow")
    os.kill(playing(process), signal.SIGSTOP)
    code, said = ended(process)
    assert code == 1
    assert "1 session: timeout: 1 session took longer than 4 s (--timeout)" in said
    is_whole("out", undisturbed)


def test_a_run_that_is_suspended_fails_nothing(undisturbed: pl.DataFrame) -> None:
    process = started("out", "slow")
    playing(process)
    process.send_signal(signal.SIGSTOP)
    time.sleep(10)
    process.send_signal(signal.SIGCONT)
    assert ended(process)[0] == 0
    is_whole("out", undisturbed)


@pytest.fixture
def small() -> Iterator[Path]:
    """A disk of 600 kB for results."""
    Path("small").mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", "small"], check=False)
    if mount.returncode:
        pytest.skip("only root can mount a small disk")
    yield Path("small")
    subprocess.run(["umount", "small"], check=True)


def test_a_full_disk_ends_the_run_and_once_it_is_freed_the_same_command_continues(
    undisturbed: pl.DataFrame, small: Path
) -> None:
    filler = small / "filler"
    process = started("small/out", "slow")
    playing(process)
    with pytest.raises(OSError, match="No space left"), filler.open("wb") as file:
        file.write(bytes(10**6))
    code, said = ended(process)
    assert code == 2
    assert "(No space left on device); free space or choose another folder with --out" in said
    filler.unlink()
    is_whole("small/out", undisturbed)


def test_a_worker_that_lacks_a_case_prepares_it_again(undisturbed: pl.DataFrame) -> None:
    """As where the data folder is not that of the command, or was tidied up meanwhile."""
    folder = Path(os.environ["INTRABENCH_DATA"]) / "cases"
    process = started("out", "slow", REMOVE=str(folder))
    assert ended(process)[0] == 0
    is_whole("out", undisturbed)
    shutil.rmtree(folder)
    is_whole("out", undisturbed)
