"""The detection and matching metric of the autoPET V challenge: lesion-wise F1 at an overlap."""

from __future__ import annotations

from dataclasses import dataclass

from intrabench.metrics.base import Metric
from intrabench.metrics.mask_pair import MaskPair
from intrabench.metrics.parts.lesions import AUTOPET, Rule, check_matching
from intrabench.specs.specs import switch
from intrabench.specs.values import Share


@dataclass(frozen=True)
class Dmm(Metric):
    """DMM: lesion-wise F1 at an overlap, as in the autoPET V challenge.

    A component of the target is found (TP) where its IoU with a component of the answer is at least `iou`, else it is
    missed (FN); a component of the answer without such a partner is a false positive. F1 = 2 TP / (2 TP + FP + FN). As
    published, a component may have several partners: one that covers two lesions finds both. No answer: 0. A target
    without voxels has no value, and the cases of a table are those that have one.

    The tutorial of the challenge pools the counts of a data set; here F1 is of a case. connectivity: voxels that share
    a face (6), an edge (18, as published) or a corner (26) are of one component. matching: as of `lesion_recall`;
    one_to_one with iou=0.5 is the recognition quality of `pq`.
    """

    name = "dmm"
    title = "DMM"
    bounds = (0.0, 1.0)
    source = AUTOPET

    iou: Share = 0.1
    connectivity: int = 18
    matching: Rule = switch("any")

    def __post_init__(self) -> None:
        check_matching(self.connectivity, self.iou)

    def measure(self, pair: MaskPair) -> float | None:
        """F1, 0 to 1; None without lesions."""
        return pair.lesions(self.connectivity).matched(self.matching, self.iou).f1 if pair.truth.any() else None
