"""What a Dask worker does for runs: it has one supervised process for each, with its loaded model, between tasks."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from threading import Lock, RLock, Timer
from typing import Any

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

_posts: dict[str, DaskWorker] = {}
_ended: set[str] = set()
_lock = Lock()


class DaskReporter(Silent):
    """A reporter that tells the command: by events of the run's topic."""

    def __init__(self, worker: Any, run: str) -> None:
        self.dice: list[float] = []
        self._worker, self._run, self._spoke = worker, run, 0.0

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
        """What this worker does."""
        if not what or time.monotonic() - self._spoke > TELL_SECONDS:
            self._spoke = time.monotonic() if what else 0.0
            self.tell("doing", worker, what)


class DaskWorker:
    """A run at a worker."""

    def __init__(self, setup: Payload, worker: Any) -> None:
        name = str(worker.name)
        if problem := lacking(*setup.needs):
            raise IntraBenchError(f"Dask worker {name} {problem}")
        with suppress(OSError):
            os.chdir(setup.folder)
        if worker.nanny:
            forget_settings()
        self.teller, self._lock, self._timer = DaskReporter(worker, setup.run), RLock(), Timer(0, lambda: None)
        self.job = make_run(setup.options, here=False)
        environment = setup.environments.get(name, {})
        self.watched = WorkerProcess(name, setup.options, self.teller, environment, setup.options.timeout)
        memory_mb = default_memory_limit_mb(len(setup.environments))
        preparing = WorkerProcess(name, setup.options, self.teller, {}, setup.options.timeout, False, memory_mb)
        self.hand, self.preparer = ProcessExecutor(self.job, self.watched), ProcessExecutor(self.job, preparing)
        self.stopped = self.leaves = False  # because of the command, or of the worker
        self.summary, self.desk, self._kept = Summary(), None, ExitStack()
        if setup.results is not None:
            manifest = Manifest(setup.options, self.job)
            store = Store(setup.results, f"{setup.run}-w{os.urandom(3).hex()}", manifest.opening)
            writer = ResultWriter(store, self.teller)
            self.desk = TaskLocks(self.job, writer, self.teller, ended=lambda: self.leaves)
            self._kept.enter_context(manifest.kept(store, self.summary))

    def play(self, task: TaskMessage, name: str) -> TaskResult:
        """Play a group; rows are written here if the results folder is shared."""
        return self._done(name, lambda: self._played(task))

    def prepare(self, task: TaskMessage, name: str) -> TaskResult:
        """Download and convert a case."""
        return self._done(name, lambda: TaskResult(prepared=self._prepared(task)))

    def _done(self, name: str, do: Callable[[], TaskResult]) -> TaskResult:
        """What comes of a task; its beginning is told, and that it is left if the run is stopped here."""
        with self._lock:
            self._timer.cancel()
            if self.stopped:
                return TaskResult(stopped=True)
            self.teller.tell("started", name)
            try:
                outcome = do()
            except Stopped:
                outcome = TaskResult(stopped=True)
            finally:
                self._rest()
            if outcome.stopped:
                self.teller.tell("left", name)
            return outcome

    def stop(self) -> None:
        """Hand over what is complete."""
        self.stopped = True
        for hand in (self.hand, self.preparer):
            hand.stop()

    def close(self, finished: bool = False) -> None:
        """End the processes, and note in the manifest how the run ended."""
        self._timer.cancel()
        if not finished or self._busy:
            self.stop()
        with self._lock:
            self.stopped = True
            for hand in (self.hand, self.preparer):
                hand.close()
            ended = (None, None, None) if finished else (KeyboardInterrupt, KeyboardInterrupt(), None)
            with suppress(IntraBenchError, KeyboardInterrupt):
                self._kept.__exit__(*ended)

    def _rest(self) -> None:
        self._timer = Timer(IDLE_SECONDS, self._idle)
        self._timer.daemon = True
        self._timer.start()

    def _idle(self) -> None:
        with self._lock:
            for hand in (self.hand, self.preparer):
                hand.rest()

    @property
    def _busy(self) -> bool:
        """Whether a task is in hand, as one that another worker has finished, too."""
        if free := self._lock.acquire(blocking=False):
            self._lock.release()
        return not free

    def _prepared(self, task: TaskMessage) -> CaseIndex | Failure:
        """The index of a case, which is fetched and converted if this machine lacks it."""
        dataset = self.job.datasets[task.dataset]
        with foreign():
            found = cases.look(dataset, task.case)[0]
        return found or self.preparer.prepare(dataset, task.case)

    def _played(self, task: TaskMessage) -> TaskResult:
        outcome = TaskResult()
        try:
            index = self._prepared(task)
            if isinstance(index, Failure):
                outcome.failure = index
                return outcome
            group = ImageTask(
                self.job, self.job.datasets[task.dataset], task.case, self.job.runners[task.runner], index
            )
            known = {unit.key: unit for unit in group.units}
            if not set(task.keys) <= known.keys():
                problem = f"Dask worker {self.watched.name} has other code or other data than the command"
                outcome.failure = Failure("error", problem)
            elif self.desk is None:
                self.hand.play(group, [known[key] for key in task.keys], outcome.parts.append)
            else:
                self._at_desk(self.desk, group, outcome)
        except Stopped:
            outcome.stopped = True
        except Busy as busy:
            outcome.busy = str(busy)
        return outcome

    def _at_desk(self, desk: TaskLocks, group: ImageTask, outcome: TaskResult) -> None:
        desk.writer.summary, self.teller.dice = outcome.summary, outcome.dice
        try:
            desk.play(self.hand, group, outcome.found)
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


def play(setup: Payload, task: TaskMessage, name: str) -> TaskResult:
    """Play a group at this worker."""
    post = _post(setup)
    return post.play(task, name) if post else TaskResult(stopped=True)


def prepare(setup: Payload, task: TaskMessage, name: str) -> TaskResult:
    """Prepare a case at this worker."""
    post = _post(setup)
    return post.prepare(task, name) if post else TaskResult(stopped=True)


def stop(run: str) -> None:
    """Stop a run at this worker; it is not begun again."""
    _ended.add(run)
    if post := _posts.get(run):
        post.stop()


def close(run: str, finished: bool) -> None:
    """Close a run at this worker; it is not begun again."""
    _ended.add(run)
    with _lock:
        post = _posts.pop(run, None)
    if post is not None:
        post.close(finished)


def _post(setup: Payload) -> DaskWorker | None:
    """The post of a run; None if the run has ended."""
    from distributed import get_worker

    with _lock:
        if setup.run in _ended:
            return None
        if setup.run not in _posts:
            worker = get_worker()
            _posts[setup.run] = DaskWorker(setup, worker)
            worker.loop.add_callback(worker.plugin_add, _leaving(setup.run))
        return _posts[setup.run]


def _leaving(run: str) -> Any:
    """A plug-in of Dask that closes a run when the worker ends, as at the end of its lifetime."""
    from distributed import WorkerPlugin

    class Leaving(WorkerPlugin):
        name = f"intrabench-{run}"

        def teardown(self, worker: Any) -> None:
            if post := _posts.get(run):
                post.leaves = not post.stopped
            close(run, finished=False)

    return Leaving()
