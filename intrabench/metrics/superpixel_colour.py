"""How uniform superpixels are in colour and in place. These need no annotation."""

from __future__ import annotations

import numpy as np

from intrabench.metrics.partition_metric import partition_metric
from intrabench.superpixels.partitions.pair import PartitionPair


@partition_metric("ev", "EV", most=1.0)
def explained_variation(pair: PartitionPair) -> float | None:
    """EV: the share of the variance of the image's intensities between superpixels, not within them (Moore 2008)."""
    spread = pair.partition.colour_spread
    return 1 - float(spread.within.sum()) / spread.total if spread.total else None


@partition_metric("icv", "ICV", best="low")
def intra_cluster_variation(pair: PartitionPair) -> float:
    """ICV: the standard deviation of intensities within a superpixel, channels together; the mean of all superpixels.

    Benesova and Kottman 2014, as the published program computes it, except that labels that do not occur do not count.
    """
    return float(np.sqrt(pair.partition.colour_spread.within / pair.partition.sizes).mean())


@partition_metric("icv_paper", "ICV (eq. 8)", best="low")
def intra_cluster_variation_as_printed(pair: PartitionPair) -> float:
    """ICV as the paper prints it (eq. 8): the root of the sum of squares by the size, without a root around that."""
    return float((np.sqrt(pair.partition.colour_spread.within) / pair.partition.sizes).mean())


@partition_metric("sse_rgb", "SSE (colour)", best="low")
def squared_error_of_colour(pair: PartitionPair) -> float:
    """SSE_rgb: the mean squared difference of a voxel's colour to the mean of its superpixel, channels added up."""
    return float(pair.partition.colour_spread.within.sum() / pair.partition.labels.size)


@partition_metric("sse_xy", "SSE (place)", "mm²", best="low")
def squared_error_of_place(pair: PartitionPair) -> float:
    """SSE_xy: the mean squared distance of a voxel to the centre of its superpixel."""
    return pair.partition.place_residual / pair.partition.labels.size
