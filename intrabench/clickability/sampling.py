"""Draw one click from a click map: groups of equal probability mass, and the draw inside one of them.

RClicks (Antonov et al. 2024, section 5); https://github.com/emb-ai/rclicks, isegm/inference/clicker.py.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from intrabench.clickability import GROUPS

Mass = Literal["double", "single"]
"""Precision of the sum of mass. single is the published one; it can lose the most probable pixels of an image."""

Weights = NDArray[np.floating[Any]]


def group_of(weights: Weights, group: int, mass: Mass = "double", pixels: int = 0) -> Weights:
    """The weights (any shape, 0 or more), set to 0 outside of the group, which is 1 to `GROUPS`.

    A group holds all weights from the one where its mass begins to the one where it ends. Equal weights are never
    separated, so groups may overlap, and all groups of a constant map are equal.

    pixels: number of pixels of the whole image from which the weights were cropped. Weights outside of the crop are 0,
    but sums in single precision depend on their number.
    """
    low, high = (group - 1) / GROUPS, group / GROUPS
    positive = np.sort(weights[weights > 0])
    if not positive.size:
        return weights
    summed: Weights
    if mass == "single":
        positive = positive.astype(np.float32)
        summed = np.cumsum(positive)
        total = float(np.concatenate([np.zeros(max(pixels - positive.size, 0), np.float32), positive]).sum())
    else:
        summed = np.cumsum(positive, dtype=np.float64)
        total = float(summed[-1])
    # np.float64, because a plain float would be rounded to the precision of `summed`
    begin = int(np.searchsorted(summed, np.float64(total * low)))
    end = int(np.searchsorted(summed, np.float64(total * high), side="right"))
    first = positive[min(begin, positive.size - 1)] if group > 1 else 0
    last = positive[min(end, positive.size - 1)]
    return weights * ((weights >= first) & (weights <= last))


def draw(weights: Weights, uniform: float, mass: Mass = "double") -> tuple[int, ...]:
    """The index (C order) drawn with these weights, which are not all 0, by a uniform number from 0 to 1."""
    flat = weights.ravel() if mass == "single" else weights.ravel().astype(np.float64)
    likely = np.flatnonzero(flat > 0)
    summed = np.cumsum(flat[likely] / flat.sum(), dtype=np.float64)
    place = likely[np.searchsorted(summed / summed[-1], uniform, side="right")]
    return tuple(int(at) for at in np.unravel_index(place, weights.shape))
