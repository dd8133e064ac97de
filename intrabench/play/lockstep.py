"""Play sessions in lockstep against one opened image: one `segment` call per step for all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import nullcontext, suppress
from dataclasses import is_dataclass
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from intrabench import progress
from intrabench.errors import WrongType, foreign, several
from intrabench.models.base import Answer, Failure, JointRequest, Predictor, Request, checked, failure_of
from intrabench.play.divided import Divided
from intrabench.play.joint import Joint
from intrabench.play.scorer import Scorer
from intrabench.play.session import Session
from intrabench.specs.values import expect_count

T = TypeVar("T")
BATCH_SECONDS = 30.0
LARGEST_BATCH = 64
LAST_BATCH = 8
"""The scores of the last batch are measured while nobody is answered, so it has at most so many sessions."""
GROWTH = 3.0


def play(sessions: Sequence[Session | Joint | Divided], image: Predictor, scorer: Scorer | None = None) -> int:
    """Begin all sessions and play them to their ends; returns how many bytes the model remembered of all at most.

    scorer: measures while the model answers. If there is no code of the user's own in the sessions, they are played as
    two groups: while the model answers one, the users of the other take their answers and give their next prompts. A
    model with costly calls is asked once for all.
    """
    # Two groups keep the model busy: it answers one while the other thread takes the answers of the other, scores them
    # and asks its users. Code of users is never in that thread, for it may change what the model computes with. And a
    # model that costs much per call would be asked twice as often.
    every = groups = [_Group(sessions)]
    if scorer and not image.costly_calls and len(sessions) > 1 and all(session.ours for session in sessions):
        half = len(sessions) // 2
        every = groups = [_Group(sessions[:half]), _Group(sessions[half:])]
    try:
        groups[0].begin()
        for other in groups[1:]:
            assert scorer is not None
            other.busy = [scorer.aside(other.begin)]
        while groups:
            progress.proceed(_progress([session for group in groups for session in group.sessions]))
            groups = [group for group in groups if group.answer_next(image, scorer, aside=len(groups) > 1)]
    finally:
        for group in groups:
            wait(group.busy)
    return sum(group.remembered for group in every)


def _progress(sessions: Sequence[Session | Joint | Divided]) -> str:
    """How many are played, and the round of those that are the farthest behind; numbered as in rows, from 0."""
    rounds = max((session.rounds for session in sessions), default=0)
    behind = min((session.round for session in sessions if not session.ended), default=rounds)
    return f"playing {several(len(sessions), 'session')}" + (f", round {behind} of {rounds}" if rounds else "")


class _Group:
    """Sessions whose requests the model answers in one call.

    busy: with their turns, in another thread. remembered: bytes of the memories that the model left, at most.
    """

    def __init__(self, sessions: Sequence[Session | Joint | Divided]) -> None:
        self.sessions, self.busy, self.remembered = sessions, list[Future[None]](), 0

    def begin(self) -> None:
        """Have the first turns given."""
        for session in self.sessions:
            session.begin()

    def answer_next(self, image: Predictor, scorer: Scorer | None, aside: bool) -> bool:
        """Have the next requests answered; whether there were any."""
        while self.busy:
            self.busy[0].result()
            self.busy.clear()
        waiting = [(session, requests) for session in self.sessions if (requests := session.requests)]
        if waiting:
            with scorer.meanwhile() if scorer else nullcontext():
                answers = ask(image, [request for _, requests in waiting for request in requests])
            told = [*(request for _, requests in waiting for request in requests), *answers]
            self.remembered = max(self.remembered, _remembered(told))
            if scorer and aside:
                self.busy = [scorer.aside(partial(_receive, waiting, answers))]
            else:
                _receive(waiting, answers)
        return bool(waiting)


DEEP, LONG = 4, 10_000
"""So far it is looked for arrays in what a model remembers, which may be anything: so many levels, so many items."""
_PLAIN = frozenset({bool, int, float, str, type(None)})
"""They have no arrays; what is remembered of boxes and rounds is mostly these."""


def _bytes_of(memory: Any, seen: set[int], depth: int = 0) -> int:
    """The bytes of the arrays and tensors in what a model remembers; what it hides in objects of its own is unknown.

    seen: the ids of those that count already.
    """
    parts: Iterable[Any] = ()
    if depth < DEEP and is_dataclass(memory) and not isinstance(memory, type):
        parts = vars(memory).values() if hasattr(memory, "__dict__") else ()
    elif depth < DEEP and isinstance(memory, dict):
        parts = memory.values()
    elif depth < DEEP and isinstance(memory, list | tuple):
        parts = memory
    elif hasattr(memory, "nbytes") and isinstance(memory.nbytes, int):
        fresh = id(memory) not in seen
        seen.add(id(memory))
        return memory.nbytes if fresh else 0
    return sum(_bytes_of(part, seen, depth + 1) for part in islice(parts, LONG) if type(part) not in _PLAIN)


def _remembered(parts: Sequence[Any]) -> int:
    """The bytes that a model remembers in these requests and answers; 0 if its own objects refuse to be looked at."""
    seen = set[int]()
    with suppress(Exception):
        return sum(_bytes_of(getattr(part, "memory", None), seen) for part in parts)
    return 0


def _receive(waiting: Sequence[tuple[Session | Joint | Divided, Sequence[Any]]], answers: Sequence[Any]) -> None:
    left = iter(answers)
    for session, requests in waiting:
        session.receive(*islice(left, len(requests)))


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
            wanted = "a list with one Answer or Failure for each request"
            expect_count(len(requests), answers, f"{method} returned", wanted)
            found = list(answers)
    except Exception as error:  # failures of a model become rows with a status
        failure = failure_of(error, started)
        return [failure for _ in requests]
    return found if jointly else [_checked(answer, method, started) for answer in found]


def _checked(answer: Answer | Failure, method: str, started: float) -> Answer | Failure:
    try:
        return answer if isinstance(answer, Failure) else checked(answer, method)
    except WrongType as error:
        return failure_of(error, started)


def batches(
    items: Sequence[T],
    costs: Sequence[float],
    clock: Callable[[], float] = time.perf_counter,
    fullness: Callable[[], float] = lambda: 0.0,
    last: int = LAST_BATCH,
) -> Iterator[Sequence[T]]:
    """Split items, in order, into batches of about half a minute each, estimated from the time of earlier batches.

    `costs` are the relative costs of the items (slices of the target). fullness: how much of the memory for sessions
    the last batch took, 1 is all. Batches limit that memory and the work that a killed run loses, so they grow slowly.
    The first is a single item, because it may have slices to encode. last: if no more items are left, they are one
    batch; before that, a batch is at most half of what is left.
    """
    position, rate, filled, costliest = 0, 0.0, 0.0, 0.0
    while position < len(items):
        allowed = min(BATCH_SECONDS / rate, GROWTH * costliest) if rate else 0.0
        allowed = min(allowed, 1 / filled) if filled else allowed
        stop, cost = position + 1, costs[position]
        left = len(items) - position
        most = min(LARGEST_BATCH, left, max(left // 2, last))
        while stop < position + most and cost + costs[stop] <= allowed:
            cost += costs[stop]
            stop += 1
        started = clock()
        yield items[position:stop]
        # a cheap batch says little about the next, so estimates decrease at most by half
        rate = max((clock() - started) / max(cost, 1.0), rate / 2, 1e-9)
        filled = max(fullness() / max(cost, 1.0), filled / 2)
        position, costliest = stop, max(costliest, cost)
