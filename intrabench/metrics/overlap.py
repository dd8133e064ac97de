"""Dice similarity coefficient, and intersection over union."""

from __future__ import annotations

from dataclasses import dataclass

from intrabench.metrics.base import Metric
from intrabench.metrics.mask_pair import MaskPair


@dataclass(frozen=True)
class Dice(Metric):
    """Dice: twice the common voxels over the voxels of both masks. Both empty: 1; one empty: 0."""

    name = "dice"
    title = "Dice"
    bounds = (0.0, 1.0)

    def measure(self, pair: MaskPair) -> float:
        """2 |A and B| / (|A| + |B|)."""
        return pair.overlap.dice


@dataclass(frozen=True)
class IoU(Metric):
    """Intersection over union: the common voxels over the voxels of either mask. Both empty: 1; one empty: 0."""

    name = "iou"
    title = "IoU"
    bounds = (0.0, 1.0)

    def measure(self, pair: MaskPair) -> float:
        """|A and B| / |A or B|."""
        return pair.overlap.iou
