"""Watersheds of the gradient, from the points of a grid."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.specs.values import Positive, Smoothing
from intrabench.superpixels.base import Picture, superpixels
from intrabench.superpixels.baselines import grid_points


@superpixels("watershed", "skimage", search={"sigma": (0, 0.5, 1, 2)})
def watershed(picture: Picture, segments: int, sigma: Smoothing = 0.5) -> NDArray[Any]:
    """Watershed (Meyer 1992) of the length of the gradient, flooded from the points of a grid (scikit-image).

    sigma: standard deviation, in the smallest side of a voxel, of a Gaussian that smooths the image first.
    """
    return _flooded(picture, segments, sigma, 0.0)


@superpixels("compact_watershed", "skimage", search={"compactness": (1e-5, 1e-4, 1e-3, 1e-2), "sigma": (0, 0.5, 1)})
def compact_watershed(
    picture: Picture, segments: int, compactness: Positive = 0.001, sigma: Smoothing = 0.5
) -> NDArray[Any]:
    """Compact watershed (Neubert and Protzel, ICPR 2014): basins also keep near their seeds (scikit-image).

    compactness: how much the distance to the seed in voxels counts beside the gradient, for intensities from 0 to 1.
    sigma: as of `watershed`.
    """
    return _flooded(picture, segments, sigma, compactness)


def _flooded(picture: Picture, segments: int, sigma: float, compactness: float) -> NDArray[Any]:
    from skimage.segmentation import watershed

    height = gradient_length(picture, sigma)
    seeds = grid_points(height.shape, picture.cells(segments))
    return watershed(height, seeds, compactness=compactness) - 1


def gradient_length(picture: Picture, sigma: float) -> NDArray[np.float32]:
    """``(z, y, x)`` the length of the gradient, of the channel where it is longest; per smallest side of a voxel."""
    from scipy import ndimage

    spacing = np.array(picture.spacing_mm) / min(picture.spacing_mm)
    axes = [axis for axis in range(3) if picture.array.shape[axis] > 1]
    longest = np.zeros(picture.array.shape[:3], np.float32)
    for channel in range(picture.array.shape[-1]):
        smooth = ndimage.gaussian_filter(picture.array[..., channel], [sigma / mm for mm in spacing])
        squares = sum(np.gradient(smooth, spacing[axis], axis=axis) ** 2 for axis in axes)
        np.maximum(longest, np.sqrt(squares), out=longest)
    return longest
