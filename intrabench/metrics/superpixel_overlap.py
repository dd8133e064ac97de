"""How far superpixels overlap several segments of an annotation: all from one contingency table."""

from __future__ import annotations

import numpy as np

from intrabench.metrics.partition_metric import partition_metric
from intrabench.specs.values import Share
from intrabench.superpixels.partitions.pair import PartitionPair


@partition_metric("ue_np", "UE", best="low", most=1.0)
def undersegmentation_error(pair: PartitionPair) -> float:
    """UE_NP, the paper's UE: of each overlap of superpixel and segment the smaller side, by all voxels.

    Neubert and Protzel 2012; at most twice UE_Bergh.
    """
    table = pair.contingency
    outside = table.sizes[table.superpixels] - table.voxels
    return float(np.minimum(table.voxels, outside).sum() / table.total)


@partition_metric("ue_bergh", "UE (Bergh)", best="low", most=1.0)
def undersegmentation_error_bergh(pair: PartitionPair) -> float:
    """UE_Bergh: the share of voxels outside of the segment that their superpixel shares most with; it is 1 - ASA.

    Van den Bergh et al. 2012.
    """
    table = pair.contingency
    return float((table.sizes - table.largest_of_superpixels).sum() / table.total)


@partition_metric("ue_levin", "UE (Levin)", best="low")
def undersegmentation_error_levin(pair: PartitionPair) -> float:
    """UE_Levin: by how much the superpixels that touch a segment exceed it, by its size; the mean of all segments.

    Levinshtein et al. 2009. Labels that do not occur are no segments, unlike in the published program.
    """
    table = pair.contingency
    covering = np.bincount(table.segments, table.sizes[table.superpixels], len(table.segment_sizes))
    return float((covering / table.segment_sizes - 1).mean())


@partition_metric("ue_achanta", "UE (Achanta)", best="low")
def undersegmentation_error_achanta(pair: PartitionPair, share: Share = 0.05) -> float:
    """UE_Achanta: by how much the superpixels that overlap segments exceed the image, by its voxels; 0 is best.

    An overlap counts if it is more than `share` of the superpixel, so a superpixel counts once for each segment of
    which it has that. One that has it of none counts once. Achanta et al. 2012.
    """
    table = pair.contingency
    counts = table.voxels > share * table.sizes[table.superpixels]
    times = np.bincount(table.superpixels[counts], minlength=len(table.sizes))
    return float((table.sizes * np.maximum(times - 1, 0)).sum() / table.total)


@partition_metric("asa", "ASA", most=1.0)
def achievable_segmentation_accuracy(pair: PartitionPair) -> float:
    """ASA: the share of voxels that are right if each superpixel becomes the segment that it shares most with."""
    return float(pair.contingency.largest_of_superpixels.sum() / pair.contingency.total)


@partition_metric("oe", "OE", best="low", most=1.0)
def oversegmentation_error(pair: PartitionPair) -> float:
    """OE: the share of voxels outside of the superpixel that their segment shares most with."""
    table = pair.contingency
    return float((table.segment_sizes - table.largest_of_segments).sum() / table.total)
