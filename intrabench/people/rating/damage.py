"""Damaged masks of known severity: the hidden anchors of a rating study."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Mask, grow
from intrabench.target import Target

KINDS = ("shrunk", "missing", "grown", "leak")
"""Eroded; cut off on one side; dilated; a ball that leaves the boundary."""
SEVERITIES = (0.9, 0.75, 0.5)
"""Dice of a damaged mask and its target."""


def damaged(target: Target, kind: str, dice: float, rng: np.random.Generator) -> Mask:
    """The target's mask with as many voxels removed or added as give this `dice`, within half a voxel.

    Raises:
        ValueError: the kind is unknown, or `dice` is not between 0 and 1.
    """
    if kind not in KINDS or not 0 < dice < 1:
        raise ValueError(f"there is no damage {kind!r} to Dice {dice}")
    voxels = target.mask.voxels
    if kind in ("shrunk", "missing"):
        return _removed(target, round(voxels * (2 - 2 * dice) / (2 - dice)), kind, rng)
    return _added(target, round(2 * voxels * (1 - dice) / dice), kind, rng)


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

    margin, room = 0, 0
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
