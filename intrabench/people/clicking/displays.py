"""How a person is told what to click: the five ways that RClicks compared (Antonov et al., NeurIPS 2024, Table 1)."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Bools
from intrabench.people.slices import window_of
from intrabench.reporting.pictures import TARGET

Display = Literal["text", "cutout", "shifted", "silhouette", "outline"]
DISPLAYS: tuple[Display, ...] = get_args(Display)
"""The name of the target; the target on grey, at its place or at another one; white on black; outlined on the image."""

Picture = NDArray[np.uint8]
_GREY = 128


def displayed(
    picture: Picture, mask: Bools, display: Display, chance: np.random.Generator, name: str = ""
) -> Picture | str:
    """What is shown of a target: a picture as large as the image, or its name.

    picture: RGB ``(y, x, 3)``. mask: ``(y, x)``, not empty. chance: where a shifted target lies.
    """
    if display == "text":
        return name
    if display == "silhouette":
        return np.repeat(np.where(mask, np.uint8(255), np.uint8(0))[..., None], 3, axis=2)
    if display == "outline":
        return np.where(_outline(mask)[..., None], np.array(TARGET, np.uint8), picture)
    cut = np.where(mask[..., None], picture, np.uint8(_GREY))
    return _shifted(cut, mask, chance) if display == "shifted" else cut


def _shifted(cut: Picture, mask: Bools, chance: np.random.Generator) -> Picture:
    """A cut-out at another place that holds it whole; at its own if there is no other one."""
    window = window_of(mask)
    height, width = (side.stop - side.start for side in window)
    free = np.array([(y, x) for y in range(mask.shape[0] - height + 1) for x in range(mask.shape[1] - width + 1)])
    away = np.abs(free - (window[0].start, window[1].start)).max(axis=1)
    far = free[away >= min(away.max(), max(height, width) // 2)]  # far enough to be seen
    y, x = far[chance.integers(len(far))]
    found = np.full_like(cut, _GREY)
    found[y : y + height, x : x + width] = cut[window]
    return found


def _outline(mask: Bools) -> Bools:
    """The pixels just outside of a mask, as wide as 1/200 of the image, so that they hide nothing of the target."""
    from scipy.ndimage import binary_dilation

    wide = max(1, round(max(mask.shape) / 200))
    grown: Bools = binary_dilation(mask, iterations=wide)
    return grown & ~mask
