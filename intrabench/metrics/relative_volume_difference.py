"""Relative volume difference."""

from __future__ import annotations

import math
from dataclasses import dataclass

from intrabench.metrics.base import Metric
from intrabench.metrics.mask_pair import MaskPair


@dataclass(frozen=True)
class RelativeVolumeDifference(Metric):
    """Relative volume difference: by which share of the target's volume the answer is larger (+) or smaller (-).

    T. Heimann et al., "Comparison and evaluation of methods for liver segmentation from CT datasets" (IEEE TMI 2009).
    Both empty: 0; no answer: -1. A target without voxels gives an answer no value.
    """

    name = "relative_volume_difference"
    title = "RVD"
    best = "zero"
    worst = -1.0
    bounds = (-1.0, math.inf)

    def measure(self, pair: MaskPair) -> float | None:
        """(|answer| - |target|) / |target|; 0.5 is half as large again as the target."""
        counts = pair.overlap
        if not counts.truth:
            return None if counts.answer else 0.0
        return (counts.answer - counts.truth) / counts.truth
