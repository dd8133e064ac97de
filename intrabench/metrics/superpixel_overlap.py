"""How far superpixels overlap several segments of an annotation: all from one contingency table."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from intrabench.metrics.partition_metric import PartitionMetric
from intrabench.superpixels.partitions.pair import PartitionPair


@dataclass(frozen=True)
class UndersegmentationError(PartitionMetric):
    """UE_NP, the paper's UE: of each overlap of superpixel and segment the smaller side, by all voxels.

    Neubert and Protzel 2012; at most twice UE_Bergh.
    """

    name = "ue_np"
    title = "UE"
    best = "low"
    worst = 1.0
    bounds = (0.0, 1.0)

    def compare(self, pair: PartitionPair) -> float:
        """From 0."""
        table = pair.contingency
        outside = table.sizes[table.superpixels] - table.voxels
        return float(np.minimum(table.voxels, outside).sum() / table.total)


@dataclass(frozen=True)
class UndersegmentationErrorBergh(PartitionMetric):
    """UE_Bergh: the share of voxels outside of the segment that their superpixel shares most with; it is 1 - ASA.

    Van den Bergh et al. 2012.
    """

    name = "ue_bergh"
    title = "UE (Bergh)"
    best = "low"
    worst = 1.0
    bounds = (0.0, 1.0)

    def compare(self, pair: PartitionPair) -> float:
        """0 to 1."""
        table = pair.contingency
        return float((table.sizes - table.largest_of_superpixels).sum() / table.total)


@dataclass(frozen=True)
class UndersegmentationErrorLevin(PartitionMetric):
    """UE_Levin: by how much the superpixels that touch a segment exceed it, by its size; the mean of all segments.

    Levinshtein et al. 2009. Labels that do not occur are no segments, unlike in the published program.
    """

    name = "ue_levin"
    title = "UE (Levin)"
    best = "low"
    worst = math.inf
    bounds = (0.0, math.inf)

    def compare(self, pair: PartitionPair) -> float:
        """From 0."""
        table = pair.contingency
        covering = np.bincount(table.segments, table.sizes[table.superpixels], len(table.segment_sizes))
        return float((covering / table.segment_sizes - 1).mean())


@dataclass(frozen=True)
class AchievableSegmentationAccuracy(PartitionMetric):
    """ASA: the share of voxels that are right if each superpixel becomes the segment that it shares most with."""

    name = "asa"
    title = "ASA"
    bounds = (0.0, 1.0)

    def compare(self, pair: PartitionPair) -> float:
        """0 to 1."""
        return float(pair.contingency.largest_of_superpixels.sum() / pair.contingency.total)


@dataclass(frozen=True)
class OversegmentationError(PartitionMetric):
    """OE: the share of voxels outside of the superpixel that their segment shares most with."""

    name = "oe"
    title = "OE"
    best = "low"
    worst = 1.0
    bounds = (0.0, 1.0)

    def compare(self, pair: PartitionPair) -> float:
        """0 to 1."""
        table = pair.contingency
        return float((table.segment_sizes - table.largest_of_segments).sum() / table.total)
