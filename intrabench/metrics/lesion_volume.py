"""The volumes of wrongly found and of missed lesions, as in the autoPET challenges."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from intrabench.metrics.base import Best, Metric, Need
from intrabench.metrics.mask_pair import MaskPair
from intrabench.metrics.parts.lesions import check_matching


@dataclass(frozen=True)
class _LesionVolume(Metric):
    unit = "ml"
    best: ClassVar[Best] = "low"
    worst = math.inf
    bounds = (0.0, math.inf)
    needs: ClassVar[frozenset[Need]] = frozenset({"spacing"})

    connectivity: int = 18

    def __post_init__(self) -> None:
        check_matching(self.connectivity)


@dataclass(frozen=True)
class FalsePositiveVolume(_LesionVolume):
    """False positive volume in ml: that of components of the answer without any voxel of the target.

    As in the autoPET challenges. Both empty, or no answer: 0. A failed session counts as infinite. connectivity: voxels
    that share a face (6), an edge (18, as published) or a corner (26) are of one component.
    """

    name = "fpv"
    title = "FPV"

    def measure(self, pair: MaskPair) -> float:
        """The volume in ml."""
        lesions = pair.lesions(self.connectivity)
        return int(lesions.answer[~lesions.right()].sum()) * math.prod(pair.spacing_mm) / 1000


@dataclass(frozen=True)
class FalseNegativeVolume(_LesionVolume):
    """False negative volume in ml: that of components of the target without any voxel of the answer.

    As in the autoPET challenges. No answer: the target's volume. A target without voxels has no value. A failed session
    counts as infinite. connectivity: voxels that share a face (6), an edge (18, as published) or a corner (26) are of
    one component.
    """

    name = "fnv"
    title = "FNV"

    def measure(self, pair: MaskPair) -> float | None:
        """The volume in ml; None without lesions."""
        if not pair.truth.any():
            return None
        lesions = pair.lesions(self.connectivity)
        return int(lesions.truth[~lesions.found()].sum()) * math.prod(pair.spacing_mm) / 1000
