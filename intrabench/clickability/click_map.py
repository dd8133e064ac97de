"""Convert real clicks on one instance into the map that a clickability model should predict.

Ground truth of the training of RClicks: https://github.com/emb-ai/rclicks, rclicks/clickmap.py; section 4 of
https://arxiv.org/abs/2410.11722.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

SoftMask = Literal["code", "paper"]
"""Width of the blur of the error mask. paper: 1 % of the image's diagonal. code: 1 % of the side of a square with this
diagonal, in whole pixels, so 0.7 % of the diagonal."""

SIGMA = 5.0
"""Width of one click in the published model, in pixels of a 1920 x 1080 image; `sigma_px` scales it to others."""
_FULL_HD = math.hypot(1920, 1080)


def click_map(
    clicks: NDArray[np.int64], error: NDArray[np.bool_], sigma: float = SIGMA, soft_mask: SoftMask = "code"
) -> NDArray[np.float32]:
    """The frequency of clicks on each pixel ``(y, x)``: `gaussian_map` times the softened error mask ``(y, x)``.

    clicks: rows ``y, x``, pixels of the image. The map is not normalised, because the loss divides by its sum.

    Raises:
        ValueError: there are no clicks, or one lies outside of the image.
    """
    soft = ndimage.gaussian_filter(error.astype(np.float32), _soft_mask_sigma_px(error.shape, soft_mask))
    return gaussian_map(clicks, error.shape, sigma) * soft


def gaussian_map(clicks: NDArray[np.int64], shape: tuple[int, ...], sigma: float = SIGMA) -> NDArray[np.float32]:
    """The sum of a Gaussian on each click (rows ``y, x``), with a maximum of 1: ``(y, x)`` of `shape`.

    Each is cut off like cv2.GaussianBlur with a kernel of ``ceil(7 sigma)`` pixels, rounded up to an odd number.

    Raises:
        ValueError: there are no clicks, or one lies outside of the image.
    """
    if len(clicks) == 0 or (clicks < 0).any() or (clicks >= shape[:2]).any():
        raise ValueError(f"clicks must be rows y, x within the image of {shape[0]} x {shape[1]} pixels, at least one")
    width = sigma_px(shape, sigma)
    radius = math.ceil(7 * width) // 2  # of the odd kernel: 7 and 8 become 7 and 9
    profiles = []
    for axis in (0, 1):
        away = np.arange(shape[axis]) - clicks[:, axis, None]
        profiles.append(np.where(abs(away) <= radius, np.exp(-0.5 * (away / width) ** 2), 0))
    summed = profiles[0].T @ profiles[1]  # Gaussians are products of their profiles along rows and columns
    return (summed / summed.max()).astype(np.float32)


def sigma_px(shape: tuple[int, ...], sigma: float = SIGMA) -> float:
    """The width of a click in pixels of an image of `shape` (rows, columns), scaled by the ratio of the diagonals."""
    return sigma * math.hypot(*shape[:2]) / _FULL_HD


def _soft_mask_sigma_px(shape: tuple[int, ...], soft_mask: SoftMask) -> float:
    diagonal = math.hypot(*shape[:2])
    return 0.01 * diagonal if soft_mask == "paper" else int(5 * diagonal / (500 * math.sqrt(2)))
