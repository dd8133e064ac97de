"""95 % Hausdorff distance."""

from __future__ import annotations

import math
from dataclasses import dataclass

from intrabench.metrics.base import Metric
from intrabench.metrics.mask_pair import MaskPair


@dataclass(frozen=True)
class HausdorffDistance95(Metric):
    """95 % Hausdorff distance in mm, as DeepMind defines it. Both empty: 0; one empty: infinite."""

    name = "hd95"
    title = "HD95"
    unit = "mm"
    best = "low"
    worst = math.inf
    bounds = (0.0, math.inf)
    needs = frozenset({"surface"})
    default_column = "hd95_mm"

    def measure(self, pair: MaskPair) -> float:
        """Distance that 95 % of each surface's area keeps to the other, the larger of the two ways."""
        from intrabench.metrics.parts.surface import hausdorff

        return hausdorff(pair.surface_distances, 95.0)
