"""From a map of where people click to one click: groups of equal mass, and the draw inside one of them.

RClicks (Antonov et al. 2024, section 5); https://github.com/emb-ai/rclicks, isegm/inference/clicker.py.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Mass = Literal["double", "single"]
"""Precision in which mass is summed up. single is as published; it can lose the most probable pixels of an image."""

GROUPS = 10
"""Of equal mass: 1 has the least probable clicks, 10 the most probable."""

Weights = NDArray[np.floating[Any]]


def group_of(weights: Weights, group: int, mass: Mass = "double", pixels: int = 0) -> Weights:
    """The weights (of any shape, 0 or more) with 0 outside of the group, from 1 to `GROUPS`.

    A group holds all weights from the one at which its mass begins to the one at which it ends. Equal weights are never
    divided, so groups may overlap, and those of a constant map are all alike.

    pixels: of the whole image that the weights are cut from, with weights of 0 outside of them; single precision sums
    depend on their number.
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
    # np.float64, or a plain float would be rounded to the precision of `summed`
    begin = int(np.searchsorted(summed, np.float64(total * low)))
    end = int(np.searchsorted(summed, np.float64(total * high), side="right"))
    first = positive[min(begin, positive.size - 1)] if group > 1 else 0
    last = positive[min(end, positive.size - 1)]
    return weights * ((weights >= first) & (weights <= last))


def draw(weights: Weights, uniform: float, mass: Mass = "double") -> tuple[int, ...]:
    """The index that a uniform number from 0 to 1 draws with these weights, not all 0, in C order."""
    flat = weights.ravel() if mass == "single" else weights.ravel().astype(np.float64)
    likely = np.flatnonzero(flat > 0)
    summed = np.cumsum(flat[likely] / flat.sum(), dtype=np.float64)
    place = likely[np.searchsorted(summed / summed[-1], uniform, side="right")]
    return tuple(int(at) for at in np.unravel_index(place, weights.shape))
