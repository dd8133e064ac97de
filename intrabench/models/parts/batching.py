"""Batches: items computed together, each item's share of the time, and smaller batches if memory runs out."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from intrabench.errors import foreign
from intrabench.models.base import failure_of

Item = TypeVar("Item")
Result = TypeVar("Result")
Call = Callable[[Sequence[Item]], Sequence[Result]]


@dataclass(frozen=True, eq=False)
class Outcome(Generic[Result]):
    """The outcome of one item: its result or failure, its share of the wall time, and the size of its batch."""

    result: Result | Exception
    seconds: float
    batch: int


def batched(call: Call[Item, Result], items: Sequence[Item], size: int, pad: bool) -> Iterator[Outcome[Result]]:
    """One outcome for each item, in order, from batches of at most `size`, padded to it by their last item if `pad`."""
    for first in range(0, len(items), size):
        yield from _run(call, items[first : first + size], size if pad else 0)


def portions(count: int, sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """So many items divided into batches of these sizes, which ascend: pairs of a size and how many items it gets.

    A batch is filled to seven eighths at least, but for the last one, of the smallest size.
    """
    for size in reversed(sizes[1:]):
        while 8 * count >= 7 * size:
            yield size, min(count, size)
            count -= min(count, size)
    if count:
        yield sizes[0], count


def _run(call: Call[Item, Result], items: Sequence[Item], pad_to: int) -> list[Outcome[Result]]:
    """Compute one batch. If memory runs out, halve it; if it raises, try each item alone, so only bad ones fail."""
    padded = [*items, *[items[-1]] * (pad_to - len(items))]
    started = time.perf_counter()
    try:
        with foreign():
            results = call(padded)
    except Exception as error:  # exceptions of networks and bad prompts become failed rows
        failure = error.with_traceback(None)  # its frames would keep the batch's memory
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
    """Release cached device memory, so that a smaller batch or another model fits."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()


def room_for(bytes_per_item: int, device: str, most: int) -> int:
    """The number of items that fit into half of the device's free memory: at least one, at most `most`."""
    import torch

    if device != "cuda":
        return most
    free, _ = torch.cuda.mem_get_info()
    return max(1, min(most, free // (2 * bytes_per_item)))
