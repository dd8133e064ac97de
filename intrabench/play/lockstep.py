"""Play sessions in lockstep against one opened image: one `segment` call per step for all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

from intrabench.errors import WrongType, foreign, kind
from intrabench.models.base import Answer, Failure, JointRequest, Predictor, Request, checked, failure_of
from intrabench.play.joint import Joint
from intrabench.play.session import Session

T = TypeVar("T")


def play(sessions: Sequence[Session | Joint], image: Predictor) -> None:
    """Play all sessions to their ends."""
    while waiting := [(session, requests) for session in sessions if (requests := session.requests)]:
        answers = iter(ask(image, [request for _, requests in waiting for request in requests]))
        for session, requests in waiting:
            session.receive(*islice(answers, len(requests)))


def ask(image: Predictor, requests: Sequence[Request | JointRequest]) -> list[Any]:
    """One answer for each request, of the right types. A model that raises fails these requests, not the run.

    All requests are of the same kind, and so are the answers, but for failures.
    """
    started, jointly = time.perf_counter(), isinstance(requests[0], JointRequest)
    segment: Any = image.segment_jointly if jointly else image.segment
    method = f"{type(image).__name__}.{segment.__name__}"
    try:
        with foreign():
            answers = segment(tuple(requests))  # a list could be sorted or emptied
            found = list(answers) if isinstance(answers, Sequence) else None
        if found is None or len(found) != len(requests):
            got = kind(answers) if found is None else f"{kind(answers)} of {len(found)}"
            raise WrongType(f"{method} returned {got}, expected a list with one Answer or Failure for each request")
    except Exception as error:  # failures of a model become rows with a status
        failure = failure_of(error, started)
        return [failure for _ in requests]
    return found if jointly else [_checked(answer, method, started) for answer in found]


def _checked(answer: Answer | Failure, method: str, started: float) -> Answer | Failure:
    try:
        return answer if isinstance(answer, Failure) else checked(answer, method)
    except WrongType as error:
        return failure_of(error, started)


WAVE_SECONDS = 30.0
LARGEST_WAVE = 64
GROWTH = 3.0


def waves(
    items: Sequence[T], costs: Sequence[float], clock: Callable[[], float] = time.perf_counter
) -> Iterator[Sequence[T]]:
    """Split items, in order, into waves of about half a minute each, estimated from the time of earlier waves.

    `costs` are the relative costs of the items (slices of the target). Waves limit the memory (of the sessions alive at
    once) and the work that a killed run loses, so they grow slowly. The first is a single item, because it may have
    slices to encode.
    """
    position, rate, costliest = 0, 0.0, 0.0
    while position < len(items):
        allowed = min(WAVE_SECONDS / rate, GROWTH * costliest) if rate else 0.0
        stop, cost = position + 1, costs[position]
        while stop < min(len(items), position + LARGEST_WAVE) and cost + costs[stop] <= allowed:
            cost += costs[stop]
            stop += 1
        started = clock()
        yield items[position:stop]
        # a cheap wave says little about the next, so estimates decrease at most by half
        rate = max((clock() - started) / max(cost, 1.0), rate / 2, 1e-9)
        position, costliest = stop, max(costliest, cost)
