"""The workers of a Dask cluster as the executors of a run: each has at most two tasks at a time."""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from threading import Event, RLock
from typing import Any

from intrabench.datasets.base import Dataset
from intrabench.datasets.cases.stored_case import CaseIndex
from intrabench.engine.clusters.connect import check_where, connected, within
from intrabench.engine.executors.dask import worker
from intrabench.engine.executors.dask.discovery import GONE, KEPT, WorkerDiscovery, answered
from intrabench.engine.executors.dask.payload import SEEN_SECONDS, Payload, TaskMessage, TaskResult
from intrabench.engine.executors.executor import Executors, Stopped
from intrabench.engine.executors.placement import worker_placements
from intrabench.engine.options import Options
from intrabench.engine.plan import ImageTask
from intrabench.engine.result_batches import failed
from intrabench.engine.scheduler import Scheduler
from intrabench.engine.session_spec import ModelRunner, SessionSpec
from intrabench.engine.write_buffer import Take
from intrabench.errors import IntraBenchError, Unfinished, several
from intrabench.files.locks import Busy
from intrabench.models.base import Failure

PER_WORKER = 2
"""Tasks at a worker: one that it does, and the next one."""

DEATHS = 3
"""Dask workers that may die of one task."""

LOOK_SECONDS = 2.0
"""How often new workers are looked for."""

GRACE_SECONDS = 15.0
"""How long workers that are stopped may take to hand over what is complete."""

ALONE_SECONDS = 60.0
"""How long there may be no worker, before it is said, or the run ends if none can come."""

POLL_SECONDS = 1.0
"""How often the scheduler is asked about a task that does not end."""

RESULT_SECONDS = 60.0
"""How long what a task gave may take to come."""

REFUSALS = 60
"""So many times in a row, once a second, a worker that is about to leave may refuse a task."""

REFUSED = "a Dask worker has ended this run but stays; restart the workers, and the same command continues"
DYING = f"Dask workers died {DEATHS} times in a row before they began a task; what they print says why"


@contextmanager
def make_dask_executors(options: Options, scheduler: Scheduler) -> Iterator[Executors]:
    """The executors of a cluster; those of workers that come later join."""
    local = check_where(options.dask)
    places = worker_placements(str(local), scheduler.job.runners, local) if local else {}
    with connected(options.dask, scheduler.reporter.say) as client:
        payload = Payload(
            scheduler.store.run_id,
            _absolute(options),
            Path.cwd(),
            None if options.collect else scheduler.store.root.absolute(),
            {str(number): environment for number, environment in enumerate(places.values())},  # Dask counts from 0
        )
        made, finished = DaskCluster(client, payload, scheduler), False
        try:
            scheduler.reporter.say(_where(client))
            made.wait()
            preparers = [made.executor() for _ in range(min(scheduler.queue.cases, len(made.seats)))]
            yield Executors(made.executors, preparers, more=made.more)
            finished = True
        finally:
            made.close(finished)


class DaskCluster:
    """The workers, which executor has which, and what each has loaded."""

    def __init__(self, client: Any, payload: Payload, scheduler: Scheduler) -> None:
        self.client, self.payload, self.scheduler, self.job = client, payload, scheduler, scheduler.job
        self.executors: list[DaskExecutor] = []
        self.seats: dict[str, Counter[DaskExecutor]] = {}  # by the addresses of workers
        self.loaded: dict[str, ModelRunner] = {}
        self.deaths: Counter[tuple[int, str, int]] = Counter()  # of each task, also if it is played in portions
        self.started: Counter[str] = Counter()  # how often each task was begun, by its name
        self.begun = 0  # tasks
        self.again = False  # whether tasks were handed out a second time
        self.stopped_at: float | None = None
        self.discovery = WorkerDiscovery(client, payload.needs)
        self._lock, self._looked, self._last = RLock(), 0.0, 0.0
        client.subscribe_topic(payload.run, self._hear)

    def wait(self) -> None:
        """Wait for the first worker, and a little for those that are there, too."""
        began, told = time.monotonic(), False
        while not self.seats or self.discovery.open:
            waited = time.monotonic() - began
            if waited < 2 * SEEN_SECONDS:
                self._looked = 0.0  # look now
            elif self.seats:
                return
            if waited > SEEN_SECONDS and not (told or self.seats):
                self._say_waiting("the first worker of the cluster")
                told = True
            self.more()
            time.sleep(0.1)

    def more(self) -> Sequence[DaskExecutor]:
        """Executors for the workers that are new."""
        if time.monotonic() - self._looked < LOOK_SECONDS or self.stopped_at:
            return []
        now = self.discovery.look()
        planned = len(getattr(self.client.cluster, "plan", ()))
        if len(self.discovery.states) < planned:  # Dask replaces workers whose job has ended only when it is asked
            self.client.cluster.scale(planned)
        with self._lock:
            self.seats = {address: self.seats.get(address, Counter()) for address in now}
            made = [self.executor() for _ in range(PER_WORKER * len(now) - len(self.executors))]
            self.executors += made
            self._looked = time.monotonic()
            if now:
                self._last = self._looked
        if not now and self.executors and self._looked - self._last > ALONE_SECONDS:
            self._alone()
        return made

    def _alone(self) -> None:
        """There was no worker for a while: a queue may bring one, but nothing on this machine."""
        if self.payload.environments:
            raise Unfinished(f"all Dask workers are gone; {KEPT}")
        self._say_waiting("a worker, of which the cluster has none left")
        self._last = float("inf")

    def _say_waiting(self, what: str) -> None:
        self.scheduler.reporter.say(f"waiting for {self.discovery.waited_for or what}")

    def executor(self) -> DaskExecutor:
        """An executor, which is not counted yet."""
        return DaskExecutor(self) if self.payload.results is None else StoringDaskExecutor(self)

    def seat(self, executor: DaskExecutor) -> str:
        """The worker of an executor: the one where it was, or that with the fewest."""
        with self._lock:
            if executor.address not in self.seats:
                free = min(self.seats, key=lambda address: self.seats[address].total(), default="")
                if free:
                    self.seats[free][executor] += 1
                executor.address = free
            return executor.address

    def whereabouts(self, key: tuple[str, str, str]) -> str:
        """The worker that has a task now; empty if none has."""
        tasks: dict[str, Sequence[object]] = answered(self.client.processing)
        return next((address for address, keys in tasks.items() if key in keys), "")

    def stop(self) -> None:
        """Have all workers hand over what is complete."""
        if self.stopped_at is None:
            self.stopped_at = time.monotonic()
            self._tell(worker.stop, self.payload.run)

    def close(self, finished: bool) -> None:
        """End the processes at the workers."""
        self.stopped_at = self.stopped_at or time.monotonic()
        self._tell(worker.close, self.payload.run, finished)

    def _tell(self, function: Callable[..., None], *args: Any) -> None:
        """Call a function at all workers, of which some may be gone, and the scheduler, too."""

        with suppress(Exception):
            within(GRACE_SECONDS, partial(self.client.run, function, *args, on_error="ignore"))

    def _hear(self, event: tuple[float, Sequence[str]]) -> None:
        """A notice of a worker."""
        kind, *about = event[1]
        if kind in ("started", "left") and about[0] in self.started:  # else nobody waits for it any more
            self.started[about[0]] += 1 if kind == "started" else -1
            self.begun += kind == "started"
        elif kind == "say":
            self.scheduler.reporter.say(about[0])
        elif kind == "doing" and not self.stopped_at:
            self.scheduler.reporter.doing(about[0], about[1])


class Lost(Exception):
    """The scheduler was away for a moment, and knows nothing of the task any more."""


class Left(Exception):
    """The task's worker has left, or takes no tasks, and nobody else has begun it."""


class Killed(Exception):
    """The scheduler gave a task up because its workers died."""


class DaskExecutor:
    """An executor at a worker of a cluster; while it waits, its task may be done by another worker."""

    name = ""

    def __init__(self, of: DaskCluster) -> None:
        self.cluster, self.address = of, ""

    @property
    def runner(self) -> ModelRunner | None:
        """The model that its worker has loaded."""
        return self.cluster.loaded.get(self.cluster.seat(self))

    def play(self, task: ImageTask, specs: Sequence[SessionSpec], take: Take) -> None:
        """Have specs played, and take them when all are finished."""
        try:
            outcome = self.ask(worker.play, task, specs)
        except Killed as error:
            take(failed(specs, Failure("error", str(error))))
            return
        for part in outcome.parts:
            take(part)
        if outcome.stopped:
            raise Stopped
        if outcome.failure:
            take(outcome.failed(specs))

    def prepare(self, dataset: Dataset, case: str) -> CaseIndex | Failure:
        """Have a case downloaded and converted."""
        message = TaskMessage(self.cluster.job.datasets.index(dataset), case)
        try:
            outcome = self._done(worker.prepare, message, f"prepare {dataset.short_spec}", case, 0)
        except Killed as error:
            return Failure("error", str(error))
        if outcome.stopped:
            raise Stopped
        return outcome.prepared or Failure("error", "the worker that converted it is gone; run the command again")

    def stop(self) -> None:
        """Stop all."""
        self.cluster.stop()

    def ask(self, function: Callable[..., TaskResult], task: ImageTask, specs: Sequence[SessionSpec]) -> TaskResult:
        """What a worker makes of a task.

        Raises:
            Killed: too many workers died of it.
        """
        job, model = self.cluster.job, task.runner.model
        keys = [spec.key for spec in specs]
        message = TaskMessage(job.datasets.index(task.dataset), task.case, job.runners.index(task.runner), keys)
        self.cluster.loaded[self.cluster.seat(self)] = task.runner
        case = f"{task.dataset.short_spec}, case {task.case}"
        return self._done(function, message, f"play {model.short_spec}", case, 1)

    def _done(
        self, function: Callable[..., TaskResult], message: TaskMessage, title: str, case: str, priority: int
    ) -> TaskResult:
        """Submit a task until it is done; it counts against it if workers die once it has begun.

        Not so if they leave it, as at the end of their lifetime, or die while it waits.

        Raises:
            Killed: too many workers died of it.
            IntraBenchError: workers die before they begin anything, or refuse the task but do not leave.
        """
        from distributed import KilledWorker

        cluster, died, refused, tried = self.cluster, 0, 0, False
        deaths, task = cluster.deaths, (message.dataset, message.case, message.runner)
        while deaths[task] < DEATHS:
            name, begun = secrets.token_hex(4), cluster.begun
            cluster.started[name] = 0
            cluster.again, tried = cluster.again or tried, True
            try:
                outcome = self._asked(function, replace(message, again=cluster.again), (title, case, name), priority)
                if not outcome.stopped or cluster.stopped_at:
                    return outcome
                refused += 1
                if refused > REFUSALS:
                    raise Unfinished(REFUSED)
                time.sleep(1)  # its worker is about to leave
            except Lost:
                continue
            except (KilledWorker, Left) as error:
                # The error does not say what was at fault: it counts against a task that began and was not left.
                # Deaths while no task begins anywhere are the fault of the workers, such as a broken environment.
                deaths[task] += cluster.started[name]
                idle = begun == cluster.begun and not any(list(cluster.started.values()))
                died = died + 1 if idle else 0
                if died == DEATHS:
                    raise IntraBenchError(DYING) from error
            finally:
                cluster.started.pop(name, None)
        raise Killed(f"{several(DEATHS, 'Dask worker')} died of this image")

    def _asked(
        self, function: Callable[..., TaskResult], message: TaskMessage, key: tuple[str, str, str], priority: int
    ) -> TaskResult:
        """Submit a task, and wait for what comes of it."""
        cluster, address = self.cluster, self.cluster.seat(self)
        if cluster.stopped_at:
            raise Stopped
        future = cluster.client.submit(
            function,
            cluster.payload,
            message,
            key[2],
            key=key,
            pure=False,
            priority=priority,
            workers=[address] if address else None,
            allow_other_workers=bool(address) and not cluster.discovery.open,  # one that never answers must get none
        )
        try:
            return self._result(future, key[2], address)
        finally:
            future.release()

    def _result(self, future: Any, name: str, address: str) -> TaskResult:
        """Wait for a task.

        Raises:
            Lost, Left: it is to be submitted again.
        """
        cluster, done = self.cluster, Event()
        future.add_done_callback(lambda _: done.set())
        while True:
            # The order matters: a result that is here counts, whatever became of the run or its worker meanwhile.
            # While the client reconnects, all its futures look lost; only once it is back are those tasks really gone.
            if done.wait(POLL_SECONDS) and future.status in ("finished", "error"):
                with suppress(TimeoutError):  # its result was lost before it came
                    outcome: TaskResult = future.result(timeout=RESULT_SECONDS)
                    return outcome
            if cluster.client.status == "closed":
                raise Stopped if cluster.stopped_at else Unfinished(GONE)
            if future.status in ("cancelled", "lost") and cluster.client.status == "running":
                raise Stopped if cluster.stopped_at else Lost
            if cluster.stopped_at and time.monotonic() - cluster.stopped_at > GRACE_SECONDS:
                future.cancel()
                raise Stopped
            if self._strayed(future, name, address):
                future.cancel()
                raise Left
            if done.is_set():
                time.sleep(POLL_SECONDS)

    def _strayed(self, future: Any, name: str, address: str) -> bool:
        """Whether nobody will do a task.

        Once the worker that it wanted was the last that left, Dask gives it to none of those that come later. It leaves
        it at a worker that it has paused, and may have moved it to one that never answers.
        """
        cluster = self.cluster
        if not cluster.seats or (address in cluster.seats and not cluster.discovery.open):
            return False
        if where := cluster.whereabouts(future.key):
            return where not in cluster.seats and not cluster.started[name]
        return address not in cluster.seats


class StoringDaskExecutor(DaskExecutor):
    """An executor whose workers see the results folder."""

    def play_and_store(self, task: ImageTask) -> int:
        """Have a worker play what is missing of a task, take its lock, and write.

        Raises:
            Busy: another run, or a worker that died just now, holds the lock.
        """
        run = self.cluster.scheduler
        try:
            outcome = self.ask(worker.play, task, task.specs)  # of which its worker plays what is missing
        except Killed as error:  # its sessions fail, unless another run plays them
            with run.locks.lock(task) as (missing, left, take):
                if left:
                    take(failed(left, Failure("error", str(error))))
            return missing
        run.writer.count(outcome.summary, outcome.dice)
        if outcome.stopped:
            raise Stopped
        if outcome.busy:
            self.cluster.again = True
            raise Busy(outcome.busy)
        if outcome.failure:
            specs = run.locks.missing(task)
            run.writer.take(outcome.failed(specs))
            return len(specs)
        return outcome.missing


def _absolute(options: Options) -> Options:
    """Options whose paths mean the same in every folder."""
    plugins = tuple(path.absolute() for path in options.plugin)
    weights = options.weights if options.weights is None or options.random else options.weights.absolute()
    return replace(options, plugin=plugins, weights=weights)


def _where(client: Any) -> str:
    """Where the cluster is, and its dashboard, for which Dask needs another package."""
    address = client.scheduler_info()["address"]
    if client.cluster is not None and find_spec("bokeh") is None:  # its scheduler is in this process
        return f"Dask cluster at {address}; for its dashboard run: pip install 'bokeh>=3.1'"
    return f"Dask cluster at {address}, dashboard at {client.dashboard_link}"
