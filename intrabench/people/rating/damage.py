"""Damaged masks of known severity: the hidden anchors of a rating study."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Mask, grow
from intrabench.target import Target

KINDS = ("shrunk", "missing", "grown", "leak")
"""Eroded; cut off on one side; dilated; a ball that leaves the boundary."""
SEVERITIES = (0.9, 0.75, 0.5)
"""Dice of a damaged mask and its target, about which others lie by chance."""
SPREAD = 0.04
"""How far."""
OPPOSITE = 0.02
"""The share of the target's voxels that is damaged the other way: added if voxels are removed, or removed."""


def about(severity: float, rng: np.random.Generator) -> float:
    """A Dice about a severity; with the severity itself, whoever compares masks would find the pair that has it."""
    return severity + float(rng.uniform(-SPREAD, SPREAD))


def damaged(target: Target, kind: str, dice: float, rng: np.random.Generator) -> Mask:
    """The target's mask with as many voxels removed or added as give this `dice`, within half a voxel.

    A few are changed the other way at one place, so that neither mask contains the other, which would betray the pair.

    Raises:
        ValueError: the kind is unknown, or `dice` is not between 0 and 1.
    """
    if kind not in KINDS or not 0 < dice < 1:
        raise ValueError(f"there is no damage {kind!r} to Dice {dice}")
    voxels = target.mask.voxels
    few = round(voxels * OPPOSITE)
    if kind in ("shrunk", "missing"):
        count = round(max(0.0, (2 * voxels * (1 - dice) - dice * few) / (2 - dice)))
        kept, more = _removed(target, count, kind, rng), _added(target, few, "leak", rng)
        return Mask.of(kept.crop(more.box) | (more.array & ~target.mask.crop(more.box)), more.start)
    count = round(max(0.0, (2 * (voxels - few) - dice * (2 * voxels - few)) / dice))
    kept, more = _removed(target, few, "missing", rng), _added(target, count, kind, rng)
    return Mask.of(more.array & (kept.crop(more.box) | ~target.mask.crop(more.box)), more.start)


def _removed(target: Target, count: int, kind: str, rng: np.random.Generator) -> Mask:
    from scipy.ndimage import distance_transform_edt

    inside = np.pad(target.mask.array, 1)
    if kind == "shrunk":
        order = distance_transform_edt(inside, sampling=target.spacing_mm)[inside]
    else:
        order = np.argwhere(inside) * np.array(target.spacing_mm) @ rng.normal(size=3)
    kept = inside.copy()
    kept[inside] = _first(order, count, rng) == 0
    start = [first - 1 for first in target.mask.start]
    return Mask.of(kept, start)


def _added(target: Target, count: int, kind: str, rng: np.random.Generator) -> Mask:
    from scipy.ndimage import distance_transform_edt

    margin, room = 0, -1
    whole = int(np.prod(target.shape)) - target.mask.voxels
    while room < min(count, whole):
        margin = 2 * margin + 2
        box = grow(target.mask.box, (margin,) * 3, target.shape)
        room = int(np.prod([box[axis + 3] - box[axis] for axis in range(3)])) - target.mask.voxels
    inside = target.mask.crop(box)
    if kind == "grown":
        order = distance_transform_edt(~inside, sampling=target.spacing_mm)[~inside]
    else:
        surface = np.argwhere(inside & (distance_transform_edt(inside) <= 1))
        centre = surface[rng.integers(len(surface))]
        order = np.linalg.norm((np.argwhere(~inside) - centre) * np.array(target.spacing_mm), axis=1)
    found = inside.copy()
    found[~inside] = _first(order, count, rng)
    return Mask.of(found, box[:3])


def _first(order: NDArray[np.float64], count: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which are among the `count` lowest; ties by chance."""
    found = np.zeros(len(order), bool)
    found[np.lexsort((rng.random(len(order)), np.round(order, 3)))[:count]] = True
    return found
