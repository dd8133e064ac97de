"""How well boundaries of superpixels follow those of an annotation."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from intrabench.metrics.partition_metric import PartitionMetric
from intrabench.specs.specs import switch
from intrabench.specs.values import Millimetres, Share
from intrabench.superpixels.partitions.boundary import chamfer_distances
from intrabench.superpixels.partitions.pair import PartitionPair


@dataclass(frozen=True)
class BoundaryRecall(PartitionMetric):
    """Rec: the share of the annotation's boundary with a boundary of superpixels nearby; 0 if it has no boundary.

    Nearby means inside a square window (in a volume a box) of `diagonal` times the image's diagonal to each side,
    rounded to voxels, or of `tolerance_mm` if that is given.
    """

    name = "rec"
    title = "Rec"
    bounds = (0.0, 1.0)

    diagonal: Share = 0.0025
    tolerance_mm: Millimetres = switch(0.0)

    def compare(self, pair: PartitionPair) -> float:
        """Hits by all boundary voxels of the annotation, 0 to 1."""
        hits = pair.hits(pair.reach(self.diagonal, self.tolerance_mm))
        return hits / max(1, pair.annotation.boundary_voxels)


@dataclass(frozen=True)
class BoundaryPrecision(PartitionMetric):
    """Pre: the hits of `rec` by hits and boundary voxels of superpixels without a boundary of the annotation nearby."""

    name = "pre"
    title = "Pre"
    bounds = (0.0, 1.0)

    diagonal: Share = 0.0025
    tolerance_mm: Millimetres = switch(0.0)

    def compare(self, pair: PartitionPair) -> float:
        """Hits by hits and false alarms, 0 to 1; 0 without either."""
        reach = pair.reach(self.diagonal, self.tolerance_mm)
        hits = pair.hits(reach)
        return hits / max(1, hits + pair.false_alarms(reach))


@dataclass(frozen=True)
class MeanDistanceToEdge(PartitionMetric):
    """MDE: the mean distance of the annotation's boundary voxels to the nearest boundary of superpixels.

    Exact distances; `mde_chamfer` has those of the published program.
    """

    name = "mde"
    title = "MDE"
    unit = "mm"
    best = "low"
    worst = math.inf
    bounds = (0.0, math.inf)

    def compare(self, pair: PartitionPair) -> float | None:
        """Millimetres, in pictures pixels; None if one of the two has no boundary."""
        return pair.distance_mm / pair.annotation.boundary_voxels if _both_have_one(pair) else None


@dataclass(frozen=True)
class MeanDistanceToEdgeAsPrinted(PartitionMetric):
    """MDE as the paper prints it (eq. 9): the same sum, but by all voxels of the image."""

    name = "mde_paper"
    title = "MDE (eq. 9)"
    unit = "mm"
    best = "low"
    worst = math.inf
    bounds = (0.0, math.inf)

    def compare(self, pair: PartitionPair) -> float | None:
        """Millimetres, in pictures pixels; None if one of the two has no boundary."""
        return pair.distance_mm / pair.annotation.labels.size if _both_have_one(pair) else None


@dataclass(frozen=True)
class MeanChamferDistanceToEdge(PartitionMetric):
    """MDE of pictures with the distances of the published program, which are those of OpenCV with a mask of 3."""

    name = "mde_chamfer"
    title = "MDE (chamfer)"
    unit = "px"
    best = "low"
    worst = math.inf
    bounds = (0.0, math.inf)

    def compare(self, pair: PartitionPair) -> float | None:
        """Pixels; None for volumes, and if one of the two has no boundary."""
        if len(pair.partition.axes) == 3 or not _both_have_one(pair):
            return None
        flat = next(axis for axis in range(3) if axis not in pair.partition.axes)
        distances = chamfer_distances(np.take(pair.partition.boundary_mask, 0, flat))
        return float(distances[np.take(pair.annotation.boundary_mask, 0, flat)].mean())


@dataclass(frozen=True)
class ContourDensity(PartitionMetric):
    """CD: the share of all voxels that are boundary of superpixels."""

    name = "cd"
    title = "CD"
    best = "low"
    worst = 1.0
    bounds = (0.0, 1.0)

    def compare(self, pair: PartitionPair) -> float:
        """0 to 1."""
        return pair.partition.boundary_voxels / pair.partition.labels.size


def _both_have_one(pair: PartitionPair) -> bool:
    """Both have a boundary."""
    return pair.partition.boundary_voxels > 0 and pair.annotation.boundary_voxels > 0
