"""Processes that begin with everything imported: forked from one that did nothing else."""

from __future__ import annotations

import multiprocessing
import os
import runpy
import signal
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

_METHOD = multiprocessing.get_context("forkserver")  # it has no threads, other than the process of the tests
_METHOD.set_forkserver_preload(["tests.preloaded"])


class Process:
    """Calls a function of a module in a process of its own, in the folder and environment of this one."""

    def __init__(self, function: Callable[..., object], *words: Any) -> None:
        (out, said), (err, told) = (_METHOD.Pipe(duplex=False) for _ in range(2))
        self._process = _METHOD.Process(target=_begin, args=(said, told, dict(os.environ), function, words))
        self._process.start()
        for theirs in (said, told):
            theirs.close()
        self.stdout, self.stderr = (os.fdopen(os.dup(ours.fileno()), encoding="utf-8") for ours in (out, err))

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def send_signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def wait(self, timeout: float | None = None) -> int | None:
        """The code that it ended with; after a signal, less than 0."""
        self._process.join(timeout)
        return self._process.exitcode

    def ended(self) -> tuple[int | None, str, str]:
        """Wait for its end: the code, and what it has printed on stdout and stderr."""
        said, told = self.stdout.read(), self.stderr.read()
        code = self.wait()
        self.end()
        return code, said, told

    def end(self) -> None:
        """Kill it."""
        self.send_signal(signal.SIGKILL)
        self.wait()
        self.stdout.close()
        self.stderr.close()


def _begin(said: Connection, told: Connection, environment: dict[str, str], function: Any, words: tuple[Any]) -> None:
    for number, connection in ((1, said), (2, told)):
        os.dup2(connection.fileno(), number)
        connection.close()
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # the environment says where it is
    function(*words)


def command(*words: str) -> None:
    """`intrabench` with these words."""
    from intrabench.cli.main import main

    sys.argv = ["intrabench", *words]
    main()


def script(path: str) -> None:
    """`python` with this file."""
    sys.argv = [path]
    runpy.run_path(path, run_name="__main__")
