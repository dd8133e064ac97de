"""A watch over one connection: it is cut when it brings next to nothing, in whatever part of an answer."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import Event, Thread, local
from types import TracebackType
from typing import Any

SLOWEST = 1000.0  # bytes per second; below that a new connection is likely to be faster
PATIENCE = 60.0  # seconds over which they are counted

_here = local()  # the watch of each thread


class Watch:
    """Cuts a connection over which less than `SLOWEST` has arrived, by a look at `arrived` every `PATIENCE` seconds.

    A time limit for reading ends silence, but not a header, or the frame of a body, that comes byte by byte. The watch
    is over the connection that its thread has made or read from last, also one that an earlier watch saw made.
    """

    def __init__(self, arrived: Callable[[], int]) -> None:
        self._arrived, self._over = arrived, Event()
        self._socket: socket.socket | None = None
        self.cut = False

    def __enter__(self) -> Watch:
        _here.watch = self
        Thread(target=self._look, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        _here.watch = None
        self._over.set()

    def _look(self) -> None:
        before = self._arrived()
        while not self._over.wait(PATIENCE):
            now = self._arrived()
            if now - before < SLOWEST * PATIENCE:
                self.cut = True
                if self._socket is not None:
                    with suppress(OSError):  # not the method of TLS, which another thread uses
                        socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
            before = now

    def on(self, stream: Any) -> None:
        """Watch a network stream of httpcore instead of another one."""
        self._socket = stream.get_extra_info("socket")


def trace(_: str, info: Mapping[str, Any]) -> None:
    """Have each new connection of a request tell who reads from it; for the extension ``trace`` of httpx.

    httpx does not tell on which earlier connection a request goes.
    """
    stream: Any = info.get("return_value")
    if not hasattr(stream, "get_extra_info"):
        return
    read = stream.read

    def watched_read(*args: Any, **options: Any) -> Any:
        _tell(stream)
        return read(*args, **options)

    stream.read = watched_read
    _tell(stream)  # the handshake of TLS reads from the socket itself


def _tell(stream: Any) -> None:
    if (watch := getattr(_here, "watch", None)) is not None:
        watch.on(stream)
