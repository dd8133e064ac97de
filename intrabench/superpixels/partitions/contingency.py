"""How many voxels the regions of two partitions have in common, from which all metrics of overlap follow."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from intrabench.superpixels.partitions.partition import Partition
from intrabench.superpixels.partitions.slabs import MOST_VOXELS, slabs

DENSE = 2**23
"""Entries of a table that may be counted at once; a larger one is collected from the pairs that occur."""


@dataclass(frozen=True, eq=False)
class Contingency:
    """The pairs of regions that overlap, ordered by the first: superpixel, segment of the annotation, voxels.

    sizes, segment_sizes: voxels of each superpixel and of each segment.
    """

    superpixels: NDArray[np.int64]
    segments: NDArray[np.int64]
    voxels: NDArray[np.int64]
    sizes: NDArray[np.int64]
    segment_sizes: NDArray[np.int64]

    @classmethod
    def of(cls, partition: Partition, annotation: Partition) -> Contingency:
        """Count the voxels of all pairs in one pass."""
        most = partition.count * annotation.count
        pairs, voxels = (_dense if most <= DENSE else _sparse)(partition, annotation, most)
        superpixels, segments = np.divmod(pairs, annotation.count)
        return cls(superpixels, segments, voxels, partition.sizes, annotation.sizes)

    @property
    def total(self) -> int:
        """Voxels of the image."""
        return int(self.sizes.sum())

    @cached_property
    def largest_of_superpixels(self) -> NDArray[np.int64]:
        """(superpixels,) the voxels that each shares with the segment it shares most with."""
        found = np.zeros_like(self.sizes)
        np.maximum.at(found, self.superpixels, self.voxels)
        return found

    @cached_property
    def largest_of_segments(self) -> NDArray[np.int64]:
        """(segments,) the voxels that each shares with the superpixel it shares most with."""
        found = np.zeros_like(self.segment_sizes)
        np.maximum.at(found, self.segments, self.voxels)
        return found


def _dense(partition: Partition, annotation: Partition, most: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    table = np.zeros(most, np.int64)
    for where in slabs(partition.shape, max(most, MOST_VOXELS)):  # adding up large tables would take the time
        joint = partition.labels[where].astype(np.intp)  # what bincount counts without another copy
        joint *= annotation.count
        joint += annotation.labels[where]
        table += np.bincount(joint.ravel(), minlength=most)
    pairs = np.flatnonzero(table)
    return pairs, table[pairs]


def _sparse(partition: Partition, annotation: Partition, most: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    found = []
    for where in slabs(partition.shape):
        joint = partition.labels[where] * np.int64(annotation.count) + annotation.labels[where]
        found.append(np.unique(joint, return_counts=True))
    pairs, place = np.unique(np.concatenate([pairs for pairs, _ in found]), return_inverse=True)
    voxels = np.concatenate([voxels for _, voxels in found])
    return pairs, np.bincount(place, voxels, len(pairs)).astype(np.int64)
