"""Who uses a served model: a lease for each client, which ends when it is given back, or in silence."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")

IDLE_SECONDS, SILENT_SECONDS = 600.0, 60.0
"""After so long without an action, or without any sign of life, a lease ends."""


class Full(Exception):
    """All leases are taken."""


@dataclass
class Lease(Generic[T]):
    """What one client holds. acted, seen: when it did something, and when it gave its last sign of life."""

    token: str
    content: T
    acted: float
    seen: float


class Leases(Generic[T]):
    """The leases of a server. make: what a new client gets. Everything happens in one thread."""

    def __init__(
        self,
        make: Callable[[], T],
        most: int,
        idle: float = IDLE_SECONDS,
        silent: float = SILENT_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.most, self.idle, self.silent = most, idle, silent
        self._make, self._clock = make, clock
        self._leases: dict[str, Lease[T]] = {}

    def __len__(self) -> int:
        return len(self._leases)

    def claim(self) -> Lease[T]:
        """A new lease.

        Raises:
            Full: there are as many as there may be.
        """
        if len(self._leases) >= self.most:
            raise Full
        now, token = self._clock(), secrets.token_hex(16)
        self._leases[token] = Lease(token, self._make(), now, now)
        return self._leases[token]

    def find(self, token: str | None, *, acts: bool = False, seen: bool = True) -> Lease[T] | None:
        """The lease with this token; None if it ended, or never was. acts: the client does something with it."""
        lease = self._leases.get(token or "")
        if lease is not None and seen:
            lease.seen = self._clock()
            lease.acted = lease.seen if acts else lease.acted
        return lease

    def left(self, lease: Lease[T]) -> float:
        """Seconds until it ends without an action."""
        return max(0.0, self.idle - (self._clock() - lease.acted))

    def release(self, token: str | None) -> T | None:
        """End a lease; what its client held, if there was one."""
        lease = self._leases.pop(token or "", None)
        return None if lease is None else lease.content

    def ended(self) -> list[T]:
        """End those that were silent or idle for too long; what their clients held."""
        now = self._clock()
        over = [one for one in self._leases.values() if now - one.seen > self.silent or now - one.acted > self.idle]
        for lease in over:
            del self._leases[lease.token]
        return [lease.content for lease in over]

    def all(self) -> list[T]:
        """What all clients hold; all leases end."""
        contents = [lease.content for lease in self._leases.values()]
        self._leases.clear()
        return contents
