"""Sums of squares around the mean of each region, and around that of the whole image, in float64."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.superpixels.partitions.slabs import slabs

Labels = NDArray[np.int32]
Sizes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Spread:
    """within: (count,) the sum of squared distances to the mean of each region. total: that to the mean of all."""

    within: NDArray[np.float64]
    total: float


def colour_spread(labels: Labels, sizes: Sizes, image: NDArray[Any]) -> Spread:
    """Of intensities ``(z, y, x)`` or ``(z, y, x, channel)``, summed over channels."""
    channels = image[..., None] if image.ndim == 3 else image
    within, total = np.zeros(len(sizes)), 0.0
    for channel in range(channels.shape[-1]):
        values = channels[..., channel]
        around = float(values.mean(dtype=np.float64))  # large intensities would lose digits otherwise
        sums, squares = np.zeros(len(sizes)), np.zeros(len(sizes))
        for where in slabs(labels.shape):
            regions, centred = labels[where].ravel(), values[where].ravel() - around
            sums += np.bincount(regions, centred, len(sizes))
            squares += np.bincount(regions, centred**2, len(sizes))
        within += _around_means(squares, sums, sizes)
        total += max(0.0, float(squares.sum() - sums.sum() ** 2 / labels.size))
    return Spread(within, total)


def place_residual(labels: Labels, sizes: Sizes, axes: Sequence[int], spacing_mm: Sequence[float]) -> float:
    """Of the positions of voxels along `axes`, in square millimetres: the sum over all regions.

    The squares of all positions are known, so only the sum of the positions in each region is counted.
    """
    sums = _place_sums(labels, len(sizes), axes)
    found = 0.0
    for axis in axes:
        length = labels.shape[axis]
        squares = ((np.arange(length) - (length - 1) / 2) ** 2).sum() * (labels.size / length)
        found += spacing_mm[axis] ** 2 * float(squares - (sums[axis] ** 2 / sizes).sum())
    return max(found, 0.0)


def _place_sums(labels: Labels, count: int, axes: Sequence[int]) -> NDArray[np.float64]:
    """(3, count) the sum of the positions of each region's voxels along `axes`, in voxels from the image's middle.

    Neighbours along x with the same label are counted as one, for there are many in a superpixel.
    """
    sums = np.zeros((3, count))
    depth, height, length = labels.shape
    for where in slabs((depth, height, length)):
        slab = labels[where]
        begins = np.ones(slab.shape, bool)
        np.not_equal(slab[..., 1:], slab[..., :-1], out=begins[..., 1:])
        first = np.flatnonzero(begins)
        voxels = np.diff(first, append=slab.size)
        row = first // length
        z = row // height
        places = (
            z + (where.start - (depth - 1) / 2),
            row - z * height - (height - 1) / 2,
            first - row * length + (voxels - length) / 2,  # the middle of its voxels
        )
        of = slab.ravel()[first].astype(np.intp)  # what bincount counts without another copy
        for axis in axes:
            sums[axis] += np.bincount(of, places[axis] * voxels, count)
    return sums


def _around_means(squares: NDArray[Any], sums: NDArray[Any], sizes: Sizes) -> NDArray[np.float64]:
    return np.maximum(squares - sums**2 / sizes, 0.0)
