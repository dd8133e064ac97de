"""How compact superpixels are, how many, how large, and how long they took. These need no annotation."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from intrabench.metrics.partition_metric import partition_metric
from intrabench.specs.specs import switch
from intrabench.superpixels.partitions.pair import PartitionPair
from intrabench.superpixels.partitions.partition import Partition


@partition_metric("co", "CO", most=1.0, version="2")
def compactness(pair: PartitionPair, volume: bool = switch(False)) -> float:
    """CO: the area of a superpixel by that of a disc with its perimeter; the mean, weighted by area (Schick 2012).

    A square has pi/4. In volumes it is that of the sections with all slices z. Sides of voxels count as perimeter,
    those at the border of the image, too. volume: the sphericity, 36 pi V² / A³, of which a cube has pi/6.
    """
    partition = pair.partition if volume else pair.partition.in_slices
    size, surface = _size_and_surface(partition)
    if len(partition.axes) == 2:
        roundness = 4 * math.pi * size / surface**2
    else:
        roundness = 36 * math.pi * size**2 / surface**3
    return float((roundness * partition.sizes).sum() / partition.labels.size)


@partition_metric("co_paper", "CO (eq. 6)")
def compactness_as_printed(pair: PartitionPair) -> float | None:
    """CO of pictures as the paper prints it (eq. 6): the perimeter is not squared."""
    if len(pair.partition.axes) == 3:
        return None
    area, perimeter = _size_and_surface(pair.partition)
    return float((4 * math.pi * area / perimeter * pair.partition.sizes).sum() / pair.partition.labels.size)


@partition_metric("sp", "K")
def number_of_superpixels(pair: PartitionPair) -> float:
    """The number of superpixels K, after each component became one."""
    return float(pair.partition.count)


@partition_metric("sp_extra", "split off", best="low")
def extra_components(pair: PartitionPair) -> float:
    """How many of the superpixels are components that were no superpixel of their own before."""
    return float(pair.partition.extra)


@partition_metric("sp_size_mean", "mean size", "voxels")
def mean_size(pair: PartitionPair) -> float:
    """The mean number of voxels of a superpixel."""
    return float(pair.partition.sizes.mean())


@partition_metric("sp_size_std", "SD of sizes", "voxels", best="low")
def spread_of_sizes(pair: PartitionPair) -> float:
    """The standard deviation of the number of voxels of a superpixel (of all, not of a sample)."""
    return float(pair.partition.sizes.std())


@partition_metric("sp_size_min", "smallest", "voxels")
def smallest_size(pair: PartitionPair) -> float:
    """The voxels of the smallest superpixel."""
    return float(pair.partition.sizes.min())


@partition_metric("sp_size_max", "largest", "voxels", best="low")
def largest_size(pair: PartitionPair) -> float:
    """The voxels of the largest superpixel."""
    return float(pair.partition.sizes.max())


@partition_metric("cpu_s", "CPU", "s", best="low")
def computing_time(pair: PartitionPair) -> float:
    """CPU seconds of the method alone, all its threads together, without reading, relabelling and measuring."""
    return pair.partition.cpu_s


def _size_and_surface(partition: Partition) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(count,) area and perimeter in mm² and mm, in volumes volume and surface."""
    spacing = [partition.spacing_mm[axis] for axis in partition.axes]
    cell = math.prod(spacing)
    surface = sum(cell / size * faces for size, faces in zip(spacing, partition.faces, strict=True))
    return np.asarray(cell * partition.sizes, np.float64), np.asarray(surface, np.float64)
