"""What is still to be done, for several threads to take from: tasks to be played, cases to be prepared."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable
from threading import Condition

from intrabench.engine.plan import ImageTask, Selected
from intrabench.engine.session_spec import ModelRunner
from intrabench.engine.shared_task import SharedTask

PAUSE_SECONDS = 1.0
"""How long a task that another run holds is left alone."""

PATIENCE_SECONDS = 10.0
"""So long an executor that has loaded a network waits for a case to be prepared, before it loads another model instead.

About what it takes to load a large network: so waiting and loading together take at most twice the time of the better
choice, which nobody knows beforehand.
"""


START_SECONDS = 1.0
"""The same where another model takes a fresh process, but no network is loaded: about what that takes."""


class TaskQueue:
    """Tasks and cases, each handed out once.

    apart: whether another model takes a fresh process, because code that does not ship is played.
    """

    def __init__(self, runners: Iterable[ModelRunner], cases: Iterable[Selected], apart: bool = False) -> None:
        self._least = START_SECONDS if apart else 0.0
        self._changed = Condition()
        self._tasks: dict[ModelRunner, deque[ImageTask]] = {runner: deque() for runner in runners}
        self._locked: deque[tuple[float, ImageTask]] = deque()
        self._shared: list[SharedTask] = []
        self._cases, self._preparing, self._stopped = deque(cases), 0, False

    def add(self, task: ImageTask) -> None:
        """A task that can be played now."""
        with self._changed:
            self._tasks[task.runner].append(task)
            self._changed.notify_all()  # not each that waits would take it

    def later(self, task: ImageTask) -> bool:
        """A task that another run holds. Returns whether nothing else is left to be handed out."""
        with self._changed:
            self._locked.append((time.monotonic() + PAUSE_SECONDS, task))
            return not (self._cases or self._preparing or any(self._tasks.values()))

    def offer(self, shared: SharedTask) -> None:
        """A task that is being played, and that executors without a task of their own may help with."""
        with self._changed:
            self._shared = [one for one in self._shared if one] + [shared]
            self._changed.notify_all()

    def next(self, runner: ModelRunner | None) -> ImageTask | SharedTask | None:
        """The next task, of this model if there is one, because it is loaded; else one to help with.

        None when all is done. Waits while cases are prepared, or other runs hold the rest.
        """
        longest = (PATIENCE_SECONDS if runner.model.encodes else self._least) if runner else 0.0
        patient_until = time.monotonic() + longest
        with self._changed:
            while not self._stopped:
                coming = bool(self._cases or self._preparing)
                patience = patient_until - time.monotonic() if coming else 0.0
                if (found := self._own(runner) or (self._other() if patience <= 0 else None)) is not None:
                    return found
                if not (coming or self._locked):
                    break
                pause = PAUSE_SECONDS / 4 if self._locked else None
                self._changed.wait(patience if patience > 0 else pause)
            return None

    @property
    def tasks(self) -> int:
        """How many tasks could be played now, but nobody does."""
        with self._changed:
            return sum(map(len, self._tasks.values()))

    @property
    def waiting(self) -> bool:
        """Whether a task, or a portion of one, could be played now, but nobody does."""
        with self._changed:
            return any(self._tasks.values()) or any(self._shared)

    @property
    def cases(self) -> int:
        """How many cases are still to be prepared."""
        with self._changed:
            return len(self._cases) + self._preparing

    def case(self) -> Selected | None:
        """The next case to be prepared, if any; call `prepared` afterwards."""
        with self._changed:
            if self._stopped or not self._cases:
                return None
            self._preparing += 1
            return self._cases.popleft()

    def prepared(self) -> bool:
        """A case was prepared, or cannot be; its tasks were added before. Returns whether it was the last one."""
        with self._changed:
            self._preparing -= 1
            self._changed.notify_all()
            return not (self._cases or self._preparing)

    def stop(self) -> None:
        """Hand nothing out any more."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _own(self, runner: ModelRunner | None) -> ImageTask | None:
        """The next task of a model."""
        tasks = self._tasks.get(runner) if runner else None
        return tasks.popleft() if tasks else None

    def _other(self) -> ImageTask | SharedTask | None:
        """The next task of any model; else one that another run may have left, or one to help with."""
        if tasks := next((one for one in self._tasks.values() if one), None):
            return tasks.popleft()
        if self._locked and self._locked[0][0] <= time.monotonic():
            return self._locked.popleft()[1]
        return next((shared for shared in self._shared if shared), None)
