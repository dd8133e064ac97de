"""The work of a run: cases are prepared and tasks played, by as many executors as there are, each at its own pace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from threading import RLock

from intrabench.datasets.base import Dataset, patient_of
from intrabench.datasets.cases.stored_case import CaseIndex
from intrabench.engine.executors.executor import Executor, Executors, TaskHandler
from intrabench.engine.executors.placement import MOST
from intrabench.engine.plan import ImageTask, Plan
from intrabench.engine.player import Take
from intrabench.engine.progress.reporter import Reporter
from intrabench.engine.result_batches import failed
from intrabench.engine.session_spec import SessionSpec
from intrabench.engine.shared_task import SharedTask
from intrabench.engine.task_locks import TaskLocks
from intrabench.engine.task_queue import TaskQueue
from intrabench.engine.threads import run_threads
from intrabench.engine.writer import ResultWriter
from intrabench.files.locks import Busy
from intrabench.models.base import Failure

TOLD = 3
"""So many times a run finds all that is left held by other runs, with pauses, before it says for whom it waits."""


class Scheduler:
    """What a plan leaves to be done, and its results."""

    def __init__(self, plan: Plan, writer: ResultWriter, reporter: Reporter) -> None:
        self.plan, self.job, self.writer, self.reporter = plan, plan.job, writer, reporter
        self.store, self.summary = writer.store, writer.summary
        self.queue = TaskQueue(self.job.runners, plan.waiting, apart=not self.job.ships)
        self.locks = TaskLocks(self.job, writer, reporter, self._share)
        self._expected: dict[ImageTask, int] = {}  # sessions that were missing when it was put on the queue
        self._lock, self._begun = RLock(), False
        self._waited = 0  # times that all that was left was held by other runs
        self._players = 1
        self._mending = self.store.failed_cases()
        selected = [*plan.ready, *plan.waiting]
        self._patients = {(where.short_spec, case): patient_of(where, case) for where, case in selected}
        self.writer.tell_patients(self._patients)
        for (dataset, case), index in plan.ready.items():
            self._found(dataset, case, index)
        if not plan.waiting:
            self._tell()

    def done_by(self, executors: Executors) -> None:
        """Prepare all cases and play all tasks.

        Raises:
            IntraBenchError: a worker refuses the job, or the results cannot be written.
        """
        self.reporter.converting(self.queue.cases)
        if executors.here:
            self._prepare_all(executors.preparers[0])
            self._begin()
            self._play_all(executors.players[0], self.locks)
        else:
            self._players = len(executors.players)
            self._begin()
            self._together(executors)
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

    def _together(self, executors: Executors) -> None:
        """Let all executors work, also those that come later; the first error ends all."""
        locks = executors.locks or self.locks

        def playing(players: Iterable[Executor]) -> list[Callable[[], None]]:
            return [partial(self._play_all, executor, locks) for executor in players]

        preparing = [partial(self._prepare_all, executor) for executor in executors.preparers]
        run_threads(
            [*preparing, *playing(executors.players)], partial(self._stop, executors), lambda: playing(executors.more())
        )

    def _stop(self, executors: Executors) -> None:
        self.queue.stop()
        for executor in (*executors.preparers, *executors.players):
            executor.stop()

    def _prepare_all(self, executor: Executor) -> None:
        while (selected := self.queue.case()) is not None:
            dataset, case = selected
            found = executor.prepare(dataset, case)
            if isinstance(found, Failure):
                self._lost(dataset, case, found)
            else:
                self._found(dataset, case, found)
            last = self.queue.prepared()
            self.reporter.converting(self.queue.cases)
            if last:
                self._tell()

    def _play_all(self, executor: Executor, locks: TaskHandler) -> None:
        while (found := self.queue.next(executor.runner)) is not None:
            if isinstance(found, SharedTask):
                self._help(executor, found)
            else:
                self._play(executor, found, locks)

    def _play(self, executor: Executor, task: ImageTask, locks: TaskHandler) -> None:
        """Play a task under its lock; if another run holds it, later."""
        try:
            # another run finished those that are no longer missing
            locks.play(executor, task, lambda missing: self.reporter.advance(self._expected.pop(task) - missing, 0))
        except Busy as busy:
            if self.queue.later(task):
                self._waited += 1
                if self._waited == TOLD:
                    self.reporter.say(f"waiting for {busy}")

    def _share(self, executor: Executor, task: ImageTask, specs: Sequence[SessionSpec], take: Take) -> None:
        """Play specs with the help of executors that have nothing else to do."""
        executors = self._players if not task.runner.model.encodes else 1
        shared = SharedTask(task, specs, take, executors, lambda: self.queue.tasks >= executors)
        self.queue.offer(shared)
        self._help(executor, shared)
        shared.wait()

    def _help(self, executor: Executor, shared: SharedTask) -> None:
        while specs := shared.portion():
            try:
                if verdict := shared.task.crashes.verdict:
                    shared.take(failed(specs, verdict))
                else:
                    executor.play(shared.task, specs, shared.take)
            finally:
                shared.played()

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

    def _tell(self) -> None:
        """Say what is unusual, now that all cases are known."""
        for line in self.plan.notes():
            self.reporter.say(line)
