"""How well boundaries of superpixels follow those of an annotation."""

from __future__ import annotations

import numpy as np

from intrabench.metrics.partition_metric import partition_metric
from intrabench.specs.specs import switch
from intrabench.specs.values import Millimetres, Share
from intrabench.superpixels.partitions.boundary import chamfer_distances
from intrabench.superpixels.partitions.pair import PartitionPair


@partition_metric("rec", "Rec", most=1.0)
def boundary_recall(pair: PartitionPair, diagonal: Share = 0.0025, tolerance_mm: Millimetres = switch(0.0)) -> float:
    """Rec: the share of the annotation's boundary with a boundary of superpixels nearby; 0 if it has no boundary.

    Nearby means inside a square window (in a volume a box) of `diagonal` times the image's diagonal to each side,
    rounded to voxels, or of `tolerance_mm` if that is given.
    """
    hits = pair.hits(pair.reach(diagonal, tolerance_mm))
    return hits / max(1, pair.annotation.boundary_voxels)


@partition_metric("pre", "Pre", most=1.0)
def boundary_precision(pair: PartitionPair, diagonal: Share = 0.0025, tolerance_mm: Millimetres = switch(0.0)) -> float:
    """Pre: the hits of `rec` by hits and boundary voxels of superpixels without a boundary of the annotation nearby.

    diagonal, tolerance_mm: what is nearby, as for `rec`.
    """
    reach = pair.reach(diagonal, tolerance_mm)
    hits = pair.hits(reach)
    return hits / max(1, hits + pair.false_alarms(reach))


@partition_metric("mde", "MDE", "mm", best="low")
def mean_distance_to_edge(pair: PartitionPair) -> float | None:
    """MDE: the mean distance of the annotation's boundary voxels to the nearest boundary of superpixels.

    Exact distances; `mde_chamfer` has those of the published program. No value if either has no boundary.
    """
    return pair.distance_mm / pair.annotation.boundary_voxels if _both_have_one(pair) else None


@partition_metric("mde_paper", "MDE (eq. 9)", "mm", best="low")
def mean_distance_to_edge_as_printed(pair: PartitionPair) -> float | None:
    """MDE as the paper prints it (eq. 9): the same sum, but by all voxels of the image.

    No value if either has no boundary.
    """
    return pair.distance_mm / pair.annotation.labels.size if _both_have_one(pair) else None


@partition_metric("mde_chamfer", "MDE (chamfer)", "px", best="low")
def mean_chamfer_distance_to_edge(pair: PartitionPair) -> float | None:
    """MDE of pictures with the distances of the published program, which are those of OpenCV with a mask of 3.

    No value in volumes, or if either has no boundary.
    """
    if len(pair.partition.axes) == 3 or not _both_have_one(pair):
        return None
    flat = next(axis for axis in range(3) if axis not in pair.partition.axes)
    distances = chamfer_distances(np.take(pair.partition.boundary_mask, 0, flat))
    return float(distances[np.take(pair.annotation.boundary_mask, 0, flat)].mean())


@partition_metric("cd", "CD", best="low", most=1.0)
def contour_density(pair: PartitionPair) -> float:
    """CD: the share of all voxels that are boundary of superpixels."""
    return pair.partition.boundary_voxels / pair.partition.labels.size


def _both_have_one(pair: PartitionPair) -> bool:
    """Both have a boundary."""
    return pair.partition.boundary_voxels > 0 and pair.annotation.boundary_voxels > 0
