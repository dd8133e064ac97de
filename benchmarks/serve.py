"""What a round costs more through `intrabench serve` and its client, on a CT of 300 x 512 x 512, on this machine.

Run with `python -m benchmarks serve`. A model answers at once with what the last box fills, here and behind a server in
a process of its own, in turn; the difference is that of the wire. The image is uploaded before, once, which is timed by
itself. Three sizes of targets: of a lesion, of a kidney, of a liver.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from typing import Any

import numpy as np

from benchmarks.comparison import MINIATURE
from intrabench.mask import Mask
from intrabench.models.base import Answer, Predictor, Request
from intrabench.prompts import box3d
from intrabench.registry import registry
from intrabench.turns import Click, Turn
from intrabench.volume import Volume

SHAPE, ROUNDS = ((64, 96, 96), 2) if MINIATURE else ((300, 512, 512), 15)
SIZES = (
    {"lesion": (10, 30, 30)}
    if MINIATURE
    else {"lesion": (10, 30, 30), "kidney": (60, 90, 90), "liver": (150, 300, 300)}
)
LIMIT_S = 0.060


def main() -> None:
    """Measure and print."""
    command = [sys.executable, "-m", "intrabench", "serve", "box_fill", "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert server.stdout is not None
        address = server.stdout.readline().split(" at ")[1].strip()
        _measure(address)
    finally:
        server.terminate()
        server.wait(20)


def _measure(address: str) -> None:
    noise = np.random.default_rng(0).normal(-200, 300, SHAPE).astype(np.int16)
    volume = Volume.from_canonical(noise, (1.0, 0.8, 0.8))
    here, there = registry.make("models", "box_fill"), registry.make("models", f"nninteractive_server:url={address}")
    there.load()
    started = time.perf_counter()
    with there.open(volume) as far, here.open(volume) as near:
        print(f"  upload of an image of noise, once: {time.perf_counter() - started:.2f} s")
        for name, size in SIZES.items():
            times: dict[str, list[float]] = {"here": [], "served": []}
            sessions = {"here": _Rounds(near, name, size), "served": _Rounds(far, name, size)}
            for _ in range(ROUNDS + 1):
                for where, session in sessions.items():
                    times[where].append(session.next())
            assert np.array_equal(sessions["here"].mask.array, sessions["served"].mask.array)
            more = [b - a for a, b in zip(times["here"], times["served"], strict=True)]
            median, worst = statistics.median(more[1:]), max(more[1:])
            print(
                f"  {name} ({'x'.join(map(str, size))}): first round {1000 * more[0]:.1f} ms more, then "
                f"{1000 * median:.1f} ms more (at most {1000 * worst:.1f}); limit {1000 * LIMIT_S:.0f} ms"
            )


class _Rounds:
    """A session whose box moves a little in each round."""

    def __init__(self, image: Predictor, name: str, size: tuple[int, int, int]) -> None:
        self._image, self._name, self._size = image, name, size
        self._turns, self._memory = tuple[Turn, ...](), None
        self.mask = Mask.empty()

    def next(self) -> float:
        """Seconds of the next round, with what a run does with the answer."""
        first = [20 + 2 * len(self._turns)] * 3
        box: Any = (*first, *(low + size for low, size in zip(first, self._size, strict=True)))
        started = time.perf_counter()
        self._turns = (*self._turns, Turn(box3d(box), (Click(),)))
        (answer,) = self._image.segment([Request(self._name, self._turns, self.mask.copy(), self._memory)])
        assert isinstance(answer, Answer), answer
        self.mask, self._memory = self.mask.overwrite(answer.update, answer.valid), answer.memory
        return time.perf_counter() - started


if __name__ == "__main__":
    main()
