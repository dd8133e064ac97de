"""Who does the work of a run: this process, or as many workers as were asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

from intrabench.engine.executors.executor import Hands, Here
from intrabench.engine.executors.placement import Place, asked, default_memory_limit_mb, preparers, workers
from intrabench.engine.executors.process import Supervisor
from intrabench.engine.executors.worker_process import Watched
from intrabench.engine.job import Job
from intrabench.engine.options import Options
from intrabench.engine.progress.reporter import Reporter
from intrabench.engine.scheduler import Work
from intrabench.errors import several


def plays_here(options: Options) -> bool:
    """Whether a run plays in this process: if it was asked to, and with objects, which cannot leave it."""
    return not options.dask and (asked(options.workers) == 0 or bool(options.objects))


@contextmanager
def crew(options: Options, work: Work) -> Iterator[Hands]:
    """The hands for a work, which are closed at the end."""
    if plays_here(options):
        here = Here(work.job, work.reporter, _shared_by(work.job, options))
        yield Hands([here], [here], here=True)
        return
    if options.dask:
        from intrabench.engine.executors.dask.executor import fleet

        with fleet(options, work) as hands:
            yield hands
        return
    places = workers(options.workers, work.job.runners, work.hands)
    preparing = preparers(work.agenda.cases)
    share, rest = default_memory_limit_mb(len(places)), default_memory_limit_mb(1 + len(preparing))
    with ExitStack() as stack:
        hand = partial(_hand, stack, options, work.job, work.reporter)
        yield Hands([hand(one, True, share) for one in places], [hand(one, False, rest) for one in preparing])


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
def preparing(options: Options, job: Job, cases: int, reporter: Reporter) -> Iterator[Hands]:
    """The hands that prepare so many cases, where nothing is played; they are closed at the end."""
    if plays_here(options):
        yield Hands([], [Here(job, reporter)], here=True)
        return
    places = workers(options.workers, (), cases)
    share = default_memory_limit_mb(len(places))
    with ExitStack() as stack:
        yield Hands([], [_hand(stack, options, job, reporter, one, False, share, "--jobs") for one in places])


def _hand(
    stack: ExitStack,
    options: Options,
    job: Job,
    reporter: Reporter,
    place: Place,
    plays: bool,
    memory_mb: float,
    option: str = "--workers",
) -> Supervisor:
    watched = Watched(place.name, options, reporter, place.environment, options.timeout, plays, memory_mb, option)
    stack.callback(watched.close)
    return Supervisor(job, watched)
