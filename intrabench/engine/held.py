"""Hold back what was played until the scan is known to be unchanged."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeAlias

from intrabench.engine.seal import Seal
from intrabench.engine.units import Unit
from intrabench.play.session import Session

SHARE = 0.05
"""The largest share of the time that looking at the seal may take, because it reads the whole scan."""
LEAST_SECONDS = 0.5
"""Waves shorter than this become one part: small files cost more than playing them again after a kill."""


Keep: TypeAlias = Callable[[Sequence[Unit], Sequence[Session]], None]
"""Takes units that were played, with their sessions."""


class Held:
    """Units that were played under a seal, with their sessions. They are written once it was found unbroken.

    broken: whether it was broken at the last look.
    """

    def __init__(self, keep: Keep, seal: Seal) -> None:
        self.seal, self.broken, self._keep = seal, False, keep
        self._units: list[Unit] = []
        self._sessions: list[Session] = []
        self._looked = time.perf_counter()

    def add(self, units: Sequence[Unit], sessions: Sequence[Session]) -> None:
        """Hold a wave."""
        self._units += units
        self._sessions += sessions

    @property
    def empty(self) -> bool:
        """Whether all that was played is written."""
        return not self._units

    @property
    def due(self) -> bool:
        """Whether a look, and a part, takes a small share of the time since the last one."""
        return time.perf_counter() - self._looked > max(self.seal.seconds / SHARE, LEAST_SECONDS)

    def settle(self) -> Sequence[Unit]:
        """Look at the seal, and write what is held as one part.

        If it is broken, nothing is written; the units that were held are returned, because they do not count.
        """
        units, sessions = self._units, self._sessions
        self._units, self._sessions = [], []
        self.broken = self.seal.broken
        if self.broken:
            return units
        self._keep(units, sessions)
        self._looked = time.perf_counter()
        return []
