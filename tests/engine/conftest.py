"""What was started by ``--python``, and that nothing of it is left."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from intrabench.engine import remote

Started = list[subprocess.Popen[bytes]]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, data: object) -> Iterator[Started]:
    """The processes that models were started in, as they come; none of them is left by a test."""
    processes: Started = []
    real = subprocess.Popen

    def popen(command: Any, *args: Any, **options: Any) -> Any:
        process = real(command, *args, **options)
        if remote._BOOTSTRAP in command:
            processes.append(process)
        return process

    monkeypatch.setattr(subprocess, "Popen", popen)
    yield processes
    left = [process for process in processes if process.poll() is None]
    for process in left:
        process.kill()
        process.wait()
    assert not left
