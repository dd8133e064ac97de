"""How compact superpixels are, how many, how large, and how long they took. These need no annotation."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from intrabench.metrics.partition_metric import PartitionMetric
from intrabench.superpixels.partitions.pair import PartitionPair
from intrabench.superpixels.partitions.partition import Partition


@dataclass(frozen=True)
class Compactness(PartitionMetric):
    """CO: the area of a superpixel by that of a disc with its perimeter; the mean, weighted by area (Schick 2012).

    A square has pi/4. In volumes it is the sphericity, 36 pi V² / A³, of which a cube has pi/6. Sides of voxels count
    as surface, those at the border of the image, too.
    """

    name = "co"
    title = "CO"
    bounds = (0.0, 1.0)

    def compare(self, pair: PartitionPair) -> float:
        """0 to 1."""
        partition = pair.partition
        size, surface = _size_and_surface(partition)
        if len(partition.axes) == 2:
            roundness = 4 * math.pi * size / surface**2
        else:
            roundness = 36 * math.pi * size**2 / surface**3
        return float((roundness * partition.sizes).sum() / partition.labels.size)


@dataclass(frozen=True)
class CompactnessAsPrinted(PartitionMetric):
    """CO of pictures as the paper prints it (eq. 6): the perimeter is not squared."""

    name = "co_paper"
    title = "CO (eq. 6)"
    bounds = (0.0, math.inf)

    def compare(self, pair: PartitionPair) -> float | None:
        """In pixels; None for volumes."""
        if len(pair.partition.axes) == 3:
            return None
        area, perimeter = _size_and_surface(pair.partition)
        return float((4 * math.pi * area / perimeter * pair.partition.sizes).sum() / pair.partition.labels.size)


@dataclass(frozen=True)
class NumberOfSuperpixels(PartitionMetric):
    """The number of superpixels K, after each component became one."""

    name = "sp"
    title = "K"
    bounds = (0.0, math.inf)

    def compare(self, pair: PartitionPair) -> float:
        """From 1."""
        return float(pair.partition.count)


@dataclass(frozen=True)
class ExtraComponents(PartitionMetric):
    """How many of the superpixels are components that were no superpixel of their own before."""

    name = "sp_extra"
    title = "split off"
    best = "low"
    worst = math.inf
    bounds = (0.0, math.inf)

    def compare(self, pair: PartitionPair) -> float:
        """From 0."""
        return float(pair.partition.extra)


@dataclass(frozen=True)
class MeanSize(PartitionMetric):
    """The mean number of voxels of a superpixel."""

    name = "sp_size_mean"
    title = "mean size"
    unit = "voxels"
    bounds = (0.0, math.inf)

    def compare(self, pair: PartitionPair) -> float:
        """Voxels."""
        return float(pair.partition.sizes.mean())


@dataclass(frozen=True)
class SpreadOfSizes(PartitionMetric):
    """The standard deviation of the number of voxels of a superpixel (of all, not of a sample)."""

    name = "sp_size_std"
    title = "SD of sizes"
    unit = "voxels"
    best = "low"
    worst = math.inf
    bounds = (0.0, math.inf)

    def compare(self, pair: PartitionPair) -> float:
        """Voxels."""
        return float(pair.partition.sizes.std())


@dataclass(frozen=True)
class SmallestSize(PartitionMetric):
    """The voxels of the smallest superpixel."""

    name = "sp_size_min"
    title = "smallest"
    unit = "voxels"
    bounds = (0.0, math.inf)

    def compare(self, pair: PartitionPair) -> float:
        """Voxels."""
        return float(pair.partition.sizes.min())


@dataclass(frozen=True)
class LargestSize(PartitionMetric):
    """The voxels of the largest superpixel."""

    name = "sp_size_max"
    title = "largest"
    unit = "voxels"
    best = "low"
    worst = math.inf
    bounds = (0.0, math.inf)

    def compare(self, pair: PartitionPair) -> float:
        """Voxels."""
        return float(pair.partition.sizes.max())


@dataclass(frozen=True)
class ComputingTime(PartitionMetric):
    """CPU seconds of the method alone, all its threads together, without reading, relabelling and measuring."""

    name = "cpu_s"
    title = "CPU"
    unit = "s"
    best = "low"
    worst = math.inf
    bounds = (0.0, math.inf)

    def compare(self, pair: PartitionPair) -> float:
        """Seconds."""
        return pair.partition.cpu_s


def _size_and_surface(partition: Partition) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(count,) area and perimeter in mm² and mm, in volumes volume and surface."""
    spacing = [partition.spacing_mm[axis] for axis in partition.axes]
    cell = math.prod(spacing)
    surface = sum(cell / size * faces for size, faces in zip(spacing, partition.faces, strict=True))
    return np.asarray(cell * partition.sizes, np.float64), np.asarray(surface, np.float64)
