"""A group that several hands play together, because opening its image once more costs next to nothing."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from threading import Condition

from intrabench.engine.plan import Group
from intrabench.engine.player import Take
from intrabench.engine.units import Unit

PORTIONS = 4
"""Of a group per hand: so many that all end at about the same time."""


class Pool:
    """Units of a group in portions, each of which is handed out once. `take` gets what is finished."""

    def __init__(self, group: Group, units: Sequence[Unit], take: Take, hands: int) -> None:
        self.group, self.take = group, take
        size = -(-len(units) // (PORTIONS * hands)) if hands > 1 else len(units)
        self._portions = deque(units[start : start + size] for start in range(0, len(units), size))
        self._out, self._changed = 0, Condition()

    def __bool__(self) -> bool:
        """Whether there is something left to take."""
        return bool(self._portions)

    def portion(self) -> Sequence[Unit]:
        """The next portion, none if all are handed out; call `played` afterwards, also if that failed."""
        with self._changed:
            self._out += bool(self._portions)
            return self._portions.popleft() if self._portions else ()

    def played(self) -> None:
        """A portion was played."""
        with self._changed:
            self._out -= 1
            self._changed.notify_all()

    def wait(self) -> None:
        """Wait until all that was taken is played."""
        with self._changed:
            self._changed.wait_for(lambda: not self._out)
