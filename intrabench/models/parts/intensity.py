"""Intensity policies: the mapping from scan values to the range [0, 255] on which 2D networks were trained.

Every policy picks a low and a high value; the slice is clipped to them and mapped linearly, low to 0 and high to 255.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Intensity = Literal["slice", "slice_positive", "volume", "volume_positive", "ct_soft", "modality", "none"]
"""slice: the 0.5 and 99.5 percentiles of the slice's own voxels. volume: those of all voxels of the volume. _positive:
of those above zero. ct_soft: the soft-tissue CT window, level 40 and width 400 HU. modality: ct_soft for CT,
volume_positive for all other images (MedSAM). none: the minimum and the maximum of the slice."""

PERCENTILES = (0.5, 99.5)
WINDOWS = {"ct_soft": (40.0, 400.0)}
"""Level and width in Hounsfield units. Source: MedSAM's preprocessing of CT, https://github.com/bowang-lab/MedSAM."""


def slice_images(array: Array, policy: Intensity, modality: str = "") -> Callable[[int], Array]:
    """The function from z to the image of that slice, ``(y, x)`` or ``(y, x, channel)``, within [0, 255].

    `array` is canonical, ``(z, y, x)`` or ``(z, y, x, channel)``; `modality` is that of `Volume`. Colour images of
    uint8 pass through as they are; everything else becomes float32, channels together. A constant slice becomes zeros,
    and where no voxel is above zero all of them count. What a policy takes from the whole volume is computed once.

    Raises:
        ValueError: the policy is unknown.
    """
    if policy not in get_args(Intensity):
        raise ValueError(f"there is no intensity policy {policy!r}; choose from {', '.join(get_args(Intensity))}")
    if array.ndim == 4 and array.dtype == np.uint8:
        return lambda z: array[z]
    if policy == "modality":
        policy = "ct_soft" if modality.startswith("CT") else "volume_positive"
    if policy == "none":
        return lambda z: stretch(array[z], float(array[z].min()), float(array[z].max()))
    positive = policy.endswith("_positive")
    if policy.startswith("slice"):
        return lambda z: stretch(array[z], *percentiles(array[z], positive))
    if policy.startswith("volume"):
        low, high = percentiles(array, positive)
    else:
        level, width = WINDOWS[policy]
        low, high = level - width / 2, level + width / 2
    return lambda z: stretch(array[z], low, high)


def stretch(image: Array, low: float, high: float) -> NDArray[np.float32]:
    """`image` clipped to [low, high] and mapped linearly to [0, 255]; zeros if high is not above low."""
    if not high > low:
        return np.zeros(image.shape, dtype=np.float32)
    clipped = np.clip(image.astype(np.float32), low, high)
    scaled: NDArray[np.float32] = (clipped - np.float32(low)) * np.float32(255 / (high - low))
    return scaled.clip(0, 255)


def percentiles(array: Array, positive: bool = False) -> tuple[float, float]:
    """The 0.5 and 99.5 percentiles of all values, or of the positive ones if there are any."""
    # selecting keeps the dtype, so the copy is not larger than the array
    counted = array[array > 0] if positive else array
    low, high = np.percentile(counted if counted.size else array, PERCENTILES)
    return float(low), float(high)
