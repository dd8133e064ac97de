"""A child process of an interpreter, with a connection to it: same code, and it ends when this process does."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.reduction import send_handle
from pathlib import Path
from typing import IO, Any

from intrabench.temporary import sweep

_BOOTSTRAP = """
import sys
sys.path = [folder for folder in sys.path if folder]
import importlib.util
spec = importlib.util.spec_from_file_location("intrabench", sys.argv[1], submodule_search_locations=[sys.argv[2]])
package = importlib.util.module_from_spec(spec)
sys.modules["intrabench"] = package
spec.loader.exec_module(package)
importlib.import_module(sys.argv[3]).main(int(sys.argv[4]), int(sys.argv[5]))
"""
"""Imports this copy of the package by its path; a search path would also expose its neighbours.

As for the command `intrabench`, no module comes from the current folder, which may be one of results."""

START_SECONDS = 120.0

MOST_OUTPUT = 2**16
"""Bytes of output that are looked at once."""


class Process:
    """A process that runs ``main(connection, lifeline)`` of a module of this package, and speaks first.

    The descriptors are handed down. The other end of the lifeline is open as long as this process lives; see
    `intrabench.engine.workers.lifeline.ends_with`. environment: variables that differ from those here.

    Raises:
        OSError: the interpreter cannot be started.
        EOFError: it ended before it spoke; `ended` tells how.
    """

    def __init__(self, python: Path, module: str, environment: Mapping[str, str] | None = None) -> None:
        import intrabench

        package = Path(intrabench.__file__)
        ours, theirs = socket.socketpair()
        their_end, lifeline = os.pipe()
        self.connection, self._lifeline = Connection(ours.detach()), os.fdopen(lifeline, "wb")
        self._output: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  # an unread pipe would block it
        self._read = 0
        inherited = theirs.fileno(), their_end
        command = [str(python), "-c", _BOOTSTRAP, str(package), str(package.parent), module, *map(str, inherited)]
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=self._output,
                pass_fds=inherited,
                env={**os.environ, **environment} if environment else None,
                start_new_session=True,  # Ctrl-C goes to this process, which tells it
            )
        except OSError:
            self._close_files()
            raise
        finally:
            theirs.close()
            os.close(their_end)
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
            send_handle(self.connection, file.fileno(), self.pid)

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
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGINT)

    @property
    def gone(self) -> bool:
        """Whether it ended, and nothing is left to receive; a process that it started may hold the connection open."""
        with suppress(OSError):
            return self._process is not None and self._process.poll() is not None and not self.connection.poll(0)
        return True

    def output(self) -> list[str]:
        """The complete lines that it has printed since the last time; of very much only the end."""
        size, lines = os.fstat(self._output.fileno()).st_size, list[str]()
        if size - self._read > MOST_OUTPUT:
            lines = [f"({size - self._read - MOST_OUTPUT} bytes that a worker printed are left out)"]
            self._read = size - MOST_OUTPUT
        new = os.pread(self._output.fileno(), size - self._read, self._read)
        whole = new[: new.rfind(b"\n") + 1]
        self._read += len(whole)
        return lines + whole.decode(errors="replace").splitlines()

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
        said = _last_words(self._output)
        self._close_files()
        how = f"signal {-code}" + (", perhaps out of memory" if code == -9 else "") if code < 0 else f"exit code {code}"
        return f"the worker process ended with {how}" + (f": {said}" if said else "")

    def _close_files(self) -> None:
        for file in (self.connection, self._output, self._lifeline):
            file.close()


def _last_words(output: IO[bytes]) -> str:
    """The last line of its output; of a fatal error, what it was and the line of code where it was."""
    output.seek(max(0, output.seek(0, os.SEEK_END) - MOST_OUTPUT))
    lines = output.read().decode(errors="replace").strip().splitlines()
    fatal = next((number for number, line in enumerate(lines) if line.startswith("Fatal Python error")), None)
    if fatal is None:
        return lines[-1] if lines else ""
    place = next((line.strip() for line in lines[fatal:] if line.startswith('  File "')), "")
    return lines[fatal] + (f", {place}" if place else "")


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End what a process that ended has started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
