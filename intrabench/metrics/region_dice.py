"""Dice and surface Dice in the region of each lesion."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Literal

import numpy as np

from intrabench.mask import Floats
from intrabench.metrics.base import Metric
from intrabench.metrics.distance import SURFACE
from intrabench.metrics.mask_pair import MaskPair
from intrabench.metrics.parts.lesions import Lesions, check_matching
from intrabench.metrics.parts.surface import Surface, surface_dice, surface_distances
from intrabench.metrics.parts.transform import Spacing
from intrabench.specs.specs import switch
from intrabench.specs.values import Millimetres

REGIONS = "A. Jaus et al., Every component counts, arXiv 2410.18684"


@dataclass(frozen=True)
class _RegionMetric(Metric):
    bounds = (0.0, 1.0)
    needs = frozenset({"spacing"})
    source = REGIONS

    connectivity: int = 26
    spacing: Literal["mm", "voxel"] = switch("mm")

    def __post_init__(self) -> None:
        check_matching(self.connectivity)

    def measure(self, pair: MaskPair) -> float | None:
        """The mean, 0 to 1; None without lesions."""
        if not pair.truth.any():
            return None
        spacing_mm = pair.upright.spacing_mm
        size = spacing_mm if self.spacing == "mm" else (1.0, 1.0, 1.0)
        return float(np.mean(self.of_lesions(pair.lesions(self.connectivity), size, spacing_mm)))

    @abstractmethod
    def of_lesions(self, lesions: Lesions, size: Spacing, spacing_mm: Spacing) -> Floats:
        """(n,) of each lesion; size: of voxels where it is asked what is nearest."""


@dataclass(frozen=True)
class RegionDice(_RegionMetric):
    """Region-wise Dice: each voxel belongs to its nearest lesion; the mean of the Dice in the regions of lesions.

    Lesions, connected components of the target, count the same, whatever their size, and nothing is matched. No answer:
    0. A target without voxels has no value. connectivity: voxels that share a face (6), an edge (18) or a corner (26)
    are of one component. spacing: voxel takes voxels as cubes to tell what is nearest. Voxels equally near to several
    lesions belong to the first in z, y, x order.
    """

    name = "region_dice"
    version = "2"
    title = "Region-wise Dice"

    def of_lesions(self, lesions: Lesions, size: Spacing, spacing_mm: Spacing) -> Floats:
        """The Dice of a lesion with what of the answer is in its region."""
        return lesions.region_dice(size)


@dataclass(frozen=True)
class RegionNsd(_RegionMetric):
    """Region-wise NSD: each voxel belongs to its nearest lesion; the mean surface Dice of these regions.

    Surface Dice is `nsd` of the lesion and of what of the answer is in its region; a part in several regions is cut. No
    answer: 0. A target without voxels has no value. connectivity, spacing: as of `region_dice`. tolerance_mm: as of
    `nsd`.
    """

    name = "region_nsd"
    title = "Region-wise NSD"
    source = f"{REGIONS}; {SURFACE}"

    tolerance_mm: Millimetres = 2.0

    def of_lesions(self, lesions: Lesions, size: Spacing, spacing_mm: Spacing) -> Floats:
        """The surface Dice of a lesion with what of the answer is in its region."""
        pairs = (
            (Surface(truth, spacing_mm), Surface(answer, spacing_mm)) for truth, answer in lesions.in_regions(size)
        )
        return np.array([surface_dice(surface_distances(*pair), self.tolerance_mm) for pair in pairs])
