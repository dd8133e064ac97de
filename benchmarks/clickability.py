"""Seconds for clicks as people make them: `clickability` against the published loop of RClicks, written out here.

Sessions of 20 clicks, group 3, on a picture of 1024x1024 pixels, with a made-up predictor that paints discs; in float32
and with the published draws, so that both must click on the same pixels. The loop sees whole pictures; ours gets boxed
masks, which is all that our sessions ever hold. Then one click on a ball in volumes of two sizes. All on one thread, in
CPU time, so that other work on the machine counts less; runs take turns, and medians of times and of ratios count.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from time import process_time

import numpy as np
from scipy import ndimage

from benchmarks.comparison import MINIATURE, compare
from intrabench.clickability.base import Clickability
from intrabench.mask import Bools, Floats32, Mask
from intrabench.prompters.clickability import ClickabilityClick
from intrabench.prompters.user import Clock, User
from intrabench.target import Target
from intrabench.turns import Turn
from intrabench.volume import Volume

Clicks = tuple[tuple[int, int, int], ...]
"""Rows ``y, x, label``."""

SIDE = 128 if MINIATURE else 1024
GROUP = 3
ROUNDS = 3 if MINIATURE else 20
REPETITIONS = 1 if MINIATURE else 9
SHAPES = ((128, 256, 256), (300, 512, 512))
SPACING_MM = (1.0, 0.8, 0.8)
RADIUS = 40
"""Of the error, in voxels."""


def smooth(side: int, cells: int, seed: int) -> Floats32:
    """Noise from 0 to 1 that changes over `side` / `cells` pixels."""
    noise = ndimage.zoom(np.random.default_rng(seed).random((cells, cells), np.float32), side / cells, order=3)
    return np.asarray((noise - noise.min()) / np.ptp(noise), np.float32)


def blob() -> Bools:
    """A disc with smooth bumps."""
    y, x = (np.ogrid[:SIDE, :SIDE][axis] / SIDE - 0.5 for axis in range(2))
    return np.asarray(np.hypot(y, x) + 0.15 * smooth(SIDE, 6, 0) < 0.33)


@cache
def painted(clicks: Clicks) -> Bools:
    """What the predictor of the golden data answers: a disc per click, smaller and smaller, later ones on top."""
    rows, columns = np.ogrid[:SIDE, :SIDE]
    found = np.zeros((SIDE, SIDE), bool)
    for number, (y, x, positive) in enumerate(clicks):
        size = SIDE // 6 - number // 2 if positive else SIDE // 10 - number // 3
        found[(rows - y) ** 2 + (columns - x) ** 2 <= size**2] = positive
    return found


@cache
def boxed(clicks: Clicks) -> Mask:
    """The same, as models give it."""
    return Mask.of(painted(clicks)[None])


@dataclass(frozen=True)
class Stored(Clickability):
    """A map that is there already, for the whole picture."""

    name = "stored"
    looks = True
    map: Floats32

    def probability(self, *given: object) -> Floats32:
        """The map."""
        return self.map


def published(truth: Bools, model: Floats32 | None) -> tuple[Clicks, float]:
    """The clicks of a session of the published loop and its seconds, without the predictor. None is DT."""
    import cv2

    draws = np.random.RandomState(42)
    valid, unclicked = np.ones((2, *truth.shape), bool)
    clicks: Clicks = ()
    seconds = 0.0
    for _ in range(ROUNDS):
        answer = painted(clicks)
        started = process_time()
        errors = truth & ~answer & valid, ~truth & answer & valid
        missed, excess = (
            cv2.distanceTransform(np.pad(error, 1).astype(np.uint8), cv2.DIST_L2, 0)[1:-1, 1:-1] * unclicked
            for error in errors
        )
        positive = missed.max() > excess.max()
        error = errors[0] if positive else errors[1]
        weights = (_distances(error) if model is None else model) * error * unclicked
        ascending = np.sort(weights, axis=None)
        summed, total = np.cumsum(ascending), float(ascending.sum())
        low = int(np.searchsorted(summed, np.float64(total * ((GROUP - 1) / 10))))
        high = min(int(np.searchsorted(summed, np.float64(total * (GROUP / 10)), side="right")), len(summed) - 1)
        weights = np.where((weights >= ascending[low]) & (weights <= ascending[high]), weights, 0)
        chances = (weights / weights.sum()).ravel()
        assert not np.isnan(chances).any()
        place = draws.choice(chances.size, p=chances)
        y, x = (int(at) for at in np.unravel_index(place, weights.shape))
        unclicked[y, x] = False
        seconds += process_time() - started
        clicks += ((y, x, int(positive)),)
    return clicks, seconds


def _distances(error: Bools) -> Floats32:
    """The map "DT"."""
    import cv2

    found = cv2.distanceTransform(error.astype(np.uint8) * 255, cv2.DIST_L2, 0)
    return np.asarray(found / found.max())


def ours(truth: Target, picture: Volume, prompter: ClickabilityClick) -> tuple[Clicks, float]:
    """The same of ours."""
    clock, given = Clock(), list[Turn]()
    user = User(truth, image=picture, clock=clock, given=given, component=prompter.spec)
    clicks: Clicks = ()
    seconds = 0.0
    for clock.round in range(ROUNDS):
        answer = boxed(clicks)
        started = process_time()
        turn = prompter.correct(user, answer)
        seconds += process_time() - started
        assert turn is not None
        given.append(turn)
        _, y, x, label = turn.prompts.points[0].tolist()
        clicks += ((y, x, label),)
    return clicks, seconds


def clicking(model: Clickability) -> ClickabilityClick:
    """The prompter with the published numbers, drawing from `model`."""

    class From(ClickabilityClick):
        @property
        def map(self) -> Clickability:
            return model

    return From(group=str(GROUP), mass="single", draws="published")


def sessions() -> None:
    """Print milliseconds per click on a picture, and the ratio."""
    import cv2

    from intrabench.clickability.distance import Distance

    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    truth = blob()
    target = Target("bench", "blob", 1, Mask.of(truth[None]), (1, SIDE, SIDE), (1.0, 1.0, 1.0))
    picture = Volume.from_canonical(np.zeros((1, SIDE, SIDE, 3), np.uint8))
    stored = smooth(SIDE, 9, 1)
    models: tuple[tuple[str, Clickability, Floats32 | None], ...] = (
        ("distance", Distance(), None),
        ("stored", Stored(stored), stored),
    )
    print(f"{SIDE}x{SIDE} pixels, {100 * truth.mean():.0f} % of them in the target, {ROUNDS} clicks of group {GROUP}")
    for name, model, map in models:
        prompter = clicking(model)
        cv2.ipp.setUseIPP(False)  # whose distances are a millionth off
        exact, _ = published(truth, map)
        cv2.ipp.setUseIPP(True)
        (loop, _), (found, _) = published(truth, map), ours(target, picture, prompter)
        assert found == exact, (found, exact)
        same = min([ROUNDS, *(number for number in range(ROUNDS) if loop[number] != exact[number])])
        compare(
            f"a click of {SIDE}x{SIDE} pixels, map {name}",
            "our restatement of the loop of RClicks",
            lambda map=map: published(truth, map)[1],  # type: ignore[misc]
            lambda prompter=prompter: ours(target, picture, prompter)[1],  # type: ignore[misc]
            targets=ROUNDS,
        )
        print(f"  {name}: the same pixels; of OpenCV with IPP the first {same}")
    cv2.setNumThreads(threads)


def middle(times: list[tuple[float, float]]) -> tuple[float, float, float]:
    """The medians of pairs, and of the ratios in them."""
    first, second = np.array(times).T
    return float(np.median(first)), float(np.median(second)), float(np.median(first / second))


def ball(radius: int) -> Bools:
    """In its box."""
    z, y, x = np.ogrid[(slice(-radius, radius + 1),) * 3]
    return np.asarray(z * z + y * y + x * x <= radius * radius)


def volumes() -> None:
    """Print milliseconds for one click in each volume, and the ratio."""
    whole, hole = Mask((2, 40, 40), ball(60)), Mask((24, 60, 60), ball(RADIUS))
    answer = whole.without(hole)
    users = [User(Target("bench", "ball", 1, whole, shape, SPACING_MM)) for shape in SHAPES]
    print(f"ball of {hole.voxels:,} missed voxels in volumes of {' and '.join(map(_size, SHAPES))}")
    for group in ("all", str(GROUP)):
        prompter, times = ClickabilityClick(group=group), []
        for _ in range(5 * REPETITIONS):
            pair = []
            for user in users:
                started = process_time()
                turn = prompter.correct(user, answer)
                pair.append(process_time() - started)
                assert turn is not None
                z, y, x = turn.prompts.points[0, :3].tolist()
                assert hole.crop((z, y, x, z + 1, y + 1, x + 1)).any()
            times.append((pair[0], pair[1]))
        small, large, ratio = middle(times)
        print(
            f"  group={group:4} {1e3 * small:5.1f} ms and {1e3 * large:5.1f} ms per click, "
            f"the larger volume costs {1 / ratio:.2f} times the smaller"
        )


def _size(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))


def main() -> None:
    """Print milliseconds and ratios."""
    sessions()
    volumes()


if __name__ == "__main__":
    main()
