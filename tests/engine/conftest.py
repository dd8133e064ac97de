"""What was started by ``--python``, and that nothing of it is left."""

from __future__ import annotations

import gc
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from intrabench.engine.executors import child_process as process_module

Started = list[subprocess.Popen[bytes]]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, data: object) -> Iterator[Started]:
    """The processes that models were started in, as they come; none of them is left by a test."""
    processes: Started = []
    real = subprocess.Popen

    def popen(command: Any, *args: Any, **options: Any) -> Any:
        process = real(command, *args, **options)
        if process_module._BOOTSTRAP in command:
            processes.append(process)
        return process

    monkeypatch.setattr(subprocess, "Popen", popen)
    yield processes
    if any(process.poll() is None for process in processes):
        gc.collect()  # a model that was refused may still be held by the exception that said so
    left = []
    for process in processes:
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            left.append(process)
            process.kill()
            process.wait()
    assert not left
