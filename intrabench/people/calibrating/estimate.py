"""A measured number with its interval, and whether it rests on enough to take the place of a default."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from intrabench.mask import Floats
from intrabench.statistics.resample import FEW

LEAST = 30
"""Actions of a kind from which its seconds are measured: times of people scatter about as much as their mean, so that
of fewer is uncertain by more than a fifth, and no better than a published number. The same for edges and clicks."""


@dataclass(frozen=True)
class Measured:
    """A number; NaN if nothing was observed. low, high: of 95 %, NaN if there is no interval. n: observations."""

    value: float
    low: float
    high: float
    n: int
    sessions: int

    @property
    def enough(self) -> bool:
        """Whether it counts: `LEAST` observations, and as many sessions as an interval needs."""
        return self.n >= LEAST and self.sessions >= FEW


def measured(found: Sequence[Floats], n: int, sessions: int) -> list[Measured]:
    """Of the values and both ends that `clustered` gives."""
    ends = zip(*(part.tolist() for part in found), strict=True)
    return [Measured(value, low, high, n, sessions) for value, low, high in ends]
