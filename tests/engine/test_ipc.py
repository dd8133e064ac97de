"""Processes and their connections as on Unix, and as on systems that hand nothing down; both can be tried here."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.engine.executors import ipc, remote_model
from intrabench.engine.executors.child_process import ChildProcess
from intrabench.engine.executors.ipc import _InheritedPipes, _LoopbackSocket, make_channel
from intrabench.results.parts import read_rows
from tests.conftest import Said

PYTHON = Path(sys.executable)
SMALL = "phantom:shape=16x32x32,instances=2"


@pytest.fixture(params=[True, False], ids=["handed down", "called back"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, data: Path) -> bool:
    """Whether the ends are handed down."""
    monkeypatch.setattr(ipc, "INHERITS", request.param)
    made = make_channel()
    assert isinstance(made, _InheritedPipes if request.param else _LoopbackSocket)
    made.release()
    made.close()
    return bool(request.param)


def left() -> list[str]:
    """What is in the temporary folder."""
    return os.listdir(tempfile.gettempdir())


@pytest.fixture(autouse=True)
def _own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))


@pytest.mark.usefixtures("way")
def test_a_model_of_another_interpreter_answers_the_same(say: Callable[..., Said]) -> None:
    words = ["-m", "random_walker", "-p", "box_interp:n=3+scribble", "--rounds", "1", "-d", SMALL]
    assert say("run", *words, "--out", "here").code == 0
    assert say("run", *words, "--out", "there", "--python", sys.executable).code == 0
    here, there = (read_rows(Path(out)).sort("session", "round")["dice"] for out in ("here", "there"))
    assert len(here) > 2
    assert here.equals(there)
    assert left() == []


def test_voxels_arrive_and_leave_nothing(way: bool) -> None:
    array = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
    process = ChildProcess(PYTHON, "tests.engine.echoing_end")
    with remote_model._shared(array) as file:
        process.greeted()
        process.send(("array", array.dtype.str, array.shape), file)
        assert process.receive() == (array.sum(), "memmap" if way else "ndarray")
    process.close()
    assert left() == []


@pytest.mark.usefixtures("way")
def test_workers_play_and_are_interrupted() -> None:
    process = ChildProcess(PYTHON, "tests.engine.echoing_end")
    process.greeted()
    process.send(("wait",))
    assert process.receive() == "waiting"
    process.interrupt()
    assert process.receive(30) == "interrupted"
    process.close()
    assert process._started.returncode == 0


@pytest.mark.usefixtures("way")
def test_a_process_reads_nothing_and_ends_with_its_owner(tmp_path: Path) -> None:
    code = (
        "import os, sys, time\n"
        "from pathlib import Path\n"
        "from intrabench.engine.executors import ipc\n"
        "from intrabench.engine.executors.child_process import ChildProcess as Process\n"
        f"ipc.INHERITS = {ipc.INHERITS}\n"
        "process = Process(Path(sys.executable), 'tests.engine.echoing_end')\n"
        "process.greeted()\n"
        "process.send(('read',))\n"
        "assert process.receive() == b''\n"
        "process.send(('busy',))\n"
        "print(process.pid, process.receive(), flush=True)\n"
        "os._exit(9)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (9, "")
    pid, said = done.stdout.split()
    assert said == "busy"
    until = time.monotonic() + 120
    while Path("/proc", pid).exists() and "Z" not in Path("/proc", pid, "stat").read_text().split()[2]:
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.usefixtures("way")
def test_a_process_that_fails_is_told_by_its_last_words(wording: SnapshotAssertion) -> None:
    process = ChildProcess(PYTHON, "tests.engine.no_such_module")
    with pytest.raises(EOFError):
        process.greeted()
    assert process.ended() == wording


def test_a_stranger_without_the_key_is_not_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ipc, "INHERITS", False)
    called = _LoopbackSocket()
    address = called._server.getsockname()
    with socket.create_connection(address) as stranger:
        stranger.sendall(b"x" * 32)
        code = (
            "import sys; from intrabench.engine.executors.ipc import connect; "
            "connect(sys.argv[1:]).send('hello'); input()"
        )
        process = subprocess.Popen([sys.executable, "-c", code, *called.words], **called.options)
        connection = called.connected(process)
        assert connection.recv() == "hello"
        assert stranger.recv(1) == b""
    called.release()
    called.close()
    assert process.wait(120) in (1, -signal.SIGKILL)  # nothing to read, or its owner is gone
