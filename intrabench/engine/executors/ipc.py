"""The connection between a process and one that it starts, and how that one learns that its owner is gone.

Unix hands both down, and nobody else can find them. Other systems cannot; there the new process calls back, over a
socket of this machine, with a key that it reads from its standard input. That stays open as long as its owner lives.
"""

from __future__ import annotations

import hmac
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle, send_handle
from typing import IO, Any

import numpy as np

from intrabench.engine.executors.parent_watch import INTERRUPT, exit_with_parent, watch
from intrabench.engine.signals import ASKING
from intrabench.mask import Array

INHERITS = os.name == "posix"
"""Whether the system hands descriptors down; tests also try what others do."""

START_SECONDS = 120.0
_KEY, _CALL_SECONDS = 32, 5.0  # bytes; how long a caller may take to show the key


class _InheritedPipes:
    """Our ends, on Unix. words: arguments of the new process. options: of `subprocess.Popen`."""

    def __init__(self) -> None:
        ours, self._theirs = socket.socketpair()
        self._their_end, lifeline = os.pipe()
        self._connection, self._lifeline = Connection(ours.detach()), os.fdopen(lifeline, "wb")
        inherited = self._theirs.fileno(), self._their_end
        self.words = [*map(str, inherited)]
        # Ctrl-C goes to this process, which tells the other
        self.options: dict[str, Any] = {"stdin": subprocess.DEVNULL, "pass_fds": inherited, "start_new_session": True}

    def connected(self, process: subprocess.Popen[bytes]) -> Connection:
        """The connection, once the process was started."""
        return self._connection

    def interrupt(self, process: subprocess.Popen[bytes]) -> None:
        """Have the process stop as by Ctrl-C."""
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGINT)

    def send_file(self, file: IO[bytes], process: subprocess.Popen[bytes]) -> None:
        """Send an open file, which needs no name."""
        self._connection.send(None)
        send_handle(self._connection, file.fileno(), process.pid)  # type: ignore[arg-type, unused-ignore]  # not there

    def release(self) -> None:
        """The process was started, or cannot be."""
        self._theirs.close()
        os.close(self._their_end)

    def close(self) -> None:
        """Close what is ours."""
        self._connection.close()
        self._lifeline.close()


class _LoopbackSocket:
    """Our ends, on other systems."""

    def __init__(self) -> None:
        self._server, self._key = socket.create_server(("127.0.0.1", 0)), secrets.token_bytes(_KEY)
        self._connection: Connection | None = None
        self._input: IO[bytes] | None = None
        self.words = [str(self._server.getsockname()[1])]
        self.options: dict[str, Any] = {"stdin": subprocess.PIPE, "start_new_session": True}
        if sys.platform == "win32":  # Ctrl-C goes to this process, which tells the other
            self.options["creationflags"] = subprocess.CREATE_NEW_PROCESS_GROUP

    def connected(self, process: subprocess.Popen[bytes]) -> Connection:
        """The connection, once the process has called; one that is at its end if it did not."""
        self._input = process.stdin
        assert self._input is not None
        with suppress(OSError):  # it has ended
            self._input.write(self._key)
            self._input.flush()
        self._connection = self._called(process) or _ended()
        return self._connection

    def _called(self, process: subprocess.Popen[bytes]) -> Connection | None:
        self._server.settimeout(0.1)
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until and process.poll() is None:
            with suppress(OSError):  # nobody yet, or one who went away
                caller, _ = self._server.accept()
                caller.settimeout(_CALL_SECONDS)
                if hmac.compare_digest(_read(caller, _KEY), self._key):
                    caller.setblocking(True)
                    return Connection(caller.detach())
                caller.close()
        return None

    def interrupt(self, process: subprocess.Popen[bytes]) -> None:
        """Have the process stop as by Ctrl-C."""
        assert self._input is not None
        with suppress(OSError):
            self._input.write(INTERRUPT)
            self._input.flush()

    def send_file(self, file: IO[bytes], process: subprocess.Popen[bytes]) -> None:
        """Send the name of a file."""
        assert self._connection is not None
        self._connection.send(file.name)

    def release(self) -> None:
        """The process was started, or cannot be."""
        self._server.close()

    def close(self) -> None:
        """Close what is ours."""
        for end in (self._connection, self._input):
            if end is not None:
                with suppress(OSError):  # what was not read
                    end.close()


Channel = _InheritedPipes | _LoopbackSocket


def make_channel() -> Channel:
    """Our ends of a new process."""
    return _InheritedPipes() if INHERITS else _LoopbackSocket()


def connect(words: Sequence[str]) -> Connection:
    """The connection of the process that was started with these words, which ends with its owner from now on."""
    if len(words) == 2:
        connection, lifeline = map(int, words)
        exit_with_parent(lifeline)
        return Connection(connection)
    for asking in ASKING:
        signal.signal(asking, signal.SIG_IGN)
    source = os.dup(0)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)  # what the model's code may read
    with open(source, "rb", buffering=0, closefd=False) as given:
        key = b""
        while len(key) < _KEY and (more := given.read(_KEY - len(key))):
            key += more
    called = socket.create_connection(("127.0.0.1", int(words[0])))
    called.sendall(key)
    watch(source)
    return Connection(called.detach())


def receive_file(connection: Connection) -> int | str:
    """The file that the owner sends: its descriptor, or its name."""
    name = connection.recv()
    return recv_handle(connection) if name is None else str(name)  # type: ignore[arg-type, unused-ignore]  # of Unix


def array_in(file: int | str, dtype: str, shape: tuple[int, ...]) -> Array:
    """The array in such a file, which is closed; one with a name is not mapped, because it could not be deleted."""
    if isinstance(file, str):
        return np.fromfile(file, dtype).reshape(shape)
    with os.fdopen(file, "rb") as opened:
        return np.memmap(opened, dtype, "r", shape=shape)


def _read(caller: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count and (more := caller.recv(count - len(found))):
        found += more
    return found


def _ended() -> Connection:
    """A connection whose other end is closed."""
    ours, theirs = socket.socketpair()
    theirs.close()
    return Connection(ours.detach())
