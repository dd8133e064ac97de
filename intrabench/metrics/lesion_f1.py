"""Lesion-wise F1: how many lesions were found, however well they are outlined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.metrics.base import Metric
from intrabench.metrics.mask_pair import MaskPair


@dataclass(frozen=True)
class LesionF1(Metric):
    """Lesion-wise F1 over connected components, as in the ISLES 2022 challenge.

    A component of the target is found where one voxel of it is in the answer; a component of the answer without a voxel
    of the target is a false positive. F1 = 2 TP / (2 TP + FP + FN). Both empty: 1; one empty: 0.

    M. R. Hernandez Petzsche et al., "ISLES 2022: A multi-center magnetic resonance imaging stroke lesion segmentation
    dataset" (Scientific Data 2022), and the challenge's code. connectivity: voxels that share a face (6), an edge (18)
    or a corner (26, as published) are of one component.
    """

    name = "lesion_f1"
    title = "Lesion F1"

    connectivity: int = 26

    def __post_init__(self) -> None:
        if self.connectivity not in (6, 18, 26):
            raise ValueError(f"connectivity={self.connectivity} is unknown; give 6, 18 or 26")

    def measure(self, pair: MaskPair) -> float:
        """F1, 0 to 1."""
        lesions, found = self._components(pair.truth_array, pair.answer_array)
        answers, right = self._components(pair.answer_array, pair.truth_array)
        total = 2 * found + (lesions - found) + (answers - right)
        return 2 * found / total if total else 1.0

    def _components(self, mask: NDArray[np.bool_], other: NDArray[np.bool_]) -> tuple[int, int]:
        """The number of components of a mask, and of those that have a voxel of the other."""
        from cc3d import connected_components

        connectivity: Any = self.connectivity
        # without a rim of zeros, cc3d 4.1 fails on some arrays with two axes of length 1
        labels, count = connected_components(np.pad(mask, 1), connectivity=connectivity, return_N=True)
        return int(count), int(np.count_nonzero(np.unique(labels[1:-1, 1:-1, 1:-1][other])))
