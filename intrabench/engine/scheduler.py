"""The scheduler: executors prepare the cases of a run and play its image tasks, each in a thread of its own."""

from __future__ import annotations

from functools import partial
from threading import RLock

from intrabench.datasets.base import Dataset, patient_of
from intrabench.datasets.cases.stored_case import CaseIndex
from intrabench.engine.estimate import Workload
from intrabench.engine.executors.executor import Executor, Executors, StoringExecutor
from intrabench.engine.executors.placement import MOST
from intrabench.engine.plan import ImageTask, Plan
from intrabench.engine.progress.reporter import Reporter
from intrabench.engine.result_batches import failed
from intrabench.engine.session_spec import ModelRunner
from intrabench.engine.shared_task import SharedTask
from intrabench.engine.task_locks import TaskLocks
from intrabench.engine.task_queue import TaskQueue
from intrabench.engine.writer import ResultWriter
from intrabench.files.locks import Busy
from intrabench.models.base import Failure

WAITS = 3
"""So many times a run finds all that is left locked by other runs, with pauses, before it says for whom it waits."""


class Scheduler:
    """Has what a plan leaves to be done prepared, played and stored."""

    def __init__(self, plan: Plan, writer: ResultWriter, reporter: Reporter) -> None:
        self.plan, self.job, self.writer, self.reporter = plan, plan.job, writer, reporter
        self.queue = TaskQueue(self.job.runners, plan.waiting, apart=not self.job.ships)
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

    def run(self, executors: Executors) -> None:
        """Have executors do all that is on the queue; the first error ends all.

        Raises:
            IntraBenchError: a worker refuses the job, or the results cannot be written.
        """
        self.reporter.converting(self.queue.cases)
        self._players = max(executors.planned, len(executors.players))
        if not (executors.here and self.queue.cases):  # in this process, all cases are prepared first
            self._begin()
        try:
            executors.run(partial(self.stop, executors), self._prepare_all, self._play_all)
        finally:
            self.writer.flush()
        if self.summary.already:
            self.writer.renewed(self._patients)

    def stop(self, executors: Executors) -> None:
        """Have all executors end soon; what is complete is kept. Called from any thread."""
        self.queue.stop()
        executors.stop()

    @property
    def missing(self) -> list[tuple[ModelRunner, Workload]]:
        """What is to be played of each model, as far as the cases are ready."""
        tasks = list(self._expected.items())
        numbers = [[number for task, number in tasks if task.runner is one and number] for one in self.job.runners]
        return [(one, Workload(sum(each), len(each))) for one, each in zip(self.job.runners, numbers, strict=True)]

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

    def _prepare_all(self, executor: Executor) -> None:
        """Have cases prepared, and put their sessions on the queue; those of a case that cannot be have no data."""
        while (selected := self.queue.case()) is not None:
            found = executor.prepare(*selected)
            if isinstance(found, Failure):
                self._lost(*selected, found)
            else:
                self._found(*selected, found)
            last = self.queue.prepared()
            self.reporter.converting(self.queue.cases)
            if last:
                self._tell_notes()

    def _tell_notes(self) -> None:
        """What is unusual, now that all cases are known."""
        for line in self.plan.notes():
            self.reporter.say(line)

    def _play_all(self, executor: Executor) -> None:
        if not self._begun:
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
            # An image that is costly to open is played by one executor. Others are shared, in small portions only while
            # there are too few tasks for all.
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
