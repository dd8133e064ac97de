"""SLIC: k-means of colour and place."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.specs.values import Iterations, Positive, Smoothing
from intrabench.superpixels.base import Picture, superpixels

GREY = 0.03
"""By which compactness is multiplied for grey images: scikit-image scales them to 1, while white has the lightness 100.

With it the best unions of supervoxels in spine_ct, spine_mr and brain_mni are better than with 0.01, 0.02, 0.05, 0.1.
"""
WHITE = 100.0
"""Intensities for SimpleITK go from 0 to it, as lightness does."""


@superpixels("slic", "skimage", search={"compactness": (1, 5, 10, 20, 40, 80), "sigma": (0, 1)})
def slic(
    picture: Picture, segments: int, compactness: Positive = 10.0, iterations: Iterations = 10, sigma: Smoothing = 0.0
) -> NDArray[Any]:
    """SLIC (Achanta et al., PAMI 2012) of scikit-image, in volumes with their spacing.

    compactness: how much place counts beside colour, which is that of CIE Lab; for grey images 0.03 of it, beside grey
    from 0 to 1. iterations: of k-means. sigma: standard deviation in voxels of a Gaussian that smooths the image first.
    """
    return _slic(picture, segments, compactness, iterations, sigma, zero=False)


@superpixels("slico", "skimage", search={"iterations": (1, 5, 10, 25), "sigma": (0, 1)})
def slico(picture: Picture, segments: int, iterations: Iterations = 10, sigma: Smoothing = 0.0) -> NDArray[Any]:
    """SLICO: SLIC that adapts its compactness to each superpixel, so that it has no parameter for it (scikit-image).

    iterations: of k-means. sigma: standard deviation in voxels of a Gaussian that smooths the image first.
    """
    return _slic(picture, segments, 10.0, iterations, sigma, zero=True)


def _slic(
    picture: Picture, segments: int, compactness: float, iterations: int, sigma: float, zero: bool
) -> NDArray[Any]:
    from skimage.segmentation import slic

    spacing = picture.spacing_mm
    return slic(
        picture.array,
        n_segments=segments,
        compactness=compactness if picture.colour else compactness * GREY,
        max_num_iter=iterations,
        sigma=sigma,
        spacing=[mm / min(spacing) for mm in spacing],
        convert2lab=picture.colour,
        slic_zero=zero,
        start_label=0,
        channel_axis=-1,
    )


@superpixels("sitk_slic", search={"proximity": (1, 5, 10, 20, 40, 80)})
def sitk_slic(picture: Picture, segments: int, proximity: Positive = 10.0, iterations: Iterations = 5) -> NDArray[Any]:
    """SLIC of SimpleITK, which needs no other package: its grid is even in millimetres.

    proximity: how much place counts beside intensity, which goes from 0 to 100 (colours from 0 to 100, too).
    iterations: of k-means.
    """
    import SimpleITK as sitk

    flat = picture.array.shape[0] == 1
    array = (picture.array[0] if flat else picture.array) * np.float32(WHITE)
    image = sitk.GetImageFromArray(array, isVector=True)
    shape, cells = picture.array.shape[:3], picture.cells(segments)
    sizes = [max(1, round(length / parts)) for length, parts in zip(shape, cells, strict=True)]
    labels = sitk.SLIC(image, sizes[:0:-1] if flat else sizes[::-1], proximity, iterations)
    found = sitk.GetArrayFromImage(labels)
    return found[None] if flat else found
