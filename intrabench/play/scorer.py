"""Measures what only rows need in a thread of its own, while the network computes the next step."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor, wait

from intrabench.metrics.score import Scoring

MOST_VOXELS = 2**25
"""Of the boxes of answers that wait: 32 MiB, and a few seconds of work."""


class Scorer:
    """One thread, for a network's time is enough for it; more would take the processor from network and prompters."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, "scorer")  # whose thread ends when nobody has the scorer any more
        self._waiting: deque[tuple[int, Future[None]]] = deque()

    def begin(self, scoring: Scoring) -> Future[None] | None:
        """Have measured what is left of a scoring, None if nothing is; waits while too much is waiting."""
        voxels = scoring.voxels
        if not voxels:
            return None
        while self._waiting and (self._waiting[0][1].done() or self._voxels + voxels > MOST_VOXELS):
            wait([self._waiting.popleft()[1]])
        future = self._pool.submit(scoring.measure)
        self._waiting.append((voxels, future))
        return future

    @property
    def _voxels(self) -> int:
        return sum(voxels for voxels, _ in self._waiting)
