"""The volumes of wrongly found and of missed lesions, as in the autoPET challenges."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from intrabench.metrics.base import Best, Metric, Need
from intrabench.metrics.mask_pair import MaskPair
from intrabench.metrics.parts.lesions import AUTOPET, Matching, Rule, check_matching
from intrabench.specs.specs import switch
from intrabench.specs.values import Share


@dataclass(frozen=True)
class _LesionVolume(Metric):
    unit = "ml"
    best: ClassVar[Best] = "low"
    worst = math.inf
    bounds = (0.0, math.inf)
    needs: ClassVar[frozenset[Need]] = frozenset({"spacing"})

    connectivity: int = 18
    iou: Share = switch(0.0)
    matching: Rule = switch("any")

    def __post_init__(self) -> None:
        check_matching(self.connectivity, self.iou)

    def matched(self, pair: MaskPair) -> Matching:
        """Which lesions and parts belong together."""
        return pair.lesions(self.connectivity).matched(self.matching, self.iou)

    def missed(self, pair: MaskPair) -> NDArray[np.int64]:
        """The voxels of each lesion that was missed."""
        return pair.lesions(self.connectivity).truth[~self.matched(pair).found]


@dataclass(frozen=True)
class FalsePositiveVolume(_LesionVolume):
    """False positive volume in ml: that of components of the answer without any voxel of the target.

    As in the autoPET challenges. Both empty, or no answer: 0. A failed session counts as infinite. connectivity: voxels
    that share a face (6), an edge (18, as published) or a corner (26) are of one component. iou, matching: as of
    `lesion_recall`.
    """

    name = "fpv"
    title = "FPV"
    source = AUTOPET

    def measure(self, pair: MaskPair) -> float:
        """The volume in ml."""
        return pair.ml(pair.lesions(self.connectivity).answer[~self.matched(pair).right].sum())


@dataclass(frozen=True)
class FalseNegativeVolume(_LesionVolume):
    """False negative volume in ml: that of components of the target without any voxel of the answer.

    As in the autoPET challenges. No answer: the target's volume. A target without voxels has no value. A failed session
    counts as infinite. connectivity: voxels that share a face (6), an edge (18, as published) or a corner (26) are of
    one component. iou, matching: as of `lesion_recall`.
    """

    name = "fnv"
    title = "FNV"
    source = AUTOPET

    def measure(self, pair: MaskPair) -> float | None:
        """The volume in ml; None without lesions."""
        return pair.ml(self.missed(pair).sum()) if pair.truth.any() else None


@dataclass(frozen=True)
class LargestMissed(_LesionVolume):
    """Largest missed lesion in ml: of the components of the target without any voxel of the answer. None missed: 0.

    A target without voxels has no value. A failed session counts as infinite. connectivity: as of `fnv`. iou, matching:
    as of `lesion_recall`.
    """

    name = "largest_missed"
    title = "Largest missed"

    def measure(self, pair: MaskPair) -> float | None:
        """The volume in ml; None without lesions."""
        return pair.ml(self.missed(pair).max(initial=0)) if pair.truth.any() else None
