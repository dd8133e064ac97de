"""Voxel counts and what follows from them: Dice and IoU."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from intrabench.mask import Mask, box_slices, intersection


@dataclass(frozen=True)
class Overlap:
    """Voxels of the target, of the answer and of both."""

    truth: int
    answer: int
    common: int

    @classmethod
    def of(cls, truth: Mask, answer: Mask) -> Overlap:
        """Count; only the common box of both masks is looked at."""
        box = intersection(truth.box, answer.box)
        if box is None:
            return cls(truth.voxels, answer.voxels, 0)
        both = truth.array[box_slices(box, truth.start)] & answer.array[box_slices(box, answer.start)]
        common = int(np.count_nonzero(both))
        return cls(truth.voxels, answer.voxels, common)

    @property
    def false_positives(self) -> int:
        """Voxels of the answer outside of the target, anywhere in the volume."""
        return self.answer - self.common

    @property
    def false_negatives(self) -> int:
        """Voxels of the target that the answer lacks."""
        return self.truth - self.common

    @property
    def dice(self) -> float:
        """2 |A and B| / (|A| + |B|); both empty 1, one empty 0."""
        total = self.truth + self.answer
        return 2 * self.common / total if total else 1.0

    @property
    def iou(self) -> float:
        """|A and B| / |A or B|; both empty 1, one empty 0."""
        union = self.truth + self.answer - self.common
        return self.common / union if union else 1.0
