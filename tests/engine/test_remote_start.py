"""``--python``: what is said when the other interpreter cannot do it, and that no process is left behind."""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.engine.executors import remote_model
from intrabench.engine.executors.remote_model import RemoteModel
from intrabench.errors import IntraBenchError
from intrabench.models.base import Runtime
from tests.conftest import Said
from tests.engine.conftest import Started

PYTHON = Path(sys.executable)
PLUGIN = Path(__file__).with_name("remote_plugin.py")
SMALL = "phantom:shape=16x32x32,instances=2"
WORDS = ["-p", "box_volume", "-d", SMALL, "--plugin", str(PLUGIN)]
pytestmark = pytest.mark.usefixtures("started")


def test_a_run_ends_its_process_and_a_dry_run_too(
    say: Callable[..., Said], started: Started, wording: SnapshotAssertion
) -> None:
    said = say("run", "-m", "killer", *WORDS, "--python", sys.executable)
    assert (said.code, said.err.startswith("2 sessions\n2 of 2 sessions, 0 failed, ")) == (0, True)
    dry = say("run", "-m", "killer", *WORDS, "--python", sys.executable, "--dry-run")
    assert dry.out == wording
    assert [process.returncode for process in started] == [0, 0]
    assert [str(process.pid) for process in started] == Path("starts").read_text().split()


def test_an_interpreter_that_is_missing_is_told(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    said = say("run", "-m", "killer", *WORDS, "--python", "nowhere/bin/python")
    assert (said.code, said.out) == (2, "")
    assert said.err == wording


def test_what_is_no_interpreter_is_told(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    false = str(shutil.which("false"))
    said = say("run", "-m", "killer", *WORDS, "--python", false)
    assert (said.code, said.err) == (2, wording)


def test_an_interpreter_without_packages_is_told_what_it_lacks(
    say: Callable[..., Said], wording: SnapshotAssertion
) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "bare"], check=True)
    said = say("run", "-m", "killer", *WORDS, "--python", "bare/bin/python")
    assert (said.code, said.err) == (2, wording)


def test_a_model_needs_its_packages_over_there_and_not_here(
    say: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    lacking = "model wanting needs only_there, which is not installed; run: pip install 'intrabench[there]'"
    assert say("run", "-m", "wanting", *WORDS).err == f"error: {lacking}\n"
    said = say("run", "-m", "wanting", *WORDS, "--python", sys.executable)
    assert (said.code, said.err) == (2, f"error: {sys.executable}: {lacking}\n")
    Path("there").mkdir()
    Path("there/only_there.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(Path("there").resolve()))
    assert say("run", "-m", "wanting", *WORDS, "--python", sys.executable).code == 0
    assert "only_there" not in sys.modules


def test_a_plugin_that_does_not_load_over_there_is_told(started: Started, wording: SnapshotAssertion) -> None:
    Path("moody.py").write_text("raise OSError('in a bad mood')")
    with pytest.raises(IntraBenchError) as caught:
        RemoteModel(PYTHON, "killer", Runtime(), [Path("moody.py")])
    assert str(caught.value) == wording
    del caught
    assert [process.wait(60) for process in started] == [0]  # nobody talks to it any more


@pytest.mark.parametrize("models", [["wanting"], ["killer", "wanting"]], ids=["first", "second"])
def test_a_job_that_is_refused_leaves_no_process(started: Started, models: list[str]) -> None:
    with pytest.raises(IntraBenchError, match="needs only_there"):
        intrabench.run(models, "box_volume", SMALL, plugin=[PLUGIN], python=PYTHON)
    running = [process for process in started if process.poll() is None]
    for process in running:
        process.kill()
        process.wait()
    assert not running


def test_an_interpreter_of_this_folder_is_not_looked_up_elsewhere(
    say: Callable[..., Said], wording: SnapshotAssertion
) -> None:
    for name in ("python", "python3", "false"):
        Path(name).write_text("#!/bin/sh\necho here > started\nexit 3\n")
        Path(name).chmod(0o755)
    said = say("run", "-m", "killer", *WORDS, "--python", "./python")
    assert (said.code, Path("started").read_text()) == (2, "here\n")
    assert f"--python {Path('python').absolute()} cannot run intrabench" in said.err
    Path("started").unlink()
    with pytest.raises(IntraBenchError, match="cannot run intrabench"):
        intrabench.run("killer", "box_volume", SMALL, plugin=[PLUGIN], python="./python3")
    assert Path("started").exists()
    Path("started").unlink()
    assert say("run", "-m", "killer", *WORDS, "--python", "false").err == wording
    assert not Path("started").exists()  # a bare name is not of this folder


def test_a_full_disk_is_told_by_its_place(monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion) -> None:
    """As when others fill the shared memory just then."""
    most = resource.getrlimit(resource.RLIMIT_FSIZE)
    monkeypatch.setattr(remote_model, "SHARED_MEMORY", Path("nowhere"))
    monkeypatch.setattr(tempfile, "tempdir", ".")
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, most[1]))
    try:
        with (
            pytest.raises(IntraBenchError) as caught,
            remote_model._shared(np.zeros((100, 100, 100), np.int16)),
        ):
            pass
        assert caught == wording
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, most)
    assert list(Path().iterdir()) == []


def test_without_shared_memory_a_scan_is_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    array = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
    monkeypatch.setattr(remote_model, "SHARED_MEMORY", Path("nowhere"))
    with remote_model._shared(array) as file:
        file.seek(0)
        assert np.array_equal(np.fromfile(file, np.int16), array.ravel())
