"""Play sessions in lockstep against one opened image: one `segment` call per step for all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from intrabench.models.base import Predictor, failure_of
from intrabench.play.session import Session

T = TypeVar("T")


def play(sessions: Sequence[Session], image: Predictor) -> None:
    """Play all sessions to their ends. A model that raises fails the sessions of that step, not the run."""
    while waiting := [session for session in sessions if session.request is not None]:
        requests = [session.request for session in waiting if session.request is not None]
        started = time.perf_counter()
        try:
            answers = image.segment(requests)
            if len(answers) != len(requests):
                raise RuntimeError(f"the model gave {len(answers)} answers to {len(requests)} requests")
        except Exception as error:  # a broken model is a row with a status
            failure = failure_of(error, started)
            answers = [failure for _ in requests]
        for session, answer in zip(waiting, answers, strict=True):
            session.receive(answer)


WAVE_SECONDS = 30.0
LARGEST_WAVE = 64
GROWTH = 3.0


def waves(
    items: Sequence[T], costs: Sequence[float], clock: Callable[[], float] = time.perf_counter
) -> Iterator[Sequence[T]]:
    """Cut items, in order, into waves of about half a minute each, learning from the time that earlier ones took.

    `costs` say how the items compare (slices of the target). Waves bound memory (the sessions alive at once)
    and what a killed run loses, so they grow slowly, and the first is a single item: it may have slices to encode.
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
        # a cheap wave says little about the next: slow ones are forgotten only by halves
        rate = max((clock() - started) / max(cost, 1.0), rate / 2, 1e-9)
        position, costliest = stop, max(costliest, cost)
