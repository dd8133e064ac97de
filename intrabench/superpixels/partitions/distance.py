"""How far voxels are from the nearest voxel of a set that has some almost everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from intrabench.superpixels.partitions.bits import WORD, Words, counted, moved
from intrabench.superpixels.partitions.slabs import slabs

REACH = 10
"""How many voxels to each side are searched. If more are needed, a distance transform is faster."""


def distance_sum(
    voxels: Words, sources: Words, spacing_mm: Sequence[float], axes: Sequence[int] = (0, 1, 2)
) -> float | None:
    """The distances in millimetres of `voxels` to the nearest of `sources` along `axes`, summed.

    Nearer places are looked at before those that are farther, so distances are exact. None if one of them is as long
    as REACH + 1 voxels along the axis where voxels are smallest. spacing_mm: size of a voxel ``(z, y, x)``.
    """
    offsets = _offsets(spacing_mm, axes)
    depth, height, row = voxels.shape
    padded = np.pad(sources, ((REACH, REACH), (REACH, REACH), (0, 0)))
    total = 0.0
    for where in slabs((depth, height, row * WORD)):
        found = _slab_sum(voxels[where] & ~sources[where], padded[where.start : where.stop + 2 * REACH], offsets)
        if found is None:
            return None
        total += found
    return total


def _slab_sum(missing: Words, sources: Words, offsets: list[tuple[float, int, int, int]]) -> float | None:
    """The same of some slices; sources: with REACH more to each side along z and y."""
    total, left = 0.0, counted(missing)
    beside = {0: sources}
    for mm, z, y, x in offsets:
        if not left:
            break
        if x not in beside:
            beside[x] = moved(sources, x) | moved(sources, -x)
        missing &= ~_around(beside[x], z, y)
        still = counted(missing)
        total += mm * (left - still)
        left = still
    return None if left else total


def _around(sources: Words, z: int, y: int) -> Words:
    """Voxels, without the REACH at the sides, with one of `sources` at ``(z, y)`` from them, in either direction."""
    depth, height = sources.shape[0] - 2 * REACH, sources.shape[1] - 2 * REACH
    views = [
        sources[REACH + dz : REACH + dz + depth, REACH + dy : REACH + dy + height]
        for dz in {z, -z}
        for dy in {y, -y}
    ]  # fmt: skip
    return reduce(np.bitwise_or, views)


def _offsets(spacing_mm: Sequence[float], axes: Sequence[int]) -> list[tuple[float, int, int, int]]:
    """Distances in millimetres and steps ``(z, y, x)``, none negative, the nearest first and without that to itself.

    They end where a place more than REACH voxels away along an axis could be as near.
    """
    steps = np.indices([REACH + 1 if axis in axes else 1 for axis in range(3)]).reshape(3, -1).T
    mm = np.linalg.norm(steps * np.asarray(spacing_mm), axis=1)
    order = np.argsort(mm, kind="stable")[1:]
    order = order[mm[order] < (REACH + 1) * min(spacing_mm[axis] for axis in axes)]
    return [(distance, z, y, x) for distance, (z, y, x) in zip(mm[order].tolist(), steps[order].tolist(), strict=True)]
