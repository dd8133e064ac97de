"""Encodes, decoder calls and seconds for 6 targets on 40 slices, with batches and one by one; the masks are compared.

Last the seconds of one slice in batches of several sizes: on a CPU, batches of more than a few slices gain nothing.

SAM-Med2D with random weights: what is measured does not depend on them.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.comparison import MINIATURE
from intrabench.models.base import Answer, Request, Runtime
from intrabench.models.parts.slice_model import SliceItem
from intrabench.models.sammed2d import SAMMed2D
from intrabench.prompts import boxes
from intrabench.turns import Turn
from intrabench.volume import Volume

SLICES, TARGETS = (2, 2) if MINIATURE else (40, 6)
SIZES = (1, 16) if MINIATURE else (1, 8, 16, 64)


def measured(batch: str) -> tuple[list[Answer], int, int, float]:
    """Answers, encodes, decoder calls, and the seconds of decoding (slices are encoded before)."""
    volume = Volume.from_canonical(np.random.default_rng(0).normal(size=(SLICES, 128, 128)).astype(np.float32))
    model = SAMMed2D()
    model.runtime = Runtime(batch=batch, random=True, memory_mb=2000)
    calls = 0

    def counted(*prompts: Any) -> Any:
        nonlocal calls
        calls += 1
        return SAMMed2D.decoded(model, *prompts)

    model.decoded = counted  # type: ignore[method-assign, assignment]
    requests = [
        Request(f"target {n}", (Turn(boxes(dict.fromkeys(range(SLICES), (9 * n + 5, 20, 9 * n + 35, 70)))),))
        for n in range(TARGETS)
    ]
    with model.open(volume) as image:
        image.segment([Request("warm", (Turn(boxes(dict.fromkeys(range(SLICES), (5, 5, 50, 60)))),))])
        calls, started = 0, time.perf_counter()
        answers = image.segment(requests)
        seconds = time.perf_counter() - started
        encoded = image.store.encoded  # type: ignore[attr-defined]
    return [answer for answer in answers if isinstance(answer, Answer)], encoded, calls, seconds


def seconds_by_size(sizes: tuple[int, ...] = SIZES, rounds: int = 1 if MINIATURE else 3) -> dict[int, float]:
    """Seconds of decoding one slice with a box in batches of these sizes, the least of some rounds."""
    model = SAMMed2D()
    model.runtime = Runtime(random=True)
    (embedding,) = model.encode([np.zeros((128, 128), dtype=np.uint8)])
    none = np.zeros((0, 3), dtype=np.int64)
    items = [SliceItem(embedding, (128, 128), none, (5, n, 50, n + 60)) for n in range(max(sizes))]
    found = dict.fromkeys(sizes, float("inf"))
    for _ in range(rounds):
        for size in sizes:
            started = time.perf_counter()
            for first in range(0, len(items), size):
                model.decode(items[first : first + size])
            found[size] = min(found[size], (time.perf_counter() - started) / len(items))
    return found


def main() -> None:
    """Print both and the ratios."""
    together, encoded, calls, seconds = measured("fixed")
    alone, _, calls_alone, seconds_alone = measured("1")
    same = [
        int((a.update.to_array((SLICES, 128, 128)) != b.update.to_array((SLICES, 128, 128))).sum())
        for a, b in zip(together, alone, strict=True)
    ]
    print(f"{TARGETS} targets on {SLICES} slices: {encoded} encodes")
    print(f"decoder calls {calls} instead of {calls_alone}: {calls_alone / calls:.1f} times fewer")
    print(f"{seconds:.2f} s instead of {seconds_alone:.2f} s: {seconds_alone / seconds:.2f} times faster")
    print(f"voxels that differ: {sum(same)} of {sum(answer.update.voxels for answer in alone)}")
    by_size = seconds_by_size()
    for size, taken in by_size.items():
        print(f"a slice in batches of {size}: {1000 * taken:.1f} ms, {taken / by_size[16]:.2f} times that of 16")


if __name__ == "__main__":
    main()
