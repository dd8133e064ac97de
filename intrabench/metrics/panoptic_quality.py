"""Panoptic quality of lesions, at an overlap and over all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Interval

from intrabench.metrics.base import Metric
from intrabench.metrics.mask_pair import MaskPair
from intrabench.metrics.parts.lesions import Rule, check_matching, matching_words
from intrabench.specs.values import Share

KIRILLOV = "A. Kirillov et al., Panoptic segmentation, CVPR 2019, arXiv 1801.00868"
PANOPTICA = "F. Kofler et al., Panoptica, arXiv 2312.02608"


@dataclass(frozen=True)
class PanopticQuality(Metric):
    """Panoptic quality of lesions: the mean IoU of lesions that were found, times F1. One empty: 0.

    Lesions and parts of the answer are connected components. Both empty: no value. iou: a lesion and a part match with
    at least this IoU. matching: as of `lesion_recall`; the IoU of a lesion is that with all its parts together.
    connectivity: voxels that share a face (6), an edge (18) or a corner (26) are of one component.
    """

    name = "pq"
    title = "PQ"
    bounds = (0.0, 1.0)
    source = f"{KIRILLOV}; {PANOPTICA}"

    iou: Share = 0.5
    matching: Rule = "one_to_one"
    connectivity: int = 26

    def __post_init__(self) -> None:
        check_matching(self.connectivity, self.iou)

    @property
    def description(self) -> str:
        """The first paragraph of the docstring, and when a lesion and a part match."""
        return f"{super().description} {matching_words(self.matching, self.iou)}"

    def measure(self, pair: MaskPair) -> float | None:
        """PQ, 0 to 1; None without lesions and parts."""
        return pair.lesions(self.connectivity).matched(self.matching, self.iou).panoptic_quality


@dataclass(frozen=True)
class PanopticQualityArea(Metric):
    """Area under `pq` over the IoU at which lesions match, from 0 to 1, by trapezoids. One empty: 0.

    Both empty: no value. step: between the IoUs, the first of which stands for those below it, too. matching,
    connectivity: as of `pq`.
    """

    name = "pq_area"
    title = "PQ area"
    bounds = (0.0, 1.0)
    source = PANOPTICA

    step: Annotated[float, Interval(ge=0.001, le=0.5)] = 0.1
    matching: Rule = "one_to_one"
    connectivity: int = 26

    def __post_init__(self) -> None:
        check_matching(self.connectivity)

    def measure(self, pair: MaskPair) -> float | None:
        """The area, 0 to 1; None without lesions and parts."""
        lesions = pair.lesions(self.connectivity)
        if not len(lesions.truth) and not len(lesions.answer):
            return None
        steps = np.minimum(np.arange(1, np.ceil(1 / self.step - 1e-9) + 1) * self.step, 1).round(5)
        values = [lesions.matched(self.matching, float(iou)).panoptic_quality or 0.0 for iou in steps]
        return float(np.trapezoid([values[0], *values], [0.0, *steps]))
