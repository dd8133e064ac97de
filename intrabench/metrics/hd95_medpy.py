"""95 % Hausdorff distance as ToothFairy3 takes it, with MedPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from intrabench.metrics.distance import MEDPY, Distance
from intrabench.metrics.hausdorff import hausdorff_as
from intrabench.metrics.mask_pair import MaskPair
from intrabench.specs.specs import Reach, switch


@dataclass(frozen=True)
class MedPyHausdorffDistance95(Distance):
    """95 % Hausdorff distance as MedPy takes it: of both ways together, from voxel to voxel.

    The surface of a mask is its voxels that have a face to the outside, and the percentile is that of all distances of
    both surfaces, each voxel counted once. Both empty: 0; one empty: the diagonal of the scan, as ToothFairy3 has it. A
    failed session counts as infinite. spacing: voxel ignores the size of voxels. `hd95:definition=medpy` is the same in
    mm, with a miss like other distances.
    """

    name = "hd95_medpy"
    title = "HD95 of MedPy"
    source = MEDPY

    spacing: Literal["voxel", "mm"] = "voxel"
    miss: Annotated[str, Reach()] = switch("diagonal")

    def between(self, pair: MaskPair) -> float:
        """The 95th percentile of the distances of both surfaces."""
        return hausdorff_as("medpy", pair, 95.0)

    @property
    def worst_column(self) -> str:
        """None: the diagonal is of an empty answer, and an answer that failed counts as infinite."""
        return ""
