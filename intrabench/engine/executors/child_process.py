"""A child process of an interpreter, with a connection to it: same code, and it ends when this process does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from intrabench.engine.executors.ipc import START_SECONDS, make_channel
from intrabench.engine.executors.output import Output
from intrabench.files.temporary import sweep

_BOOTSTRAP = """
import gc, sys
gc.disable()
sys.path = [folder for folder in sys.path if folder]
import importlib.util
spec = importlib.util.spec_from_file_location("intrabench", sys.argv[1], submodule_search_locations=[sys.argv[2]])
package = importlib.util.module_from_spec(spec)
sys.modules["intrabench"] = package
spec.loader.exec_module(package)
main = importlib.import_module(sys.argv[3]).main
gc.enable()
main(sys.argv[4:])
gc.freeze()
"""
"""Imports this copy of the package by its path; a search path would also expose its neighbours.

As for the command `intrabench`, no module comes from the current folder, which may be one of results. Garbage is not
looked for in modules, neither while they are imported nor at the end: that takes a third of the time of both."""


class ChildProcess:
    """A process that runs ``main(words)`` of a module of this package, and speaks first.

    words: what `intrabench.engine.executors.ipc.connect` makes the connection of; the process ends with this one.
    environment: variables that differ from those here.

    Raises:
        OSError: the interpreter cannot be started.
        EOFError: it ended before it spoke; `ended` tells how.
    """

    def __init__(self, python: Path, module: str, environment: Mapping[str, str] | None = None) -> None:
        import intrabench

        package = Path(intrabench.__file__)
        self._ends = make_channel()
        self._output = Output()
        command = [str(python), "-c", _BOOTSTRAP, str(package), str(package.parent), module, *self._ends.words]
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._process = self._started = subprocess.Popen(
                command,
                stdout=self._output.written,
                stderr=self._output.written,
                env={**os.environ, **environment} if environment else None,
                **self._ends.options,
            )
            self.connection = self._ends.connected(self._process)
        except OSError:
            self._close_files()
            raise
        finally:
            # While our copies of its ends are open, the connection would outlive it.
            self._ends.release()
            self._output.release()
        sweep()

    @property
    def pid(self) -> int:
        """Its number."""
        assert self._process is not None
        return self._process.pid

    def greeted(self) -> None:
        """Wait for its first word.

        Raises:
            EOFError: it ended, or said nothing.
        """
        with suppress(OSError):
            if self.connection.poll(START_SECONDS):
                self.connection.recv()
                return
        raise EOFError

    def send(self, message: Any, file: IO[bytes] | None = None) -> None:
        """Send a message, perhaps with an open file."""
        self.connection.send(message)
        if file is not None:
            self._ends.send_file(file, self._started)

    def receive(self, seconds: float | None = None) -> Any:
        """Its next message; None after that time.

        Raises:
            EOFError, OSError: it ended.
        """
        if not self.connection.poll(seconds):  # Ctrl-C ends this, but not a read: polars has the system restart those
            return None
        return self.connection.recv()

    def interrupt(self) -> None:
        """Have it stop as by Ctrl-C."""
        self._ends.interrupt(self._started)

    @property
    def gone(self) -> bool:
        """Whether it ended, and nothing is left to receive; a process that it started may hold the connection open."""
        with suppress(OSError):
            return self._process is not None and self._process.poll() is not None and not self.connection.poll(0)
        return True

    def output(self) -> list[str]:
        """The complete lines that it has printed since the last time; of very much only the end."""
        return self._output.lines()

    def close(self) -> None:
        """Close the connection, upon which it ends, and wait for that."""
        self.connection.close()
        if self._process is not None:
            try:
                self._process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            _end_group(self._process)
        self._close_files()

    def kill(self) -> None:
        """End it now, with what it has started."""
        if self._process is not None:
            self._process.kill()
        self.close()

    def ended(self) -> str:
        """How it ended, in words; it is ended if it has not."""
        process, self._process = self._process, None
        if process is None:
            return "the worker process is gone"
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=5)
        if process.poll() is None:
            process.kill()
            process.wait()
        code = process.returncode
        _end_group(process)
        said = self._output.last_words()
        self._close_files()
        how = f"signal {-code}" + (", perhaps out of memory" if code == -9 else "") if code < 0 else f"exit code {code}"
        return f"the worker process ended with {how}" + (f": {said}" if said else "")

    def _close_files(self) -> None:
        self._ends.close()
        self._output.close()


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End what a process that ended has started; only Unix has such groups."""
    if sys.platform != "win32":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
