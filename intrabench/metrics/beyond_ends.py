"""Voxels of the answer beyond the ends of the target."""

from __future__ import annotations

import math
from dataclasses import dataclass

from intrabench.metrics.base import Metric
from intrabench.metrics.mask_pair import MaskPair


@dataclass(frozen=True)
class BeyondEnds(Metric):
    """Voxels beyond the ends: those of the answer on slices before the first and after the last of the target.

    No answer: 0. A target without voxels has no ends and no value. A failed session counts as infinite.
    """

    name = "beyond_ends"
    title = "Beyond the ends"
    unit = "voxels"
    best = "low"
    worst = math.inf
    bounds = (0.0, math.inf)

    def measure(self, pair: MaskPair) -> float | None:
        """Their number; None without a target."""
        own = pair.truth.occupied_slices
        if not len(own):
            return None
        counts = pair.answer.voxels_per_slice(pair.target.shape[0])
        return float(counts[: own[0]].sum() + counts[own[-1] + 1 :].sum())
