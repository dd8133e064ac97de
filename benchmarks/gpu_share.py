"""The share of a network in the wall time of playing: what prompting, scoring and bookkeeping leave of a GPU's time.

A GPU computes while the processor does something else, so a slice model stands for it that sleeps 11 ms to encode a
slice and 4 ms to decode 8, more for larger batches. Batches are those of a GPU, padding included, and each answer has
logits of 256x256 that are fed back. It fills boxes, and squares around points. The phantom has 128x256x256
voxels of 1.5x0.8x0.8 mm and 12 blobs. Timed: prompting, the model, scoring, storing rows and turns, until all is
stored. Not timed: loading the scan and its targets, imports. The network's share is its calls times what they should
sleep, so time in which they wait for a processor does not count for it.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.comparison import MINIATURE
from intrabench.datasets.phantom import Phantom
from intrabench.engine.job import Job
from intrabench.engine.plan import Plan, prepare
from intrabench.engine.player import Player
from intrabench.engine.progress.reporter import Silent
from intrabench.engine.session_spec import ModelRunner
from intrabench.engine.writer import ResultWriter
from intrabench.metrics.lookup import of_protocol
from intrabench.models.base import Runtime
from intrabench.models.parts.slice_model import SliceItem, SliceModel, SliceResult
from intrabench.prompters.combined import make_prompter
from intrabench.protocols import protocol
from intrabench.results.store import Store
from intrabench.volume import Volume

ENCODE_S, DECODE_S, AT_ONCE = 0.011, 0.004, 8
"""Seconds to encode a slice, and to decode up to so many; a larger batch takes longer in proportion."""
LOGITS = np.random.default_rng(0).normal(0, 8, (256, 256)).astype(np.float32)
PHANTOM = Phantom((24, 48, 48) if MINIATURE else (128, 256, 256), (1.5, 0.8, 0.8), instances=2 if MINIATURE else 12)
PROMPTERS = {
    "five static prompters": ("box_slice", "box_interp:n=3", "box_volume", "point_interp:n=3", "center_slice"),
    "scribbles": ("box_interp:n=3+scribble", "point_interp:n=5+scribble"),
}
ROUNDS = 1 if MINIATURE else 5
RUNS = 1 if MINIATURE else 3
FIRST, LATER = 12, 4
"""How many pixels a point reaches: the first one of a slice, and those that correct it."""


@dataclass(eq=False)
class Sleeping(SliceModel):
    """Sleeps as long as a network computes, and then fills boxes and squares."""

    name = "sleeping"
    accepts = frozenset({"point", "box2d"})
    slept_s: float = field(default=0.0, init=False)

    def slice_images(self, volume: Volume) -> Callable[[int], NDArray[Any]]:
        """The slices as they are."""
        return lambda z: volume.array[z]

    def encode(self, images: Sequence[NDArray[Any]]) -> list[NDArray[np.float32]]:
        """Nothing worth keeping."""
        self._sleep(ENCODE_S * len(images))
        return [np.zeros(1, np.float32) for _ in images]

    def decode(self, items: Sequence[SliceItem]) -> list[SliceResult]:
        """One mask per item, with logits."""
        self._sleep(DECODE_S * max(1, len(items) / AT_ONCE))
        return [SliceResult(drawn(item), LOGITS.copy()) for item in items]

    def _sleep(self, seconds: float) -> None:
        time.sleep(seconds)
        self.slept_s += seconds


def drawn(item: SliceItem) -> NDArray[np.bool_]:
    """The box, with the squares around positive points and without those around negative ones, oldest first."""
    mask = np.zeros(item.shape, bool)
    if item.box is not None:
        y0, x0, y1, x1 = item.box
        mask[y0:y1, x0:x1] = True
    for number, (y, x, label) in enumerate(item.points.tolist()):
        reach = FIRST if number == 0 and item.box is None else LATER
        mask[max(0, y - reach) : y + reach + 1, max(0, x - reach) : x + reach + 1] = label
    return mask


def share(prompters: Sequence[str], preset: str, folder: Path, waits: bool = False) -> tuple[float, float]:
    """Wall time of playing all sessions of the phantom, and the share of it in which the network computes.

    waits: it waits for all scores of a round before it is asked again.
    """
    model, rule = Sleeping(), protocol(preset)
    model.runtime = Runtime(device="cuda")
    made = tuple(map(make_prompter, prompters))
    job = Job((ModelRunner(model),), made, (PHANTOM,), (0,), rule, ROUNDS, metrics=of_protocol(rule.metrics))
    (case,) = PHANTOM.cases()
    (task,) = Plan(job).tasks(PHANTOM, case, prepare(PHANTOM, case, Silent()))
    player, writer = Player(job, print), ResultWriter(Store(folder, "bench"), Silent())
    if waits:
        player._scorer = None  # type: ignore[assignment]
    assert player._opened(task).volume.shape == PHANTOM.shape  # read before the clock runs
    started = time.perf_counter()
    player.play(task, task.specs, writer.take)
    taken = time.perf_counter() - started
    return taken, model.slept_s / taken


def main() -> None:
    """Print shares, of runs that take turns."""
    with tempfile.TemporaryDirectory() as place:
        os.environ["INTRABENCH_DATA"] = place + "/data"
        for what, prompters in PROMPTERS.items():
            ways = (("basic@1", True), ("basic@1", False), ("overlap@1", False))
            found: dict[tuple[str, bool], list[tuple[float, float]]] = {way: [] for way in ways}
            for run in range(RUNS):
                for preset, waits in ways:
                    out = Path(place, what, preset, f"{run}{waits}")
                    found[preset, waits].append(share(prompters, preset, out, waits))
            for (preset, waits), taken in found.items():
                wall, parts = statistics.median(wall for wall, _ in taken), sorted(part for _, part in taken)
                told = f"{what}, {preset}{', if it waits for scores' if waits else ''}: {wall:.2f} s, "
                told += f"of which the network takes {statistics.median(parts):.2f}"
                print(f"{told} ({parts[0]:.2f} to {parts[-1]:.2f})", flush=True)


if __name__ == "__main__":
    main()
