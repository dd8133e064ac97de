"""How good an answer can be that is a union of supervoxels, and in which order to click them.

Dice is fractional: the best union holds a supervoxel exactly if more than half the best Dice of its voxels are target
(W. Dinkelbach, On nonlinear fractional programming, Management Science 13, 492 (1967)). A majority vote is worse.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Ints, Mask, box_slices
from intrabench.superpixels.partitions.partition import Partition


@dataclass(frozen=True, eq=False)
class Candidates:
    """The supervoxels that a target touches: `labels`, ascending, and how many of their voxels are in it (`inside`).

    sizes: all their voxels, without ignored ones. target: voxels of the target.
    """

    labels: Ints
    inside: Ints
    sizes: Ints
    target: int

    @classmethod
    def of(cls, partition: Partition, target: Mask, ignored: Mask | None = None) -> Candidates:
        """Count in the box of the target; target: without ignored voxels."""
        labels, inside = np.unique(_under(partition, target), return_counts=True)
        sizes = partition.sizes[labels]
        if ignored is not None and ignored.any():
            dropped, counts = np.unique(_under(partition, ignored), return_counts=True)
            shared = np.isin(dropped, labels)
            sizes = sizes.copy()
            sizes[np.searchsorted(labels, dropped[shared])] -= counts[shared]
        return cls(labels.astype(np.int64), inside, sizes, target.voxels)

    @property
    def purity(self) -> NDArray[np.float64]:
        """The share of each that is target."""
        return self.inside / self.sizes

    def dice(self, chosen: NDArray[np.bool_]) -> float:
        """Dice of a union."""
        total = self.target + self.sizes[chosen].sum()
        return float(2 * self.inside[chosen].sum() / total) if total else 1.0

    def best(self) -> NDArray[np.bool_]:
        """The union with the largest Dice, without supervoxels that do not change it."""
        chosen, dice = np.ones(len(self.labels), bool), -1.0
        while (found := self.dice(chosen)) > dice:
            dice = found
            chosen = 2 * self.inside > dice * self.sizes
        return chosen

    def order(self, chosen: NDArray[np.bool_]) -> list[int]:
        """The labels of a union, each the one that then adds most to Dice; among equals the smallest label."""
        left = np.flatnonzero(chosen)
        hit, total, found = 0, self.target, []
        while len(left):
            gain = (hit + self.inside[left]) / (total + self.sizes[left])
            first = int(gain.argmax())
            hit += int(self.inside[left[first]])
            total += int(self.sizes[left[first]])
            found.append(int(self.labels[left[first]]))
            left = np.delete(left, first)
        return found


def _under(partition: Partition, mask: Mask) -> NDArray[np.int32]:
    """The labels of the voxels of a mask."""
    found: NDArray[np.int32] = partition.labels[box_slices(mask.box)][mask.array]
    return found
