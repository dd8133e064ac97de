"""The body of a request as it arrives: its bytes and its time are counted, and it is cut where it is too much."""

from __future__ import annotations

import asyncio
import time

from starlette.types import Message, Receive

PATIENCE, SLOWEST = 10.0, 1000.0
"""Seconds that a body may take, and the bytes of each further second."""
QUIET = 1.0
"""Seconds without a byte after which nobody waits for what the app did not read."""
BESIDE = 2**24
"""Bytes that all small bodies together may have."""
_GONE: Message = {"type": "http.disconnect"}


class Body:
    """A body, called as the `receive` of an app. most: its bytes. others: of all requests that are answered now.

    problem: the status and the sentence of a refusal, once it is too long, too slow, or too much with all others.
    whole: nothing more comes.
    """

    def __init__(self, receive: Receive, most: int, others: set[Body]) -> None:
        self.problem: tuple[int, str] | None = None
        self.whole, self.arrived = False, 0
        self._receive, self._most, self._others = receive, most, others
        self._waited, self._kept = 0.0, list[Message]()

    async def __call__(self) -> Message:
        """The next piece; once there is a problem, the client counts as gone."""
        if self._kept:
            return self._kept.pop(0)
        if self.whole:
            return await self._receive()  # which waits for the end of the connection
        return _GONE if self.problem else await self._piece(self._patience)

    async def read(self) -> None:
        """Take all of it in, before anything is done."""
        while not (self.whole or self.problem):
            self._kept.append(await self._piece(self._patience))

    async def rest(self) -> None:
        """Throw away what the app did not read, so that its answer reaches a client that is still sending."""
        while not (self.whole or self.problem):
            await self._piece(min(QUIET, self._patience))  # one who sends byte by byte is not waited for, either

    @property
    def _patience(self) -> float:
        return PATIENCE + self.arrived / SLOWEST - self._waited

    async def _piece(self, seconds: float) -> Message:
        began = time.monotonic()
        try:
            async with asyncio.timeout(seconds):
                message = await self._receive()
        except TimeoutError:
            self.problem = 408, "what was sent came too slowly; send it again"
            return _GONE
        self._waited += time.monotonic() - began
        self.whole = not message.get("more_body", False)  # nor does anything come from a client that is gone
        self.arrived += len(message.get("body", b""))
        if self.arrived > self._most:
            self.problem = too_long(self._most)
        elif sum(body.arrived for body in self._others) > 2 * self._most + BESIDE:
            self.problem = 503, "too much is sent at once; send it again later"
        return _GONE if self.problem else message


def too_long(most: int) -> tuple[int, str]:
    """The refusal of a body that has more bytes than it may."""
    return 413, f"what is sent must have at most {most} bytes" if most else "this request must be sent without a body"
