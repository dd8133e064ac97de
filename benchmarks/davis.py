"""The robot, J and F, and joint sessions: against davisinteractive itself, and against single sessions."""

from __future__ import annotations

import itertools
import math
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from benchmarks.comparison import MINIATURE, compare, cpu
from benchmarks.overhead import played
from benchmarks.painter import SPACING, Painter
from benchmarks.peers import DAVIS
from intrabench.datasets.base import Dataset, DatasetCard, Files
from intrabench.davis.metrics import batched
from intrabench.davis.robot import ScribbleRobot
from intrabench.protocols import protocol
from intrabench.protocols.joint import JointRules
from intrabench.target import Target, targets_of
from intrabench.volume import Volume

FRAME = (480, 854)
FRAMES = 4 if MINIATURE else 100
TIMES = 1 if MINIATURE else 3


def blobs(frames: int, objects: int, seed: int) -> NDArray[np.int64]:
    """Smooth objects that touch each other, as labels ``(frame, y, x)``."""
    rng = np.random.default_rng(seed)
    fields = ndimage.zoom(rng.standard_normal((objects, frames // 10 + 2, 9, 14)), (1, 10, 60, 66), order=1)
    fields = fields[:, :frames, : FRAME[0], : FRAME[1]]
    return np.asarray(np.where(fields.max(axis=0) > 0.7, fields.argmax(axis=0) + 1, 0))


@dataclass(frozen=True)
class Eight(Dataset):
    """Eight ellipsoids beside each other."""

    name = "eight"
    version = "1"
    card = DatasetCard("Eight ellipsoids", "synthetic")

    def cases(self) -> tuple[str, ...]:
        """One."""
        return ("eight",)

    def load(self, case: str, files: Files) -> tuple[Volume, Sequence[Target]]:
        """Noise and labels."""
        labels = np.zeros((96, 256, 256), np.uint8)
        z, y, x = np.ogrid[:96, :256, :256]
        for number, (row, column) in enumerate(itertools.product((64, 192), (32, 96, 160, 224)), start=1):
            far = ((z - 48) / 30) ** 2 + ((y - row) / 40) ** 2 + ((x - column) / 30) ** 2
            labels[far <= 1] = number
        noise = np.random.default_rng(0).integers(-1000, 1000, labels.shape, dtype=np.int16)
        volume = Volume.from_canonical(noise, SPACING)
        names = {value: ("blob", value) for value in range(1, 9)}
        return volume, targets_of(labels, names, case, volume.spacing_mm)


def sessions(folder: Path, prompter: str, joint: JointRules | None) -> float:
    """Seconds for eight targets in five rounds, each alone or all together; the model is asked as often."""
    rules = protocol("basic@1")
    return played(Eight(), prompter, folder / str(time.perf_counter_ns()), Painter(), 4, replace(rules, joint=joint))


def turns(runs: dict[str, Callable[[], Any]]) -> tuple[dict[str, float], dict[str, Any]]:
    """The fastest seconds of each run, all taking turns, and what they gave."""
    best, given = dict.fromkeys(runs, math.inf), dict.fromkeys(runs)
    for _, (name, run) in itertools.product(range(TIMES), runs.items()):
        start = time.perf_counter()
        given[name] = run()
        best[name] = min(best[name], time.perf_counter() - start)
    return best, given


def _robots(peer: Any, truth: NDArray[np.int64], answer: NDArray[np.int64]) -> None:
    """The strokes into all errors of two frames."""
    robot, frames = ScribbleRobot(), (0, FRAMES // 2)
    errors = [[(truth[frame] == one) & (answer[frame] != one) for one in (0, 1, 2, 3)] for frame in frames]

    def theirs() -> list[Any]:
        given = ((one[frame, None] for one in (answer, truth)) for frame in frames)
        return [peer.interact("bench", *both, 3, 0)["scribbles"][0] for both in given]

    def ours() -> list[Any]:
        return [strokes for some in errors for strokes in robot.strokes_in(some)]

    compare(f"robot, an error in {FRAME[0]}x{FRAME[1]}", str(DAVIS), cpu(theirs), cpu(ours), targets=4 * len(frames))
    print(f"  strokes: {sum(map(len, theirs()))} of the peer, {sum(map(len, ours()))} of ours")


def _scores(peer: Any, truth: NDArray[np.int64], answer: NDArray[np.int64]) -> None:
    """J and F of all frames and objects."""

    def theirs() -> list[Any]:
        return [score(truth, answer, False, 3) for score in (peer.batched_jaccard, peer.batched_f_measure)]

    work = f"J and F of a frame of {FRAME[0]}x{FRAME[1]} with 3 objects, of {FRAMES}"
    compare(work, str(DAVIS), cpu(theirs), cpu(lambda: batched(truth, answer, 3)), targets=FRAMES)
    off = max(float(np.abs(a - b).max()) for a, b in zip(theirs(), batched(truth, answer, 3), strict=True))
    print(f"  largest difference of J and F: {off:.1e}")


def main() -> None:
    """Print milliseconds and ratios."""
    truth = blobs(FRAMES, 3, 1)
    answer = np.roll(truth, (9, 14), axis=(1, 2))
    if found := DAVIS.found("robot", "metrics"):
        _robots(found[0].InteractiveScribblesRobot(kernel_size=0.2), truth, answer)  # as its service has it
        _scores(found[1], truth, answer)
    with tempfile.TemporaryDirectory() as folder:
        for prompter in ("box_interp:n=3+scribble", "point_interp:n=3+davis_slices"):
            best, _ = turns(
                {
                    "alone": partial(sessions, Path(folder), prompter, None),
                    "together": partial(sessions, Path(folder), prompter, JointRules()),
                    "told": partial(sessions, Path(folder), prompter, JointRules("negative", "first")),
                }
            )
            told = ", ".join(f"{name} {1e3 * seconds:.0f} ms" for name, seconds in best.items())
            print(f"eight targets, {prompter}, five rounds: {told}")
            more = {name: best[name] / best["alone"] for name in ("together", "told")}
            print(f"  together {more['together']:.2f} times as long, told of each other {more['told']:.2f} times")


if __name__ == "__main__":
    main()
