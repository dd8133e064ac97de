"""Boundaries between regions: which voxels lie there, how near others are, and how large the surfaces are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.superpixels.partitions.bits import WORD, Words, moved, packed
from intrabench.superpixels.partitions.slabs import slabs

CHAMFER = (0.955, 1.3693)
"""Lengths of a straight and of a diagonal step in OpenCV's distance transform with a mask of 3."""


def boundary_of(labels: NDArray[np.int32], axes: Sequence[int]) -> Words:
    """Voxels that differ from a neighbour along one of `axes`, so boundaries are two voxels thick.

    The border of the image is none. Source: Stutz et al. 2018.
    """
    depth, height, length = labels.shape
    found = np.zeros((depth, height, -(-length // WORD)), np.uint64)
    for where in slabs((depth, height, length)):
        for axis in axes:
            # along z, with the next slice, which the last one of these is compared with
            part = slice(where.start, where.stop + 1) if axis == 0 else where
            before, after = sides(labels[part], axis)
            differ = packed(before != after, length)
            if axis == 2:
                found[part] |= differ | moved(differ, 1)
            else:
                of_before, of_after = sides(found[part], axis)
                of_before |= differ
                of_after |= differ
    return found


def faces_of(labels: NDArray[np.int32], axes: Sequence[int], count: int) -> NDArray[np.int64]:
    """(axes, count) faces of the voxels of each region to another region or to the outside, across each axis."""
    found = np.zeros((len(axes), count), np.int64)
    for row, axis in enumerate(axes):
        before, after = sides(labels, axis)
        differ = before != after
        for side in (before[differ], after[differ], labels.take(0, axis).ravel(), labels.take(-1, axis).ravel()):
            found[row] += np.bincount(side, minlength=count)
    return found


def sections(labels: NDArray[np.int32], count: int) -> NDArray[np.int32]:
    """The sections of `count` regions with each slice z as regions of their own: labels 0, 1, ..., slice by slice."""
    found, first = np.empty_like(labels), 0
    for section, plane in zip(found, labels, strict=True):
        present = np.zeros(count, bool)
        present[plane] = True
        numbers = np.cumsum(present, dtype=np.int32) + np.int32(first - 1)
        section[:] = numbers[plane]
        first = int(numbers[-1]) + 1
    return found


def near(voxels: Words, reach: Sequence[int]) -> Words:
    """Voxels with one of `voxels` in the window of `reach` voxels to each side along each axis.

    Some may be beyond the ends of rows.
    """
    found = voxels
    for axis, most in enumerate(reach):
        source, found = found, found.copy() if most else found
        length = voxels.shape[axis] * (WORD if axis == 2 else 1)
        for step in range(1, min(most, length - 1) + 1):
            if axis == 2:
                found |= moved(source, step)
                found |= moved(source, -step)
            else:
                (low, high), (source_low, source_high) = sides(found, axis, step), sides(source, axis, step)
                low |= source_high
                high |= source_low
    return found


def chamfer_distances(mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The distance of each pixel ``(y, x)`` to the nearest one of `mask` with steps of `CHAMFER`, in pixels.

    As the distance transform of OpenCV that the superpixel benchmark used, but in float64. Infinite without any.
    """
    straight, diagonal = CHAMFER
    ramp = straight * np.arange(mask.shape[1])
    found = np.where(mask, 0.0, np.inf)
    for rows in (found, found[::-1]):
        for y, row in enumerate(rows):
            if y:
                above = rows[y - 1]
                np.minimum(row, above + straight, out=row)
                np.minimum(row[1:], above[:-1] + diagonal, out=row[1:])
                np.minimum(row[:-1], above[1:] + diagonal, out=row[:-1])
            np.minimum(row, np.minimum.accumulate(row - ramp) + ramp, out=row)
            np.minimum(row[::-1], np.minimum.accumulate(row[::-1] - ramp) + ramp, out=row[::-1])
    return found


def sides(array: NDArray[Any], axis: int, step: int = 1) -> tuple[NDArray[Any], NDArray[Any]]:
    """Views of all elements that have one `step` further along an axis, and of those; the next one by default."""
    low: list[slice] = [slice(None)] * array.ndim
    high = list(low)
    low[axis], high[axis] = slice(None, max(0, array.shape[axis] - step)), slice(step, None)
    return array[tuple(low)], array[tuple(high)]
