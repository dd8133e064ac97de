"""How uniform superpixels are in colour and in place. These need no annotation."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from intrabench.metrics.partition_metric import PartitionMetric
from intrabench.superpixels.partitions.pair import PartitionPair


@dataclass(frozen=True)
class ExplainedVariation(PartitionMetric):
    """EV: the share of the variance of the image's intensities between superpixels, not within them (Moore 2008)."""

    name = "ev"
    title = "EV"
    bounds = (0.0, 1.0)

    def compare(self, pair: PartitionPair) -> float | None:
        """0 to 1; None for a constant image."""
        spread = pair.partition.colour_spread
        return 1 - float(spread.within.sum()) / spread.total if spread.total else None


@dataclass(frozen=True)
class IntraClusterVariation(PartitionMetric):
    """ICV: the standard deviation of intensities within a superpixel, channels together; the mean of all superpixels.

    Benesova and Kottman 2014, as the published program computes it, except that labels that do not occur do not count.
    """

    name = "icv"
    title = "ICV"
    best = "low"
    worst = math.inf
    bounds = (0.0, math.inf)

    def compare(self, pair: PartitionPair) -> float:
        """In units of intensity."""
        return float(np.sqrt(pair.partition.colour_spread.within / pair.partition.sizes).mean())


@dataclass(frozen=True)
class IntraClusterVariationAsPrinted(PartitionMetric):
    """ICV as the paper prints it (eq. 8): the root of the sum of squares by the size, without a root around that."""

    name = "icv_paper"
    title = "ICV (eq. 8)"
    best = "low"
    worst = math.inf
    bounds = (0.0, math.inf)

    def compare(self, pair: PartitionPair) -> float:
        """In units of intensity by the root of voxels."""
        return float((np.sqrt(pair.partition.colour_spread.within) / pair.partition.sizes).mean())


@dataclass(frozen=True)
class SquaredErrorOfColour(PartitionMetric):
    """SSE_rgb: the mean squared difference of a voxel's colour to the mean of its superpixel, channels added up."""

    name = "sse_rgb"
    title = "SSE (colour)"
    best = "low"
    worst = math.inf
    bounds = (0.0, math.inf)

    def compare(self, pair: PartitionPair) -> float:
        """In squared units of intensity."""
        return float(pair.partition.colour_spread.within.sum() / pair.partition.labels.size)


@dataclass(frozen=True)
class SquaredErrorOfPlace(PartitionMetric):
    """SSE_xy: the mean squared distance of a voxel to the centre of its superpixel."""

    name = "sse_xy"
    title = "SSE (place)"
    unit = "mm²"
    best = "low"
    worst = math.inf
    bounds = (0.0, math.inf)

    def compare(self, pair: PartitionPair) -> float:
        """In square millimetres, in pictures pixels."""
        return pair.partition.place_residual / pair.partition.labels.size
