"""Seconds for one correcting click: `click_center` and `click_component` against the recipe of the CVPR 2025 challenge.

Volumes of 300x512x512 voxels, targets like a lesion of radius 10, a kidney and a liver; the answer is the target
swollen here and shrunk there, beside its place, and without one end. The recipe, written out here, sees whole volumes;
ours gets boxed masks, which is all that our sessions ever hold.
"""

from __future__ import annotations

from functools import partial

import cc3d
import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from benchmarks.comparison import MINIATURE, compare, cpu
from intrabench.mask import Bools, Mask
from intrabench.prompters.click_center import ClickCenter
from intrabench.prompters.click_component import SEED, ClickComponent
from intrabench.prompters.errors import Errors, largest_component
from intrabench.prompters.user import User
from intrabench.target import Target

SHAPE = (60, 96, 96) if MINIATURE else (300, 512, 512)
SPACING_MM = (1.5, 0.8, 0.8)
TARGETS = {"radius 10": (10, 10, 10)}
if not MINIATURE:
    TARGETS |= {"kidney": (38, 32, 27), "liver": (60, 85, 75)}
"""Half axes in voxels."""
CENTRE = (30, 48, 48) if MINIATURE else (150, 250, 260)
PADDING = 0.25


def organ(radii: tuple[int, int, int], seed: int) -> tuple[Bools, Bools]:
    """A bumpy ellipsoid, and an answer with a shell of errors and a missing piece; whole volumes."""
    half = [radius * 3 // 2 + 4 for radius in radii]
    where = tuple(slice(c - h, c + h + 1) for c, h in zip(CENTRE, half, strict=True))
    z, y, x = np.ogrid[tuple(slice(-h, h + 1) for h in half)]
    size = tuple(2 * h + 1 for h in half)
    bumps, blunder = (_smooth(size, seed + number) for number in range(2))
    shift = [max(1, radius // 20) for radius in radii]
    level, moved = (
        np.sqrt(sum(((axis - s) / r) ** 2 for axis, s, r in zip((z, y, x), by, radii, strict=True)))
        for by in ((0, 0, 0), shift)
    )
    truth, answer = np.zeros(SHAPE, dtype=bool), np.zeros(SHAPE, dtype=bool)
    truth[where] = level + 0.1 * bumps < 1
    answer[where] = (moved + 0.1 * bumps + 0.08 * blunder < 1) & ((y > -radii[1] // 2) | (z > 0))
    return truth, answer


def _smooth(size: tuple[int, ...], seed: int) -> NDArray[np.float64]:
    """Noise that changes over about a sixth of `size`."""
    coarse = np.random.default_rng(seed).standard_normal((7, 7, 7))
    places = np.meshgrid(*(np.linspace(0, 6, side) for side in size), indexing="ij")
    return np.asarray(ndimage.map_coordinates(coarse, places, order=3))


def recipe(truth: Bools, answer: Bools) -> NDArray[np.int64]:
    """The voxels that the challenge draws its click from, rows ``z, y, x``."""
    labels = cc3d.connected_components(truth ^ answer, connectivity=26)
    values, counts = np.unique(labels, return_counts=True)
    largest = labels == values[1:][counts[1:].argmax()]
    found = [np.flatnonzero(largest.any(axis=others)) for others in ((1, 2), (0, 2), (0, 1))]
    low, high = np.array([hits[0] for hits in found]), np.array([hits[-1] + 1 for hits in found])
    margin = np.ceil(PADDING * (high - low)).astype(int)
    low, high = np.maximum(low - margin, 0), np.minimum(high + margin, SHAPE)
    crop = largest[tuple(slice(int(a), int(b)) for a, b in zip(low, high, strict=True))]
    depth = ndimage.distance_transform_edt(crop)
    return np.asarray(np.argwhere(depth == depth.max()) + low)


def main() -> None:
    """Print milliseconds and ratios; the clicks must be the first of the recipe's voxels, and the one that it draws."""
    prompter, published = ClickCenter(units="voxel"), ClickComponent()
    for seed, (name, radii) in enumerate(TARGETS.items()):
        truth, answer = organ(radii, seed)
        mask, answered = Mask.of(truth), Mask.of(answer)
        target = Target("bench", name, 1, mask, SHAPE, SPACING_MM)
        wrong, expected = Errors.of(target, answered).both, recipe(truth, answer)
        print(
            f"{name}: {mask.voxels:,} voxels, {wrong.voxels:,} wrong, {largest_component(wrong).voxels:,} in the "
            f"largest error, of which {len(expected)} may be clicked"
        )
        drawn = expected[np.random.RandomState(SEED).choice(len(expected))]
        for way, wanted in ((prompter, expected[0]), (published, drawn)):
            turn = way.correct(User(target), answered)
            assert turn is not None
            assert turn.prompts.points[0, :3].tolist() == wanted.tolist()
            compare(
                f"{way.name}, the same voxel, {name}",
                "our restatement of the recipe of CVPR 2025",
                cpu(partial(recipe, truth, answer)),
                cpu(partial(way.correct, User(target), answered)),
            )


if __name__ == "__main__":
    main()
