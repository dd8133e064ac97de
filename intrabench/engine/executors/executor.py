"""Who does the work, each in a thread: this process (`InProcessExecutor`) or one that it supervises."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Event, Thread
from typing import Any, Protocol, runtime_checkable

from intrabench.datasets.base import Dataset
from intrabench.datasets.cases.stored_case import CaseIndex
from intrabench.engine.job import Job
from intrabench.engine.plan import ImageTask, preparation_failure, prepare
from intrabench.engine.player import Player
from intrabench.engine.progress.reporter import Reporter
from intrabench.engine.session_spec import ModelRunner, SessionSpec
from intrabench.engine.write_buffer import Take
from intrabench.models.base import Failure
from intrabench.progress import joined, listen

ARRIVAL_SECONDS = 0.25
"""How often it is asked whether more executors have come."""

Call = Callable[[], Any]


class Stopped(Exception):
    """The run was stopped; what is complete was handed over."""


class Executor(Protocol):
    """Plays tasks and prepares cases, one at a time."""

    name: str

    @property
    def runner(self) -> ModelRunner | None:
        """The model of the last task, which it may have loaded."""

    def play(self, task: ImageTask, specs: Sequence[SessionSpec], take: Take) -> None:
        """Play the specs of a task; `take` gets each of them once, finished or failed.

        Raises:
            Stopped: it was stopped.
        """

    def prepare(self, dataset: Dataset, case: str) -> CaseIndex | Failure:
        """Download and convert a case; a failure says what went wrong.

        Raises:
            Stopped: it was stopped.
        """

    def stop(self) -> None:
        """End the current task soon; called from another thread."""


@runtime_checkable
class StoringExecutor(Executor, Protocol):
    """An executor that takes the lock of a task and stores its results where it plays, because it sees the folder."""

    def play_and_store(self, task: ImageTask) -> int:
        """Play and store what is missing of a task; returns how many sessions that was.

        Raises:
            Busy: another run has the lock.
            Stopped: it was stopped.
        """


Work = Callable[[Executor], None]
"""What an executor is to do, until nothing is left."""


@dataclass(frozen=True)
class Executors:
    """Those who play, and those who prepare cases.

    here: it is the same one, in this process. more: players that have come since it was last asked. planned: how many
    players there may be in the end, as far as that is known.
    """

    players: Sequence[Executor]
    preparers: Sequence[Executor]
    here: bool = False
    more: Callable[[], Sequence[Executor]] = tuple
    planned: int = 1

    def run(self, stop: Call, prepare: Work, play: Work = lambda executor: None) -> None:
        """Prepare with each preparer, and play with each player: in threads, or here one after the other.

        The first error has `stop` called, and ends all.
        """

        calls: list[Call] = [partial(prepare, executor) for executor in self.preparers]
        calls += [partial(play, executor) for executor in self.players]
        if not self.here:
            run_threads(calls, stop, lambda: [partial(play, executor) for executor in self.more()])
            return
        for call in calls:
            call()

    def stop(self) -> None:
        """Have all end soon; called from any thread."""
        for executor in (*self.preparers, *self.players):
            executor.stop()


class InProcessExecutor:
    """Does the work in this process. note: a sentence to say before the first task is played."""

    name = ""

    def __init__(self, job: Job, reporter: Reporter, note: str = "") -> None:
        self.job, self.reporter, self._note = job, reporter, note
        self.runner: ModelRunner | None = None
        self._player = Player(job, reporter.say)

    def play(self, task: ImageTask, specs: Sequence[SessionSpec], take: Take) -> None:
        """Play the specs of a task."""
        if self._note:
            self.reporter.note(self._note)
            self._note = ""
        self.runner = task.runner
        with listen(self._tell):
            self._player.play(task, specs, take)

    def prepare(self, dataset: Dataset, case: str) -> CaseIndex | Failure:
        """Download and convert a case."""
        started = time.perf_counter()
        try:
            with listen(self._tell):
                return prepare(dataset, case, self.reporter)
        except Exception as error:  # a damaged file must not stop the other cases
            return preparation_failure(error, started)

    def _tell(self, phase: str, what: str, about: str) -> None:
        self.reporter.doing(self.name, joined(what, about))

    def stop(self) -> None:
        """Nothing; an exception ends what this process does."""


def run_threads(calls: Iterable[Call], stop: Call, more: Callable[[], Iterable[Call]] = tuple) -> None:
    """Make each call in a thread of its own, also those that come later (`more`), until all have returned.

    What the first one raises, or Ctrl-C, has `stop` called, which lets the others end soon; it is raised again then.
    """
    ends, errors = list[Event](), list[BaseException]()  # in Python 3.11, Ctrl-C makes `Thread.join` take it for ended

    def work(call: Call, end: Event) -> None:
        try:
            call()
        except BaseException as error:
            errors.append(error)
            stop()
        finally:
            end.set()

    def begin(new: Iterable[Call]) -> None:
        for call in new:
            Thread(target=work, args=(call, end := Event()), daemon=True).start()
            ends.append(end)

    try:
        begin(calls)
        while running := [end for end in ends if not end.is_set()]:
            running[0].wait(ARRIVAL_SECONDS)
            begin(more())
    except BaseException:  # Ctrl-C, or a signal that ends the run
        stop()
        for end in ends:
            end.wait()
        raise
    if raised := [error for error in errors if not isinstance(error, Stopped)]:
        raise raised[0]
