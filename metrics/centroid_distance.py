"""A metric of your own: one file, one class, one method."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from intrabench import MaskPair, Metric


@dataclass(frozen=True)
class CentroidDistance(Metric):
    """Distance between the centres of the target and of the answer."""

    name = "centroid_distance"
    title = "Centroid distance"
    unit = "mm"
    best = "low"
    worst = math.inf
    needs = frozenset({"mask", "spacing"})

    def measure(self, pair: MaskPair) -> float:
        """The distance in mm; infinite if one mask is empty."""
        if not (pair.truth.any() and pair.answer.any()):
            return math.inf
        truth, answer = (mask.coordinates().mean(axis=0) for mask in (pair.truth, pair.answer))
        return float(np.linalg.norm((truth - answer) * pair.spacing_mm))
