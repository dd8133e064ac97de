"""Sums of squares around the mean of each region, and around that of the whole image, in float64."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.partitions.slabs import slabs

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
            own, centred = labels[where].ravel(), values[where].ravel() - around
            sums += np.bincount(own, centred, len(sizes))
            squares += np.bincount(own, centred**2, len(sizes))
        within += _around_means(squares, sums, sizes)
        total += max(0.0, float(squares.sum() - sums.sum() ** 2 / labels.size))
    return Spread(within, total)


def place_residual(labels: Labels, sizes: Sizes, axes: Sequence[int], spacing_mm: Sequence[float]) -> float:
    """Of the positions of voxels along `axes`, in square millimetres: the sum over all regions.

    The squares of all positions are known, so only the sum of the positions in each region is counted.
    """
    found = 0.0
    for axis in axes:
        length = labels.shape[axis]
        places = (np.arange(length) - (length - 1) / 2) * spacing_mm[axis]
        sums = _along(labels, len(sizes), axis, places)
        found += float((places**2).sum() * (labels.size / length) - (sums**2 / sizes).sum())
    return max(found, 0.0)


def _along(labels: Labels, count: int, axis: int, places: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum of the positions along one axis of each region."""
    sums = np.zeros(count)
    column = places.reshape([-1 if other == axis else 1 for other in range(3)])
    for where in slabs(labels.shape):
        own = labels[where]
        spread = np.broadcast_to(column[where] if axis == 0 else column, own.shape)
        sums += np.bincount(own.ravel(), spread.ravel(), count)
    return sums


def _around_means(squares: NDArray[Any], sums: NDArray[Any], sizes: Sizes) -> NDArray[np.float64]:
    return np.maximum(squares - sums**2 / sizes, 0.0)
