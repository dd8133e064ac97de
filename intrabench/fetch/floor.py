"""A watch over one connection: it is cut when it brings next to nothing, in whatever part of an answer."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import Event, Thread
from types import TracebackType
from typing import Any

SLOWEST = 1000.0  # bytes per second; below that a new connection is likely to be faster
PATIENCE = 60.0  # seconds over which they are counted


class Watch:
    """Cuts a connection over which less than `SLOWEST` has arrived, by a look at `arrived` every `PATIENCE` seconds.

    A time limit for reading ends silence, but not a header, or the frame of a body, that comes byte by byte.
    """

    def __init__(self, arrived: Callable[[], int]) -> None:
        self._arrived, self._over = arrived, Event()
        self._sockets: list[socket.socket] = []
        self.cut = False

    def __enter__(self) -> Watch:
        Thread(target=self._look, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()

    def trace(self, _: str, told: Mapping[str, Any]) -> None:
        """Learn the connections of a request, for the extension ``trace`` of httpx."""
        self.on(told.get("return_value"))

    def on(self, stream: Any) -> None:
        """Watch a network stream of httpcore."""
        if hasattr(stream, "get_extra_info") and (found := stream.get_extra_info("socket")):
            self._sockets.append(found)

    def _look(self) -> None:
        before = self._arrived()
        while not self._over.wait(PATIENCE):
            now = self._arrived()
            if now - before < SLOWEST * PATIENCE:
                self.cut = True
                for one in self._sockets:
                    with suppress(OSError):
                        socket.socket.shutdown(one, socket.SHUT_RDWR)  # not the one of TLS, which another thread uses
            before = now
