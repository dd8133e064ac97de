"""Superpixels and an annotation of the same image: what metrics of over-segmentation are given."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from intrabench.superpixels.partitions.bits import counted
from intrabench.superpixels.partitions.boundary import near
from intrabench.superpixels.partitions.contingency import Contingency
from intrabench.superpixels.partitions.distance import distance_sum
from intrabench.superpixels.partitions.partition import Partition


@dataclass(frozen=True, eq=False)
class PartitionPair:
    """A partition and an annotation of one image. What several metrics need is computed once."""

    partition: Partition
    annotation: Partition

    @cached_property
    def contingency(self) -> Contingency:
        """The voxels that superpixels and segments have in common."""
        return Contingency.of(self.partition, self.annotation)

    @cached_property
    def in_slices(self) -> PartitionPair:
        """The same as a stack of pictures, so that boundaries are counted within slices; of a picture itself."""
        if len(self.partition.axes) == 2:
            return self
        return PartitionPair(self.partition.in_slices, self.annotation.in_slices)

    def reach(self, diagonal: float, tolerance_mm: float = 0.0) -> tuple[int, ...]:
        """The tolerance in voxels along each axis: so many millimetres, or else this share of the diagonal."""
        mm = tolerance_mm or diagonal * self.partition.diagonal_mm
        axes = self.partition.axes
        return tuple(int(mm / size + 0.5) if axis in axes else 0 for axis, size in enumerate(self.partition.spacing_mm))

    def hits(self, reach: tuple[int, ...]) -> int:
        """Boundary voxels of the annotation that have one of the superpixels in the window of `reach`."""
        if reach not in self._hits:
            self._hits[reach] = counted(self.annotation.boundary & near(self.partition.boundary, reach))
        return self._hits[reach]

    def false_alarms(self, reach: tuple[int, ...]) -> int:
        """Boundary voxels of superpixels that have none of the annotation in that window."""
        return counted(self.partition.boundary & ~near(self.annotation.boundary, reach))

    @cached_property
    def distance_mm(self) -> float:
        """The distances of the annotation's boundary voxels to the nearest one of superpixels, summed.

        Both need a boundary; but in a stack a slice without superpixels' boundary is a diagonal away from it.
        """
        found, partition = None, self.partition
        if partition.stacked or len(partition.axes) == 3:  # a picture's distances serve all its annotations
            found = distance_sum(self.annotation.boundary, partition.boundary, partition.spacing_mm, partition.axes)
        if found is None:
            distances = partition.boundary_distances_mm[self.annotation.boundary_mask]
            if partition.stacked:
                distances = np.where(np.isfinite(distances), distances, partition.diagonal_mm)
            found = float(distances.sum(dtype=np.float64))
        return found

    @cached_property
    def _hits(self) -> dict[tuple[int, ...], int]:
        return {}
