"""Lesion-wise F1: how many lesions were found, however well they are outlined."""

from __future__ import annotations

from dataclasses import dataclass

from intrabench.metrics.base import Metric
from intrabench.metrics.mask_pair import MaskPair
from intrabench.metrics.parts.lesions import check_matching


@dataclass(frozen=True)
class LesionF1(Metric):
    """Lesion-wise F1 over connected components, as in the ISLES 2022 challenge.

    A component of the target is found where one voxel of it is in the answer; a component of the answer without a voxel
    of the target is a false positive. F1 = 2 TP / (2 TP + FP + FN). Both empty: 1; one empty: 0.

    connectivity: voxels that share a face (6), an edge (18) or a corner (26, as published) are of one component. `dmm`
    asks for an overlap, too.
    """

    name = "lesion_f1"
    title = "Lesion F1"
    bounds = (0.0, 1.0)
    source = (
        "M. R. Hernandez Petzsche et al., ISLES 2022: A multi-center magnetic resonance imaging stroke lesion "
        "segmentation dataset, Scientific Data 2022"
    )

    connectivity: int = 26

    def __post_init__(self) -> None:
        check_matching(self.connectivity)

    def measure(self, pair: MaskPair) -> float:
        """F1, 0 to 1."""
        found = pair.lesions(self.connectivity).matched().f1
        return 1.0 if found is None else found
