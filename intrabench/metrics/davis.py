"""J, F and their mean, as DAVIS measures videos: of each frame, and then the mean of all frames."""

from __future__ import annotations

from dataclasses import dataclass

from intrabench.metrics.base import Metric
from intrabench.metrics.mask_pair import MaskPair


@dataclass(frozen=True)
class RegionSimilarity(Metric):
    """J of DAVIS: the mean IoU of all frames (slices); a frame where both are empty has 1."""

    name = "j"
    title = "J"
    bounds = (0.0, 1.0)

    def measure(self, pair: MaskPair) -> float:
        """The mean over all frames."""
        from intrabench.davis.metrics import j_of_frames

        return float(j_of_frames(pair.truth, pair.answer, pair.target.shape[0]).mean())


@dataclass(frozen=True)
class ContourAccuracy(Metric):
    """F of DAVIS: how well outlines agree within 0.8 % of the diagonal; the mean of all frames (slices)."""

    name = "f"
    title = "F"
    bounds = (0.0, 1.0)

    def measure(self, pair: MaskPair) -> float:
        """The mean over all frames."""
        from intrabench.davis.metrics import f_of_frames

        return float(f_of_frames(pair.truth, pair.answer, pair.target.shape).mean())


@dataclass(frozen=True)
class RegionAndContour(Metric):
    """J&F of DAVIS: the mean of J and F."""

    name = "j_and_f"
    title = "J&F"
    bounds = (0.0, 1.0)

    def measure(self, pair: MaskPair) -> float:
        """The mean of both."""
        return (RegionSimilarity().measure(pair) + ContourAccuracy().measure(pair)) / 2
