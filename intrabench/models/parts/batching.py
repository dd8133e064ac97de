"""Batches: what is computed together, what each item's share of the time is, and what happens when memory runs out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from intrabench.models.base import failure_of

Item = TypeVar("Item")
Result = TypeVar("Result")
Call = Callable[[Sequence[Item]], Sequence[Result]]


@dataclass(frozen=True, eq=False)
class Outcome(Generic[Result]):
    """What came of one item: its result or why there is none, its share of the wall time, the size of its batch."""

    result: Result | Exception
    seconds: float
    batch: int


def batched(call: Call[Item, Result], items: Sequence[Item], size: int, pad: bool) -> Iterator[Outcome[Result]]:
    """One outcome for each item, in order, from batches of at most `size`, padded to it by their last item if `pad`."""
    for first in range(0, len(items), size):
        yield from _run(call, items[first : first + size], size if pad else 0)


def _run(call: Call[Item, Result], items: Sequence[Item], pad_to: int) -> list[Outcome[Result]]:
    """Call with one batch. If memory runs out, halve it; if it raises, try each item alone: only the bad ones fail."""
    padded = [*items, *[items[-1]] * (pad_to - len(items))]
    started = time.perf_counter()
    try:
        results = call(padded)
    except Exception as error:  # whatever a network or a bad prompt raises becomes a failed row
        failure = error.with_traceback(None)  # whose frames would keep the batch's memory while smaller ones are tried
    else:
        share = (time.perf_counter() - started) / len(items)
        return [Outcome(result, share, len(padded)) for result in results[: len(items)]]
    exhausted = failure_of(failure, started).status == "oom"
    if exhausted and len(padded) > 1:
        release_memory()
        half = len(padded) // 2
        return list(batched(call, items, half, pad_to > 0))
    if len(items) == 1:
        return [Outcome(failure, time.perf_counter() - started, len(padded))]
    return [outcome for item in items for outcome in _run(call, [item], pad_to)]


def release_memory() -> None:
    """Hand cached device memory back, so that a smaller batch finds room."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def room_for(bytes_per_item: int, device: str, most: int) -> int:
    """How many items fit into half of the device's free memory: at least one, at most `most`."""
    import torch

    if device != "cuda":
        return most
    free, _ = torch.cuda.mem_get_info()
    return max(1, min(most, free // (2 * bytes_per_item)))
