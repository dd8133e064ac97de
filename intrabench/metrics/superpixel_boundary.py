"""How well boundaries of superpixels follow those of an annotation.

In a volume they are counted within slices z, as in a stack of pictures, for all methods: across slices, every voxel of
a method that divides slice by slice is at a boundary, and has one of any annotation next to it. `volume` also counts
those between slices.
"""

from __future__ import annotations

import numpy as np

from intrabench.metrics.partition_metric import partition_metric
from intrabench.specs.specs import switch
from intrabench.specs.values import Millimetres, Share
from intrabench.superpixels.partitions.boundary import chamfer_distances
from intrabench.superpixels.partitions.pair import PartitionPair


@partition_metric("rec", "Rec", most=1.0, version="2")
def boundary_recall(
    pair: PartitionPair,
    diagonal: Share = 0.0025,
    tolerance_mm: Millimetres = switch(0.0),
    volume: bool = switch(False),
) -> float:
    """Rec: the share of the annotation's boundary with a boundary of superpixels nearby; 0 if it has no boundary.

    Nearby means inside a square window of `diagonal` times the diagonal of the slice to each side, rounded to voxels,
    or of `tolerance_mm` if that is given. volume: boundaries between slices count, too, in a box instead of a square.
    """
    pair = pair if volume else pair.in_slices
    hits = pair.hits(pair.reach(diagonal, tolerance_mm))
    return hits / max(1, pair.annotation.boundary_voxels)


@partition_metric("pre", "Pre", most=1.0, version="2")
def boundary_precision(
    pair: PartitionPair,
    diagonal: Share = 0.0025,
    tolerance_mm: Millimetres = switch(0.0),
    volume: bool = switch(False),
) -> float:
    """Pre: the hits of `rec` by hits and boundary voxels of superpixels without a boundary of the annotation nearby.

    diagonal, tolerance_mm: what is nearby, as for `rec`. volume: as of `rec`.
    """
    pair = pair if volume else pair.in_slices
    reach = pair.reach(diagonal, tolerance_mm)
    hits = pair.hits(reach)
    return hits / max(1, hits + pair.false_alarms(reach))


@partition_metric("mde", "MDE", "mm", best="low", version="2")
def mean_distance_to_edge(pair: PartitionPair, volume: bool = switch(False)) -> float | None:
    """MDE: the mean distance of the annotation's boundary voxels to the nearest boundary of superpixels.

    Exact distances; `mde_chamfer` has those of the published program. In a slice of a volume without a boundary of
    superpixels the distance is its diagonal. No value of pictures if either has no boundary. volume: as of `rec`.
    """
    pair = pair if volume else pair.in_slices
    return pair.distance_mm / pair.annotation.boundary_voxels if _has_distances(pair) else None


@partition_metric("mde_paper", "MDE (eq. 9)", "mm", best="low", version="2")
def mean_distance_to_edge_as_printed(pair: PartitionPair, volume: bool = switch(False)) -> float | None:
    """MDE as the paper prints it (eq. 9): the same sum, but by all voxels of the image.

    Without a boundary as `mde`. volume: as of `rec`.
    """
    pair = pair if volume else pair.in_slices
    return pair.distance_mm / pair.annotation.labels.size if _has_distances(pair) else None


@partition_metric("mde_chamfer", "MDE (chamfer)", "px", best="low")
def mean_chamfer_distance_to_edge(pair: PartitionPair) -> float | None:
    """MDE of pictures with the distances of the published program, which are those of OpenCV with a mask of 3.

    No value in volumes, or if either has no boundary.
    """
    if len(pair.partition.axes) == 3 or not _has_distances(pair):
        return None
    flat = next(axis for axis in range(3) if axis not in pair.partition.axes)
    distances = chamfer_distances(np.take(pair.partition.boundary_mask, 0, flat))
    return float(distances[np.take(pair.annotation.boundary_mask, 0, flat)].mean())


@partition_metric("cd", "CD", best="low", most=1.0, version="2")
def contour_density(pair: PartitionPair, volume: bool = switch(False)) -> float:
    """CD: the share of all voxels that are boundary of superpixels. volume: as of `rec`."""
    partition = pair.partition if volume else pair.partition.in_slices
    return partition.boundary_voxels / partition.labels.size


def _has_distances(pair: PartitionPair) -> bool:
    """Both have a boundary, or at least the annotation of a stack."""
    return (pair.partition.stacked or pair.partition.boundary_voxels > 0) and pair.annotation.boundary_voxels > 0
