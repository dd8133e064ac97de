"""Play sessions in lockstep against one opened image: one `segment` call per step for all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from intrabench.models.base import OpenImage, failure_of
from intrabench.session import Session

T = TypeVar("T")


def play(sessions: Sequence[Session], image: OpenImage) -> None:
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
FIRST_WAVE, LARGEST_WAVE = 1, 64


def waves(items: Sequence[T], clock: Callable[[], float] = time.perf_counter) -> Iterator[Sequence[T]]:
    """Cut items, in order, into waves of about half a minute each, learning from the time that the last one took.

    Waves bound memory (the sessions alive at once) and what a killed run loses. The first is a single item: it may have
    slices to encode.
    """
    size, position = FIRST_WAVE, 0
    while position < len(items):
        started = clock()
        yield items[position : position + size]
        position += size
        per_item = max((clock() - started) / size, 1e-6)
        size = int(min(max(WAVE_SECONDS / per_item, 1), 4 * size, LARGEST_WAVE))
