"""Who does the work of a run: this process, or as many workers as were asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial

from intrabench.engine.clusters.connect import check_where
from intrabench.engine.executors.executor import Executors, InProcessExecutor
from intrabench.engine.executors.placement import (
    Placements,
    default_memory_limit_mb,
    preparer_placements,
    requested,
    worker_placements,
)
from intrabench.engine.executors.process import ProcessExecutor
from intrabench.engine.executors.worker_process import WorkerProcess
from intrabench.engine.job import Job
from intrabench.engine.options import Options
from intrabench.engine.progress.reporter import Reporter
from intrabench.engine.scheduler import Scheduler
from intrabench.errors import several


def plays_in_process(options: Options) -> bool:
    """Whether a run plays in this process: if it was asked to, and with objects, which cannot leave it."""
    return not options.dask and (requested(options.workers) == 0 or bool(options.objects))


@contextmanager
def make_executors(options: Options, scheduler: Scheduler) -> Iterator[Executors]:
    """The executors of a run, whose processes end with the context."""
    if plays_in_process(options):
        here = InProcessExecutor(scheduler.job, scheduler.reporter, _shared_by(scheduler.job, options))
        yield Executors([here], [here], here=True)
        return
    if options.dask:
        check_where(options.dask)  # before Dask is imported, which may not be installed
        from intrabench.engine.executors.dask.executor import make_dask_executors

        with make_dask_executors(options, scheduler) as executors:
            yield executors
        return
    places = worker_placements(options.workers, scheduler.job.runners, scheduler.executors)
    preparing = preparer_placements(scheduler.queue.cases)
    share, rest = default_memory_limit_mb(len(places)), default_memory_limit_mb(1 + len(preparing))
    with ExitStack() as stack:
        made = partial(_process_executors, stack, options, scheduler.job, scheduler.reporter)
        players, preparers = made(places, True, share), made(preparing, False, rest)
        if requested(options.workers) is not None:
            yield Executors(players, preparers, planned=len(players))
            return
        playing = players[:1]
        further = FurtherPlayers(playing, players[1:], lambda: scheduler.queue.waiting)
        yield Executors(playing, preparers, more=further, planned=len(players))


class FurtherPlayers:
    """Players that join a run once its first one has played for as long as it took to start, and work is waiting.

    So a run costs at most about twice what the better choice would, and nobody need know how long sessions take: a
    small run of an instant model ends before, and a network has hardly begun.
    """

    def __init__(
        self, playing: list[ProcessExecutor], others: Sequence[ProcessExecutor], waiting: Callable[[], bool]
    ) -> None:
        self._playing, self._others, self._waiting = playing, others, waiting

    def __call__(self) -> Sequence[ProcessExecutor]:
        """Those that join `playing` now: all or none."""
        if not (self._playing[0].worker.outworked_its_start and self._waiting()):
            return ()
        found, self._others = self._others, ()
        self._playing += found
        return found


def _shared_by(job: Job, options: Options) -> str:
    """Which models share this process with code of others that may change what they compute; empty if none do."""
    if len(job.runners) < 2 or job.ships:
        return ""
    instead = "write the classes of your objects to files" if options.objects else "give --workers 1 or more"
    return (
        f"{several(len(job.runners), 'model')} share this process with code that is not part of IntraBench, which "
        f"could change what they compute; to keep models apart, {instead}"
    )


@contextmanager
def make_preparers(options: Options, job: Job, cases: int, reporter: Reporter) -> Iterator[Executors]:
    """The executors that prepare so many cases, where nothing is played; they are closed at the end."""
    if plays_in_process(options):
        yield Executors([], [InProcessExecutor(job, reporter)], here=True)
        return
    places = worker_placements(options.workers, (), cases)
    share = default_memory_limit_mb(len(places))
    with ExitStack() as stack:
        yield Executors([], _process_executors(stack, options, job, reporter, places, False, share, "--jobs"))


def _process_executors(
    stack: ExitStack,
    options: Options,
    job: Job,
    reporter: Reporter,
    places: Placements,
    plays: bool,
    memory_mb: float,
    option: str = "--workers",
) -> list[ProcessExecutor]:
    made = []
    for name, environment in places.items():
        process = WorkerProcess(name, options, reporter, environment, options.timeout, plays, memory_mb, option)
        stack.callback(process.close)
        made.append(ProcessExecutor(job, process))
    return made
