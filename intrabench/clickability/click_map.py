"""From the clicks that people made on one instance to the map that a clickability model is to give.

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
"""How far the error mask is blurred: 1 % of the image's diagonal as the paper says, or what its code does, which are
whole pixels of 1 % of the side that a square of this diagonal has, so 0.7 % of the diagonal."""

SIGMA = 5.0
"""Width of one click in the published model, pixels of an image of 1920 x 1080; `sigma_px` scales it to others."""
_FULL_HD = math.hypot(1920, 1080)


def click_map(
    clicks: NDArray[np.int64], error: NDArray[np.bool_], sigma: float = SIGMA, soft_mask: SoftMask = "code"
) -> NDArray[np.float32]:
    """How often each pixel is clicked, ``(y, x)``: `gaussian_map` times the softened error mask ``(y, x)``.

    clicks: rows ``y, x``, pixels of the image. Not normalised: the loss divides by the sum.

    Raises:
        ValueError: there is no click, or one lies outside of the image.
    """
    soft = ndimage.gaussian_filter(error.astype(np.float32), _soft_mask_sigma_px(error.shape, soft_mask))
    return gaussian_map(clicks, error.shape, sigma) * soft


def gaussian_map(clicks: NDArray[np.int64], shape: tuple[int, ...], sigma: float = SIGMA) -> NDArray[np.float32]:
    """A Gaussian on each of the clicks (rows ``y, x``), summed, 1 at the highest: ``(y, x)`` of `shape`.

    Each is cut off where cv2.GaussianBlur with a kernel of ``ceil(7 sigma)`` pixels, made odd, would end.

    Raises:
        ValueError: there is no click, or one lies outside of the image.
    """
    if len(clicks) == 0 or (clicks < 0).any() or (clicks >= shape[:2]).any():
        raise ValueError(f"clicks must be rows y, x within the image of {shape[0]} x {shape[1]} pixels, at least one")
    width = sigma_px(shape, sigma)
    radius = math.ceil(7 * width) // 2  # the odd kernel's: 7 and 8 become 7 and 9
    profiles = []
    for axis in (0, 1):
        away = np.arange(shape[axis]) - clicks[:, axis, None]
        profiles.append(np.where(abs(away) <= radius, np.exp(-0.5 * (away / width) ** 2), 0))
    summed = profiles[0].T @ profiles[1]  # each click's Gaussian is the product of its rows' and its columns' profile
    return (summed / summed.max()).astype(np.float32)


def sigma_px(shape: tuple[int, ...], sigma: float = SIGMA) -> float:
    """The width of a click in pixels of an image of `shape` (rows, columns): the diagonals' ratio scales it."""
    return sigma * math.hypot(*shape[:2]) / _FULL_HD


def _soft_mask_sigma_px(shape: tuple[int, ...], soft_mask: SoftMask) -> float:
    diagonal = math.hypot(*shape[:2])
    return 0.01 * diagonal if soft_mask == "paper" else int(5 * diagonal / (500 * math.sqrt(2)))
