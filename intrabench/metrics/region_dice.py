"""Dice in the region of each lesion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from intrabench.metrics.base import Metric
from intrabench.metrics.mask_pair import MaskPair
from intrabench.metrics.parts.lesions import check_matching
from intrabench.specs.specs import switch


@dataclass(frozen=True)
class RegionDice(Metric):
    """Region-wise Dice: each voxel belongs to its nearest lesion; the mean of the Dice in the regions of lesions.

    Lesions, connected components of the target, count the same, whatever their size, and nothing is matched. No answer:
    0. A target without voxels has no value. connectivity: voxels that share a face (6), an edge (18) or a corner (26)
    are of one component. spacing: voxel takes voxels as cubes to tell what is nearest. Voxels equally near to several
    lesions belong to the first in z, y, x order.
    """

    name = "region_dice"
    version = "2"
    title = "Region-wise Dice"
    bounds = (0.0, 1.0)
    needs = frozenset({"spacing"})
    source = "A. Jaus et al., Every component counts, arXiv 2410.18684"

    connectivity: int = 26
    spacing: Literal["mm", "voxel"] = switch("mm")

    def __post_init__(self) -> None:
        check_matching(self.connectivity)

    def measure(self, pair: MaskPair) -> float | None:
        """The mean, 0 to 1; None without lesions."""
        if not pair.truth.any():
            return None
        size = pair.upright.spacing_mm if self.spacing == "mm" else (1.0, 1.0, 1.0)
        return float(pair.lesions(self.connectivity).region_dice(size).mean())
