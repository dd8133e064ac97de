"""Measures what only rows need in a thread of its own, while the network computes the next step.

Only then: two threads that both run Python slow each other down, by more than the second one is worth. What is not
measured when somebody wants to know it, the calling thread measures itself.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event

from intrabench.metrics.score import Scoring

MOST_VOXELS = 2**25
"""Of the boxes of answers that wait: 32 MiB, and a few seconds of work."""
PATIENCE_SECONDS = 0.002
"""What takes longer is a network that computes; the rest of a call is Python."""
TURN_SECONDS = 0.0005
"""So long a network that has answered waits for Python at most. By default it is 5 ms: many compute no longer."""

Task = tuple[int, Scoring, "Future[None]"]


class Scorer:
    """One thread, for a network's time is enough for it; more would take the processor from network and prompters."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, "scorer")  # whose thread ends when nobody has the scorer any more
        self._waiting: deque[Task] = deque()

    def begin(self, scoring: Scoring) -> Future[None] | None:
        """Have measured what is left of a scoring, None if nothing is; measures while too much is waiting."""
        voxels = scoring.voxels
        if not voxels:
            return None
        while sum(waiting for waiting, *_ in [*self._waiting]) + voxels > MOST_VOXELS and self._measured_one():
            pass
        future = Future[None]()
        self._waiting.append((voxels, scoring, future))
        return future

    @contextmanager
    def meanwhile(self) -> Iterator[None]:
        """Measure in the other thread as long as the block takes."""
        over, turns = Event(), sys.getswitchinterval()
        sys.setswitchinterval(TURN_SECONDS)
        if self._waiting:
            self._pool.submit(self._measure_until, over)
        try:
            yield
        finally:
            over.set()
            sys.setswitchinterval(turns)

    def aside(self, call: Callable[[], None]) -> Future[None]:
        """Have something done in the other thread, before what is measured there later."""
        return self._pool.submit(call)

    def measure(self, seconds: float | None = None) -> None:
        """Measure what is waiting, for so long at most; None: until nothing is."""
        until = None if seconds is None else time.perf_counter() + seconds
        while (until is None or time.perf_counter() < until) and self._measured_one():
            pass

    def _measure_until(self, over: Event) -> None:
        over.wait(PATIENCE_SECONDS)
        while not over.is_set() and self._measured_one():
            pass

    def _measured_one(self) -> bool:
        """Measure the oldest; whether there was one."""
        try:
            task = self._waiting.popleft()
        except IndexError:
            return False
        _, scoring, future = task
        try:
            scoring.measure()
        except BaseException:  # Ctrl-C; it is measured when it is over
            self._waiting.appendleft(task)
            raise
        future.set_result(None)
        return True
