"""An image task that several executors play together, because opening its image once more costs next to nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from threading import Condition

from intrabench.engine.executors.executor import Executor
from intrabench.engine.plan import ImageTask
from intrabench.engine.result_batches import failed
from intrabench.engine.session_spec import SessionSpec
from intrabench.engine.write_buffer import Take

PORTIONS = 4
"""Of a task per executor: so many that all end at about the same time."""

SHORTEST_SECONDS = 0.25
"""About what a portion takes at least: of sessions that take no time, many are handed out at once."""

WHOLE = 64
"""Specs in a portion while all executors have tasks of their own: batches stay full, and help can still come later."""


class SharedTask:
    """Specs of a task in portions, each of which is played once. `take` gets what is finished.

    busy: whether all executors have tasks of their own, so that nobody will help.
    """

    def __init__(
        self,
        task: ImageTask,
        specs: Sequence[SessionSpec],
        take: Take,
        executors: int,
        busy: Callable[[], bool] = lambda: False,
    ) -> None:
        self.task, self.take, self._busy = task, take, busy
        self._left = specs
        self._small = -(-len(specs) // (PORTIONS * executors)) if executors > 1 else len(specs)
        self._out, self._changed = 0, Condition()
        self._pace = 0.0  # specs per second in the last portion

    def __bool__(self) -> bool:
        """Whether there is something left to play."""
        return bool(self._left)

    def play(self, executor: Executor) -> None:
        """Have an executor play portions until none is left."""
        while specs := self.portion():
            began = time.monotonic()
            try:
                if self.task.verdict:
                    self.take(failed(specs, self.task.verdict))
                else:
                    executor.play(self.task, specs, self.take)
            finally:
                self.played(len(specs), time.monotonic() - began)

    def portion(self) -> Sequence[SessionSpec]:
        """The next portion, none if all are handed out; call `played` afterwards, also if that failed."""
        size = max(self._small, WHOLE) if self._busy() else self._small
        with self._changed:
            size = max(size, int(SHORTEST_SECONDS * self._pace))
            portion, self._left = self._left[:size], self._left[size:]
            self._out += bool(portion)
            return portion

    def played(self, specs: int = 0, seconds: float = 0.0) -> None:
        """A portion of so many specs was played, in so many seconds."""
        with self._changed:
            self._out -= 1
            self._pace = specs / seconds if seconds else 0.0
            self._changed.notify_all()

    def wait(self) -> None:
        """Wait until all portions are played."""
        with self._changed:
            self._changed.wait_for(lambda: not self._out)
