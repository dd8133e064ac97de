"""The scheduler: executors prepare the cases of a run and play its image tasks, each in a thread of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from functools import partial
from threading import Event, RLock, Thread
from typing import Any

from intrabench.datasets.base import Dataset, patient_of
from intrabench.datasets.cases.stored_case import CaseIndex
from intrabench.engine.executors.executor import Executor, Executors, Stopped, StoringExecutor
from intrabench.engine.executors.placement import MOST
from intrabench.engine.plan import ImageTask, Plan
from intrabench.engine.progress.reporter import Reporter
from intrabench.engine.result_batches import failed
from intrabench.engine.shared_task import SharedTask
from intrabench.engine.task_locks import TaskLocks
from intrabench.engine.task_queue import TaskQueue
from intrabench.engine.writer import ResultWriter
from intrabench.files.locks import Busy
from intrabench.models.base import Failure

WAITS = 3
"""So many times a run finds all that is left locked by other runs, with pauses, before it says for whom it waits."""

ARRIVAL_SECONDS = 1.0
"""How often it is asked whether more executors have come."""


class CaseScheduler(ABC):
    """Has the cases of a queue prepared. `take` says what becomes of each; subclasses also have tasks played."""

    def __init__(self, queue: TaskQueue, reporter: Reporter) -> None:
        self.queue, self.reporter = queue, reporter

    def run(self, executors: Executors) -> None:
        """Have executors do all that is on the queue; the first error ends all.

        Raises:
            IntraBenchError: a worker refuses the job, or the results cannot be written.
        """
        self.begin(executors)
        if executors.here:
            self._prepare_all(executors.preparers[0])
            for executor in executors.players:
                self._play_all(executor)
        else:
            self._run_threads(executors)
        self.end()

    def _run_threads(self, executors: Executors) -> None:
        def playing(players: Iterable[Executor]) -> list[Callable[[], None]]:
            return [partial(self._play_all, executor) for executor in players]

        preparing = [partial(self._prepare_all, executor) for executor in executors.preparers]
        stop, more = partial(self.stop, executors), lambda: playing(executors.more())
        run_threads([*preparing, *playing(executors.players)], stop, more)

    @abstractmethod
    def begin(self, executors: Executors) -> None:
        """The work begins."""

    def end(self) -> None:  # noqa: B027
        """All is done."""

    def wants(self, dataset: Dataset) -> bool:
        """Whether another case of a data set is still to be prepared."""
        return True

    @abstractmethod
    def take(self, dataset: Dataset, case: str, found: CaseIndex | Failure) -> None:
        """A case is prepared, or cannot be."""

    def prepared(self, last: bool) -> None:  # noqa: B027
        """A case was taken."""

    def _prepare_all(self, executor: Executor) -> None:
        while (selected := self.queue.case()) is not None:
            if self.wants(selected[0]):
                self.take(*selected, executor.prepare(*selected))
            self.prepared(last=self.queue.prepared())

    def _play_all(self, executor: Executor) -> None:  # noqa: B027
        """Play what is on the queue; here there are only cases."""

    def stop(self, executors: Executors) -> None:
        """Have all executors end soon; what is complete is kept. Called from any thread."""
        self.queue.stop()
        for executor in (*executors.preparers, *executors.players):
            executor.stop()


class Scheduler(CaseScheduler):
    """Has what a plan leaves to be done prepared, played and stored."""

    def __init__(self, plan: Plan, writer: ResultWriter, reporter: Reporter) -> None:
        super().__init__(TaskQueue(plan.job.runners, plan.waiting, apart=not plan.job.ships), reporter)
        self.plan, self.job, self.writer = plan, plan.job, writer
        self.store, self.summary = writer.store, writer.summary
        self.locks = TaskLocks(self.job, writer, reporter)
        self._expected: dict[ImageTask, int] = {}  # sessions that were missing when it was put on the queue
        self._lock, self._begun = RLock(), False
        self._waited = 0  # times that all that was left was locked by other runs
        self._players = 1
        self._mending = self.store.failed_cases()
        selected = [*plan.ready, *plan.waiting]
        self._patients = {(where.short_spec, case): patient_of(where, case) for where, case in selected}
        self.writer.tell_patients(self._patients)
        for (dataset, case), index in plan.ready.items():
            self._found(dataset, case, index)
        if not plan.waiting:
            self._tell_notes()

    def begin(self, executors: Executors) -> None:
        """Tell what is to be done; in this process, all cases are prepared before."""
        self.reporter.converting(self.queue.cases)
        self._players = len(executors.players)
        if not (executors.here and self.queue.cases):
            self._begin()

    def end(self) -> None:
        """Write again what other runs have replaced since."""
        if self.summary.already:
            self.writer.renewed(self._patients)

    @property
    def executors(self) -> int:
        """For how many executors there is work: one per image, or one per session where images are not encoded."""
        if self.queue.cases and not all(runner.model.encodes for runner in self.job.runners):
            return MOST  # nobody knows yet
        known = sum(1 if task.runner.model.encodes else number for task, number in self._expected.items())
        return known + self.queue.cases * len(self.job.runners)

    def _begin(self) -> None:
        self.reporter.begin(self.summary.total, self.summary.already)
        self._begun = True

    def take(self, dataset: Dataset, case: str, found: CaseIndex | Failure) -> None:
        """A case is prepared: put its sessions on the queue. Or it cannot be: they have no data."""
        if isinstance(found, Failure):
            self._lost(dataset, case, found)
        else:
            self._found(dataset, case, found)

    def prepared(self, last: bool) -> None:
        """Say how many cases are left, and in the end what is unusual."""
        self.reporter.converting(self.queue.cases)
        if last:
            self._tell_notes()

    def _tell_notes(self) -> None:
        """What is unusual, now that all cases are known."""
        for line in self.plan.notes():
            self.reporter.say(line)

    def _play_all(self, executor: Executor) -> None:
        if not self._begun:  # in this process, all cases are prepared first
            self._begin()
        while (found := self.queue.next(executor.runner)) is not None:
            if isinstance(found, SharedTask):
                found.play(executor)
                continue
            try:
                self._play(executor, found)
            except Busy as busy:
                if self.queue.later(found):
                    self._waited += 1
                    if self._waited == WAITS:
                        self.reporter.say(f"waiting for {busy}")

    def _play(self, executor: Executor, task: ImageTask) -> None:
        """Play what is missing of a task under its lock, with the help of executors that have nothing else to do.

        Raises:
            Busy: another run has the lock.
        """
        if isinstance(executor, StoringExecutor):
            self._expect(task, executor.play_and_store(task))
            return
        with self.locks.lock(task) as (missing, specs, take):
            self._expect(task, missing)
            executors = self._players if not task.runner.model.encodes else 1
            shared = SharedTask(task, specs, take, executors, lambda: self.queue.tasks >= executors)
            self.queue.offer(shared)
            shared.play(executor)
            shared.wait()

    def _expect(self, task: ImageTask, missing: int) -> None:
        """Another run finished those that are no longer missing."""
        self.reporter.advance(self._expected.pop(task) - missing, 0)

    def _found(self, dataset: Dataset, case: str, index: CaseIndex) -> None:
        """A case is ready: count its sessions, and put those that are missing on the queue."""
        with self._lock:
            self.plan.ready[dataset, case] = index
            if self._mending:
                self.writer.mended([spec for spec in self.plan.whole(dataset, case) if spec.key in self._mending])
            self._patients[dataset.short_spec, case] = patient_of(dataset, case)
            for task in self.plan.tasks(dataset, case, index):
                keys = task.keys
                missing = len(self.locks.unfinished(task))
                self.summary.keys.update(keys)
                self.summary.total += len(keys)
                self.summary.already += len(keys) - missing
                if self._begun:
                    self.reporter.expect(missing)
                if missing:
                    self._expected[task] = missing
                    self.queue.add(task)

    def _lost(self, dataset: Dataset, case: str, failure: Failure) -> None:
        """A case cannot be prepared."""
        with self._lock:
            self.plan.lost.append((dataset, case))
            self.reporter.say(f"{dataset.short_spec}, case {case}: {failure.message}")
            specs = self.plan.whole(dataset, case)
            self.summary.keys.update(spec.key for spec in specs)
            self.summary.total += len(specs)
            if self._begun:
                self.reporter.expect(len(specs))
            self.writer.take(failed(specs, failure, of_data=True))


Call = Callable[[], Any]


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
