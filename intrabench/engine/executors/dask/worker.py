"""What a Dask worker does for runs: it has one supervised process for each, with its loaded model, between tasks."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from threading import Lock, RLock, Timer
from typing import Any

from distributed import WorkerPlugin, get_worker

from intrabench.datasets.cases import store as cases
from intrabench.datasets.cases.stored_case import CaseIndex
from intrabench.engine.executors.dask.payload import Payload, TaskMessage, TaskResult, lacking
from intrabench.engine.executors.executor import Stopped
from intrabench.engine.executors.placement import default_memory_limit_mb
from intrabench.engine.executors.process import ProcessExecutor
from intrabench.engine.executors.worker_process import WorkerProcess
from intrabench.engine.make_job import make_run
from intrabench.engine.manifest import Manifest
from intrabench.engine.plan import ImageTask
from intrabench.engine.progress.reporter import Silent
from intrabench.engine.summary import Summary
from intrabench.engine.task_locks import TaskLocks
from intrabench.engine.writer import ResultWriter
from intrabench.errors import IntraBenchError, foreign
from intrabench.files.locks import Busy
from intrabench.models.base import Failure
from intrabench.results.store import Store

IDLE_SECONDS = 900.0
"""After so long without a task the process ends, because the command may be gone; the next task starts another."""

TELL_SECONDS = 0.5
"""The least time between two notices of what a worker does."""

_workers: dict[str, DaskWorker] = {}
_ended: set[str] = set()
_lock = Lock()


class _DaskReporter(Silent):
    """A reporter that tells the command: by events of the run's topic."""

    def __init__(self, worker: Any, run: str) -> None:
        self.dice: list[float] = []
        self._worker, self._run, self._spoke, self._doing = worker, run, 0.0, False

    def tell(self, *message: str) -> None:
        """Send a message."""
        self._worker.log_event(self._run, list(message))

    def say(self, text: str) -> None:
        """One plain line."""
        self.tell("say", text)

    def advance(self, sessions: int, failed: int, dice: Sequence[float] = ()) -> None:
        """Keep the Dice of what was stored here."""
        self.dice += dice

    def doing(self, worker: str, what: str) -> None:
        """What this worker does; of short tasks not each is told."""
        if time.monotonic() - self._spoke > TELL_SECONDS if what else self._doing:
            self._spoke, self._doing = time.monotonic(), bool(what)
            self.tell("doing", worker, what)


class DaskWorker(WorkerPlugin):
    """A run at a worker, and a plug-in of Dask, which tells it when the worker ends."""

    def __init__(self, payload: Payload, worker: Any) -> None:
        self.run, self.name, name = payload.run, f"intrabench-{payload.run}", str(worker.name)
        if problem := lacking(*payload.needs):
            raise IntraBenchError(f"Dask worker {name} {problem}")
        with suppress(OSError):
            os.chdir(payload.folder)
        if worker.nanny:
            forget_settings()
        self.reporter, self._lock, self._timer = _DaskReporter(worker, payload.run), RLock(), Timer(0, lambda: None)
        self.job = make_run(payload.options, here=False)
        environment = payload.environments.get(name, {})
        self.process = WorkerProcess(name, payload.options, self.reporter, environment, payload.options.timeout)
        memory_mb = default_memory_limit_mb(len(payload.environments))
        preparing = WorkerProcess(name, payload.options, self.reporter, {}, payload.options.timeout, False, memory_mb)
        self.executor, self.preparer = ProcessExecutor(self.job, self.process), ProcessExecutor(self.job, preparing)
        self.stopped = self.leaves = False  # because of the command, or of the worker
        self.summary, self.locks, self._kept = Summary(), None, ExitStack()
        if payload.results is not None:
            manifest = Manifest(payload.options, self.job)
            # The other workers store other tasks, and to read what each of them writes takes longer than small tasks.
            workers = f"{payload.run}-w"
            store = Store(payload.results, f"{workers}{os.urandom(3).hex()}", manifest.opening, later=workers)
            writer = ResultWriter(store, self.reporter)
            self.locks = TaskLocks(self.job, writer, self.reporter, ended=lambda: self.leaves)
            self._kept.enter_context(manifest.kept(store, self.summary))

    def play(self, message: TaskMessage, name: str) -> TaskResult:
        """Play a task; rows are written here if the results folder is shared."""
        return self._done(name, lambda: self._played(message))

    def prepare(self, message: TaskMessage, name: str) -> TaskResult:
        """Download and convert a case."""
        return self._done(name, lambda: TaskResult(prepared=self._prepared(message)))

    def _done(self, name: str, do: Callable[[], TaskResult]) -> TaskResult:
        """What comes of a task; its beginning is told, and that it is left if the run is stopped here."""
        with self._lock:
            self._timer.cancel()
            if self.stopped:
                return TaskResult(stopped=True)
            self.reporter.tell("started", name)
            try:
                outcome = do()
            except Stopped:
                outcome = TaskResult(stopped=True)
            finally:
                self._rest()
            if outcome.stopped:
                self.reporter.tell("left", name)
            return outcome

    def stop(self) -> None:
        """Hand over what is complete."""
        self.stopped = True
        for executor in (self.executor, self.preparer):
            executor.stop()

    def close(self, finished: bool = False) -> None:
        """End the processes, and note in the manifest how the run ended."""
        self._timer.cancel()
        # without the lock, which a task has until it ends: it would be waited for instead of stopped
        if not finished or self._busy:
            self.stop()
        with self._lock:
            self.stopped = True
            for executor in (self.executor, self.preparer):
                executor.close()
            ended = (None, None, None) if finished else (KeyboardInterrupt, KeyboardInterrupt(), None)
            with suppress(IntraBenchError, KeyboardInterrupt):
                self._kept.__exit__(*ended)

    def teardown(self, worker: Any) -> None:
        """The worker ends, as at the end of its lifetime."""
        self.leaves = not self.stopped
        close(self.run, finished=False)

    def _rest(self) -> None:
        self._timer = Timer(IDLE_SECONDS, self._idle)
        self._timer.daemon = True
        self._timer.start()

    def _idle(self) -> None:
        with self._lock:
            for executor in (self.executor, self.preparer):
                executor.rest()

    @property
    def _busy(self) -> bool:
        """Whether a task is in hand, as one that another worker has finished, too."""
        if free := self._lock.acquire(blocking=False):
            self._lock.release()
        return not free

    def _prepared(self, message: TaskMessage) -> CaseIndex | Failure:
        """The index of a case, which is fetched and converted if this machine lacks it."""
        dataset = self.job.datasets[message.dataset]
        with foreign():
            found = cases.look(dataset, message.case)[0]
        return found or self.preparer.prepare(dataset, message.case)

    def _played(self, message: TaskMessage) -> TaskResult:
        outcome = TaskResult()
        try:
            index = self._prepared(message)
            if isinstance(index, Failure):
                outcome.failure = index
                return outcome
            task = ImageTask(
                self.job, self.job.datasets[message.dataset], message.case, self.job.runners[message.runner], index
            )
            known = {spec.key: spec for spec in task.specs}
            if not set(message.keys) <= known.keys():
                problem = f"Dask worker {self.process.name} has other code or other data than the command"
                outcome.failure = Failure("error", problem)
            elif self.locks is None:
                self.executor.play(task, [known[key] for key in message.keys], outcome.parts.append)
            else:
                if message.again:
                    self.locks.store.look_everywhere()
                self._under_lock(self.locks, task, outcome)
        except Stopped:
            outcome.stopped = True
        except Busy as busy:
            outcome.busy = str(busy)
        return outcome

    def _under_lock(self, locks: TaskLocks, task: ImageTask, outcome: TaskResult) -> None:
        locks.writer.summary, self.reporter.dice = outcome.summary, outcome.dice
        try:
            with locks.lock(task) as (outcome.missing, specs, take):
                if specs:
                    self.executor.play(task, specs, take)
        finally:
            self.summary.add(outcome.summary)


def forget_settings() -> None:
    """Take back what Dask's nanny has set for this process; what plays is a process of its own.

    One thread of OpenMP suits a worker with many tasks, but not a model. To give back all freed memory at once makes
    large arrays nearly twice as slow.
    """
    import dask

    for name, value in dask.config.get("distributed.nanny.pre-spawn-environ", {}).items():
        if os.environ.get(name) == str(value):
            del os.environ[name]


def play(payload: Payload, message: TaskMessage, name: str) -> TaskResult:
    """Play a task at this worker."""
    dask_worker = _worker(payload)
    return dask_worker.play(message, name) if dask_worker else TaskResult(stopped=True)


def prepare(payload: Payload, message: TaskMessage, name: str) -> TaskResult:
    """Prepare a case at this worker."""
    dask_worker = _worker(payload)
    return dask_worker.prepare(message, name) if dask_worker else TaskResult(stopped=True)


def stop(run: str) -> None:
    """Stop a run at this worker; it is not begun again."""
    _ended.add(run)
    if dask_worker := _workers.get(run):
        dask_worker.stop()


def close(run: str, finished: bool) -> None:
    """Close a run at this worker; it is not begun again."""
    _ended.add(run)
    with _lock:
        dask_worker = _workers.pop(run, None)
    if dask_worker is not None:
        dask_worker.close(finished)


def _worker(payload: Payload) -> DaskWorker | None:
    """What this worker does for a run; None if the run has ended."""
    with _lock:
        if payload.run in _ended:
            return None
        if payload.run not in _workers:
            worker = get_worker()
            _workers[payload.run] = DaskWorker(payload, worker)
            # a task runs in a thread, and plugin_add is a coroutine, which only the worker's event loop may run
            worker.loop.add_callback(worker.plugin_add, _workers[payload.run])
        return _workers[payload.run]
