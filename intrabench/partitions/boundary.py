"""Boundaries between regions: which voxels lie there, how near others are, and how large the surfaces are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

CHAMFER = (0.955, 1.3693)
"""Lengths of a straight and of a diagonal step in OpenCV's distance transform with a mask of 3."""


def boundary_of(labels: NDArray[np.integer[Any]], axes: Sequence[int]) -> NDArray[np.bool_]:
    """Voxels that differ from a neighbour along one of `axes`, so boundaries are two voxels thick.

    The border of the image is none. Source: Stutz et al. 2018.
    """
    found = np.zeros(labels.shape, bool)
    for axis in axes:
        before, after = sides(labels, axis)
        differ = before != after
        of_before, of_after = sides(found, axis)
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


def near(mask: NDArray[np.bool_], reach: Sequence[int]) -> NDArray[np.bool_]:
    """Voxels with one of `mask` in the window of `reach` voxels to each side along each axis."""
    found = mask
    for axis, most in enumerate(reach):
        source, found = found, found.copy() if most else found
        for step in range(1, min(most, mask.shape[axis] - 1) + 1):
            (low, high), (source_low, source_high) = _shifted(found, axis, step), _shifted(source, axis, step)
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


def sides(array: NDArray[Any], axis: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Views of all voxels but the last along an axis, and of their next neighbours."""
    return _shifted(array, axis, 1)


def _shifted(array: NDArray[Any], axis: int, step: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Views of the voxels that have one `step` further along an axis, and of those."""
    low: list[slice] = [slice(None)] * array.ndim
    high = list(low)
    low[axis], high[axis] = slice(None, array.shape[axis] - step), slice(step, None)
    return array[tuple(low)], array[tuple(high)]
