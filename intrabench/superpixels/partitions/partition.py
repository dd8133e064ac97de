"""A partition of an image: every voxel has exactly one label. Superpixels are one, and so is an annotation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Box, Mask, frozen
from intrabench.superpixels.partitions.bits import Words, counted, unpacked
from intrabench.superpixels.partitions.boundary import boundary_of, faces_of, sections
from intrabench.superpixels.partitions.slabs import slabs
from intrabench.superpixels.partitions.spread import Spread, colour_spread, place_residual

Labels = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Partition:
    """Labels ``(z, y, x)``: 0 to `count` - 1, each of which occurs. `relabelled` makes such labels of any others.

    spacing_mm: size of a voxel ``(z, y, x)``. extra: components that made a region of their own because their labels
    were not connected. cpu_s: CPU seconds of the method that made it. image: the intensities ``(z, y, x)`` or
    ``(z, y, x, channel)``, if colours are to be measured. stacked: slices z are pictures of their own, whose voxels
    have no neighbours in other slices. All that is measured of it is measured once.
    """

    labels: Labels
    spacing_mm: tuple[float, float, float] = (1.0, 1.0, 1.0)
    extra: int = 0
    cpu_s: float = 0.0
    image: NDArray[Any] | None = None
    stacked: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", frozen(np.ascontiguousarray(self.labels, np.int32)))

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape ``(z, y, x)``."""
        z, y, x = self.labels.shape
        return z, y, x

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """(count,) the voxels of each region."""
        sizes = np.zeros(0, np.int64)
        for part in self.slabs():
            counted = np.bincount(part.ravel(), minlength=len(sizes))
            counted[: len(sizes)] += sizes
            sizes = counted
        return frozen(sizes)

    @property
    def count(self) -> int:
        """How many regions there are."""
        return len(self.sizes)

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes along which voxels have neighbours: all three, or two in a stack and if the image is a single slice.

        A picture without depth is measured as the papers measure pictures, in whatever direction it lies.
        """
        if self.stacked:
            return (1, 2)
        flat = [axis for axis in range(3) if self.labels.shape[axis] == 1]
        return tuple(axis for axis in range(3) if axis != flat[0]) if flat else (0, 1, 2)

    @cached_property
    def in_slices(self) -> Partition:
        """The sections of all regions with all slices z, as a stack of pictures; a picture is one already.

        A region may have a section of several pieces.
        """
        if len(self.axes) == 2:
            return self
        return replace(self, labels=sections(self.labels, self.count), stacked=True)

    @property
    def diagonal_mm(self) -> float:
        """The diagonal of the image, in a stack that of a slice."""
        return float(np.linalg.norm([self.labels.shape[axis] * self.spacing_mm[axis] for axis in self.axes]))

    @cached_property
    def boundary(self) -> Words:
        """``(z, y, word)`` voxels that differ from one of their 4 (in a volume 6) neighbours, one bit each."""
        return frozen(boundary_of(self.labels, self.axes))

    @cached_property
    def boundary_voxels(self) -> int:
        """How many there are."""
        return counted(self.boundary)

    @property
    def boundary_mask(self) -> NDArray[np.bool_]:
        """``(z, y, x)`` the same voxels, one byte each."""
        return unpacked(self.boundary, self.labels.shape[2])

    @cached_property
    def boundary_distances_mm(self) -> NDArray[np.float32]:
        """``(z, y, x)`` the distance of each voxel to the nearest boundary voxel, in a stack of its slice.

        Infinite without any.
        """
        from edt import edt

        shape = [self.labels.shape[axis] for axis in self.axes]  # a volume of one slice takes 30 times as long
        spacing = [self.spacing_mm[axis] for axis in self.axes]
        parts = ~(self.boundary_mask if self.stacked else self.boundary_mask[None])
        found = [edt(part.reshape(shape), anisotropy=spacing) for part in parts]
        return frozen(np.stack(found).reshape(self.labels.shape))

    @cached_property
    def faces(self) -> NDArray[np.int64]:
        """(axes, count) the faces of each region's voxels, across each of `axes`, to other regions or outside."""
        return frozen(faces_of(self.labels, self.axes, self.count))

    @cached_property
    def colour_spread(self) -> Spread:
        """How much intensities vary within regions, all channels together.

        Raises:
            ValueError: there is no image.
        """
        if self.image is None:
            raise ValueError("there is no image whose colours could be measured")
        return colour_spread(self.labels, self.sizes, self.image)

    @cached_property
    def place_residual(self) -> float:
        """The sum of squared distances of voxels to the centres of their regions, in square millimetres."""
        return place_residual(self.labels, self.sizes, self.axes, self.spacing_mm)

    @cached_property
    def boxes(self) -> list[Box]:
        """The half-open box of each region."""
        from scipy import ndimage

        found = ndimage.find_objects(self.labels + 1)
        return [(z.start, y.start, x.start, z.stop, y.stop, x.stop) for z, y, x in found]

    def region(self, label: int) -> Mask:
        """The voxels of one region, in its box."""
        z0, y0, x0, z1, y1, x1 = self.boxes[label]
        return Mask((z0, y0, x0), self.labels[z0:z1, y0:y1, x0:x1] == label)

    def slabs(self) -> Iterator[Labels]:
        """The labels, some slices at a time."""
        for where in slabs(self.shape):
            yield self.labels[where]
