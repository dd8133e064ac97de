"""``--python``: what is left of a run that is killed while its model computes. Nothing."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.processes import Process, command

PLUGIN = Path(__file__).with_name("remote_plugin.py")
WORDS = ["-p", "box_volume", "-d", "phantom:shape=16x32x32,instances=1", "--plugin", str(PLUGIN)]
pytestmark = pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs /proc")


def ended(pid: int) -> bool:
    """Whether a process is gone, or dead and not yet collected."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def wait(what: object, seconds: float = 180.0) -> None:
    deadline = time.monotonic() + seconds
    while not what():  # type: ignore[operator]
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("model", "signals"),
    [
        ("sleeping", {"run": signal.SIGKILL}),
        ("sleeping:busy=true", {"run": signal.SIGTERM}),
        pytest.param("sleeping", {"run": signal.SIGHUP}, marks=pytest.mark.slow),  # handled as TERM is
        ("sleeping", {"worker": signal.SIGKILL, "run": signal.SIGKILL}),
    ],
    ids=["KILL", "TERM while busy", "HUP", "KILL of both"],
)
def test_nothing_is_left_of_a_run_that_is_killed(
    tmp_path: Path, model: str, signals: dict[str, signal.Signals], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("work", "tmp"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    process = Process(command, "run", "-m", model, *WORDS, "--out", "out", "--python", sys.executable)
    asleep = tmp_path / "work" / "asleep"
    pids: list[int] = []
    try:
        wait(lambda: process.wait(0) is not None or (asleep.exists() and asleep.read_text().endswith("\n")))
        pids = [int(pid) for pid in asleep.read_text().split()]
        mapped = Path(f"/proc/{pids[0]}/maps").read_text().splitlines()
        files = [line for line in mapped if "/dev/shm/" in line or str(tmp_path) in line]
        assert files
        assert all(line.endswith("(deleted)") for line in files)  # no name that could be left
        for who, sign in signals.items():
            os.kill({"run": process.pid, "worker": pids[0]}[who], sign)
        wait(lambda: process.wait(0) is not None)
        wait(lambda: ended(pids[0]), 10)
        if "worker" not in signals:
            wait(lambda: ended(pids[1]), 10)
    finally:
        for pid in (process.pid, *pids):
            if not ended(pid):
                os.kill(pid, signal.SIGKILL)
        process.end()
    assert list((tmp_path / "tmp").iterdir()) == []
