"""The connections of our servers: how many there may be, and how long one may come to nothing.

uvicorn limits none of it. Its protocol on h11 is used, because that bounds the bytes of headers.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from intrabench.people.servers.guard import PATIENCE, REASON

EACH = 64
"""Connections of one address."""
BACKLOG = 64
"""Connections that wait to be taken; so many may be taken at once before any is refused."""
RESERVE = 64
"""Descriptors for files, and for connections that the server itself makes."""
MOST, LEAST = 4096, 8
"""Connections, where there are descriptors without end, or hardly any."""
HEADERS = 64_000
"""Bytes of the headers of a request."""
LOOK = 1.0
"""Seconds between two looks at a connection."""
_FULL = b"there are too many connections; try again later"
_REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nRetry-After: 10\r\n"
    b"Connection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(_FULL), _FULL)
)


def room() -> int:
    """How many connections the descriptors of this process allow beside what is open now, and a reserve."""
    if sys.platform == "win32":
        return MOST
    import resource

    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = MOST if most == resource.RLIM_INFINITY else most - len(os.listdir("/dev/fd")) - BACKLOG - RESERVE
    return max(LEAST, min(MOST, free))


class Configuration(uvicorn.Config):
    """How any app of ours is served. most: connections; of one address `EACH`, or half of them."""

    def __init__(self, app: Any, most: int | None = None, **more: Any) -> None:
        quiet = {"log_level": "error", "access_log": False, "server_header": False}
        limits = {"backlog": BACKLOG, "h11_max_incomplete_event_size": HEADERS}
        super().__init__(app, http=Connection, ws="none", **{**quiet, **limits, **more})
        self.most = room() if most is None else most
        self.each = min(EACH, self.most // 2)


class Reasoned(h11.Connection):
    """Puts the reason of a refusal into the status line.

    nnInteractive's client, and with it napari and 3D Slicer, shows the status line, and drops the body.
    """

    def send(self, event: h11.Event) -> bytes | None:  # type: ignore[override]
        """As h11."""
        if isinstance(event, h11.Response):
            reason = dict(event.headers).get(REASON.lower().encode(), event.reason)
            event = h11.Response(status_code=event.status_code, headers=event.headers, reason=reason)
        return super().send(event)


class Connection(H11Protocol):
    """A connection that is refused if there are too many, and ended if nothing moves on it.

    A request must have its headers `PATIENCE` seconds after it could begin; an answer must be read on in that time.
    """

    config: Configuration

    def __init__(self, config: Configuration, *more: Any, **named: Any) -> None:
        super().__init__(config, *more, **named)
        self.conn = Reasoned(h11.SERVER, config.h11_max_incomplete_event_size or HEADERS)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Look whether there is room for it."""
        super().connection_made(transport)
        self._moved = self._could_begin = self.loop.time()
        self._unsent = 0
        mine = [one for one in self.connections if isinstance(one, Connection)]  # there are no others
        there = [one.client for one in mine if not one.transport.is_closing()]
        of_address = sum(client is not None and client[:1] == (self.client or ())[:1] for client in there)
        if len(there) > self.config.most or of_address > self.config.each:
            transport.write(_REFUSAL)
            transport.close()
        self._next = self.loop.call_later(LOOK, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """Look at it no more."""
        self._next.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what arrived; not what follows a refusal."""
        if not self.transport.is_closing():
            super().data_received(data)

    def on_response_complete(self) -> None:
        """From now on another request may come."""
        self._could_begin = self.loop.time()
        super().on_response_complete()

    def _look(self) -> None:
        now, unsent = self.loop.time(), self.transport.get_write_buffer_size()
        if not unsent or unsent < self._unsent:
            self._moved = now
        if self.conn.their_state is not h11.IDLE:  # its headers are there
            self._could_begin = now
        self._unsent = unsent
        if now - min(self._moved, self._could_begin) >= PATIENCE:
            self.transport.abort()
        else:
            self._next = self.loop.call_later(LOOK, self._look)
