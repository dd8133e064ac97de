"""Intensity policies: the mapping from scan values to the range [0, 255] on which 2D networks were trained.

Every policy picks a low and a high value; the slice is clipped to them and mapped linearly, low to 0 and high to 255.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Array
from intrabench.volume import Volume, states_ct

Intensity = Literal["slice", "slice_positive", "volume", "volume_positive", "ct_soft", "modality", "none"]
"""slice: the 0.5 and 99.5 percentiles of the slice's own voxels. volume: those of all voxels of the volume. _positive:
of those above zero. ct_soft: the soft-tissue CT window, level 40 and width 400 HU. modality: for CT that window (or
another that the caller gives), where the scan has values beyond it, else the scan's own minimum or maximum;
volume_positive for all other scans; photographs and 8-bit images that are not stated to be a scan stay as they are
(MedSAM). none: the minimum and the maximum of the slice."""

PERCENTILES = (0.5, 99.5)
SOFT_TISSUE = (40.0, 400.0)
"""Level and width of a CT window in Hounsfield units. Source: MedSAM's preprocessing of CT, https://github.com/bowang-lab/MedSAM."""


def slice_images(
    volume: Volume, policy: Intensity, window: tuple[float, float] = SOFT_TISSUE
) -> Callable[[int], Array]:
    """The function from z to the image of that slice, ``(y, x)`` or ``(y, x, channel)``, within [0, 255].

    window: level and width in Hounsfield units, for policies that window CT.

    Colour images of uint8 pass through as they are; everything else becomes float32, channels together. A constant
    slice becomes zeros, and where no voxel is above zero all of them count. What a policy takes from the whole volume
    is computed once.

    Raises:
        ValueError: the policy is unknown.
    """
    if policy not in get_args(Intensity):
        raise ValueError(f"there is no intensity policy {policy!r}; choose from {', '.join(get_args(Intensity))}")
    array = volume.array
    if array.dtype == np.uint8 and (array.ndim == 4 or (policy == "modality" and _is_ready(volume))):
        return lambda z: array[z]
    if policy == "none":
        return lambda z: stretch(array[z], float(array[z].min()), float(array[z].max()))
    if policy.startswith("slice"):
        return lambda z: stretch(array[z], *percentiles(array[z], policy == "slice_positive"))
    low, high = _bounds(volume, policy, window)
    return lambda z: stretch(array[z], low, high)


def assumed(volume: Volume, policy: Intensity) -> tuple[str, ...]:
    """What a policy had to assume about a scan because its modality is not stated, for `Answer.notes`."""
    if policy != "modality" or states_ct(volume.modality) is not None or volume.array.dtype == np.uint8:
        return ()
    return ("assumed CT" if volume.is_ct else "assumed no CT",)


def _is_ready(volume: Volume) -> bool:
    """Whether 8-bit values are those of a picture, or of a scan that was windowed before it was stored."""
    return volume.is_photo or states_ct(volume.modality) is not False


def _bounds(volume: Volume, policy: Intensity, window: tuple[float, float]) -> tuple[float, float]:
    """The low and the high value of a policy that has the same ones for all slices."""
    array, windowed = volume.array, policy == "ct_soft" or (policy == "modality" and volume.is_ct)
    if not windowed:
        return percentiles(array, policy in ("volume_positive", "modality"))
    level, width = window
    low, high = level - width / 2, level + width / 2
    if policy == "modality":
        return max(low, float(array.min())), min(high, float(array.max()))
    return low, high


def stretch(image: Array, low: float, high: float) -> NDArray[np.float32]:
    """`image` clipped to [low, high] and mapped linearly to [0, 255]; zeros if high is not above low."""
    if not high > low:
        return np.zeros(image.shape, dtype=np.float32)
    # in single precision, `high` could become 254.99998, which whole numbers cut to 254
    scaled = (np.clip(image.astype(np.float64), low, high) - low) / (high - low) * 255
    return scaled.astype(np.float32)


def percentiles(array: Array, positive: bool = False) -> tuple[float, float]:
    """The 0.5 and 99.5 percentiles of all values, or of the positive ones if there are any."""
    # selecting keeps the dtype, so the copy is not larger than the array
    counted = array[array > 0] if positive else array
    low, high = np.percentile(counted if counted.size else array, PERCENTILES)
    return float(low), float(high)
