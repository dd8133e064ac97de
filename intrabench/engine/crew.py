"""Who does the work of a run: this process, or as many workers as were asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from intrabench.engine.hand import Hands, Here
from intrabench.engine.options import Options
from intrabench.engine.work import Work
from intrabench.engine.workers.places import Place, asked, default_memory_limit_mb, preparers, workers
from intrabench.engine.workers.supervisor import Supervisor
from intrabench.engine.workers.watched import Watched


def plays_here(options: Options) -> bool:
    """Whether a run plays in this process: if it was asked to, and with objects, which cannot leave it."""
    return not options.dask and (asked(options.workers) == 0 or bool(options.objects))


@contextmanager
def crew(options: Options, work: Work) -> Iterator[Hands]:
    """The hands for a work, which are closed at the end."""
    if plays_here(options):
        here = Here(work.job, work.reporter)
        yield Hands([here], [here], here=True)
        return
    if options.dask:
        from intrabench.engine.fleet.hands import fleet

        with fleet(options, work) as hands:
            yield hands
        return
    cases = work.agenda.cases
    places = workers(options.workers, work.job.runners, work.hands)
    preparing = preparers(cases)
    with ExitStack() as stack:

        def hand(place: Place, plays: bool, memory_mb: float) -> Supervisor:
            name, environment, patience = place.name, place.environment, options.timeout
            watched = Watched(name, options, work.reporter, environment, patience, plays, memory_mb)
            stack.callback(watched.close)
            return Supervisor(work.job, watched)

        share, rest = default_memory_limit_mb(len(places)), default_memory_limit_mb(1 + len(preparing))
        yield Hands([hand(one, True, share) for one in places], [hand(one, False, rest) for one in preparing])
