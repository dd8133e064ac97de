"""The grid of a neighbourhood in a volume: its cells, distances between them, and their tissue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Interval
from numpy.typing import NDArray

from intrabench.files.grid import THICK
from intrabench.mask import Bools, Box, Floats, Ints, Mask, box_slices

Labels = NDArray[np.int8]
Spacing = tuple[float, float, float]
SeedRadius = Annotated[float, Interval(ge=0, le=100)]
"""Millimetres around a point that certainly belong to it; each is a ball of voxels."""

FACES = tuple(((*(slice(None),) * axis, slice(0, -1)), (*(slice(None),) * axis, slice(1, None))) for axis in range(3))
"""By axis: all cells but the last of each row, and those after them; so cells that share a face."""

BINS = 64
"""Of histograms of tissue."""


@dataclass(frozen=True, eq=False)
class Frame:
    """The grid of a neighbourhood: `box` in a volume of `shape`, in cells of `factor` voxels ``(z, y, x)``."""

    box: Box
    shape: tuple[int, int, int]
    spacing_mm: Spacing
    factor: tuple[int, int, int] = (1, 1, 1)

    @property
    def cells(self) -> tuple[int, int, int]:
        """Number of cells along ``(z, y, x)``; the last ones may reach beyond the box."""
        z, y, x = (-(-(self.box[k + 3] - self.box[k]) // self.factor[k]) for k in range(3))
        return z, y, x

    @property
    def step_mm(self) -> Spacing:
        """Size of a cell in millimetres."""
        z, y, x = (self.spacing_mm[k] * self.factor[k] for k in range(3))
        return z, y, x

    @property
    def beside(self) -> Bools:
        """The neighbours of the middle of 3 x 3 x 3: they share a face with it, in the slice if slices are thick."""
        from scipy import ndimage

        faces = ndimage.generate_binary_structure(3, 1)
        faces[1, 1, 1] = False
        _, middle, largest = sorted(self.spacing_mm)
        if largest >= THICK * middle:
            np.moveaxis(faces, self.spacing_mm.index(largest), 0)[[0, 2]] = False
        return np.asarray(faces)

    def coarse(self, most: int) -> Frame:
        """The same box with at most `most` cells, made by merging along whatever axis is finest."""
        frame = self
        while int(np.prod(frame.cells, dtype=np.int64)) > most:
            axis = int(np.argmin([s if n > 1 else np.inf for s, n in zip(frame.step_mm, frame.cells, strict=True)]))
            z, y, x = (f + (k == axis) for k, f in enumerate(frame.factor))
            frame = Frame(self.box, self.shape, self.spacing_mm, (z, y, x))
        return frame

    def seeds(self, points: NDArray[np.int64], radius_mm: float) -> Labels:
        """Cells of balls around points: 1, 0, and -1 for no seed; later balls win, but every point has its own cell."""
        seeds = np.full(self.cells, -1, dtype=np.int8)
        inside, cells = self._cells_of(points)
        labels = points[inside, 3]
        reach = [int(radius_mm / step) for step in self.step_mm]
        offsets = np.stack(np.meshgrid(*[np.arange(-r, r + 1) for r in reach], indexing="ij"), axis=-1).reshape(-1, 3)
        offsets = offsets[((offsets * self.step_mm) ** 2).sum(axis=1) <= radius_mm**2 + 1e-6]
        for cell, label in zip(cells, labels, strict=True):
            ball = cell + offsets
            seeds[tuple(ball[((ball >= 0) & (ball < self.cells)).all(axis=1)].T)] = label
        for cell, label in zip(cells, labels, strict=True):
            seeds[tuple(cell)] = label
        return seeds

    def _cells_of(self, points: Ints) -> tuple[Bools, Ints]:
        """Which points lie in the box, and the cells ``z, y, x`` of those."""
        low, high = np.array(self.box[:3]), np.array(self.box[3:])
        inside: Bools = np.all((points[:, :3] >= low) & (points[:, :3] < high), axis=1)
        return inside, (points[inside, :3] - low) // np.array(self.factor)

    def boxes(self, blocks: NDArray[np.int64]) -> tuple[Bools, Floats]:
        """Cells within blocks, and there ``1 - rho**2``: 1 in the centre, 0 on the inscribed ellipsoid or ellipse."""
        room, level = np.zeros(self.cells, dtype=bool), np.full(self.cells, -np.inf)
        for block in blocks:
            low = (np.maximum(block[:3], self.box[:3]) - self.box[:3]) // self.factor
            high = -(-(np.minimum(block[3:], self.box[3:]) - self.box[:3]) // self.factor)
            where = tuple(slice(max(int(a), 0), max(int(b), 0)) for a, b in zip(low, high, strict=True))
            rho2 = np.zeros((1, 1, 1))
            for axis in range(0 if len(blocks) == 1 else 1, 3):  # stacked blocks are 2D boxes: no centre along z
                at = self.box[axis] + (np.arange(where[axis].start, where[axis].stop) + 0.5) * self.factor[axis]
                half = (block[axis + 3] - block[axis]) / 2
                rho2 = (
                    rho2 + ((at - block[axis] - half) / half).reshape([-1 if k == axis else 1 for k in range(3)]) ** 2
                )
            room[where], level[where] = True, np.maximum(level[where], 1 - rho2)
        return room, level

    def interior(self, of_volume: bool = False) -> Bools:
        """All cells except those at the border of the neighbourhood; the volume's border does not count.

        of_volume: it does, along axes with more than two cells.
        """
        room = np.ones(self.cells, dtype=bool)
        for axis in range(3):
            rows = np.moveaxis(room, axis, 0)
            ends = of_volume and len(rows) > 2
            if self.box[axis] > 0 or ends:
                rows[0] = False
            if self.box[axis + 3] < self.shape[axis] or ends:
                rows[-1] = False
        return room

    def distance_mm(self, where: Bools) -> Floats:
        """Distance of every cell to the nearest true one; infinite if there is none."""
        from scipy import ndimage

        if not where.any():
            return np.full(self.cells, np.inf)
        return np.asarray(ndimage.distance_transform_edt(~where, sampling=self.step_mm), dtype=np.float64)

    def depth_mm(self, inside: Bools) -> Floats:
        """Distance of every cell to the nearest one of the other side, negative outside."""
        return self.distance_mm(~inside) - self.distance_mm(inside)

    def near(self, points: Ints, radii_mm: Floats) -> Floats:
        """Distance of cells to the nearest of `points`, rows ``z, y, x``, in the radius of that point; at most 2."""
        from scipy import ndimage

        inside, cells = self._cells_of(points)
        if not inside.any():
            return np.full(self.cells, 2.0)
        radius = np.zeros(self.cells)
        np.maximum.at(radius, tuple(cells.T), radii_mm[inside])
        distance, place = ndimage.distance_transform_edt(radius == 0, sampling=self.step_mm, return_indices=True)
        return np.asarray(np.minimum(distance / radius[tuple(place)], 2.0), dtype=np.float64)

    def mask(self, mask: Mask) -> Bools:
        """The mask at the first voxel of each cell."""
        z, y, x = self.factor
        return mask.crop(self.box)[::z, ::y, ::x]

    def image(self, array: NDArray[np.generic]) -> Floats:
        """The mean intensity of each cell; of several channels, their mean."""
        crop = array[box_slices(self.box)]
        means = np.asarray(crop.mean(axis=3) if crop.ndim == 4 else crop, dtype=np.float64)
        for axis, factor in enumerate(self.factor):
            if factor > 1:
                first = np.arange(0, means.shape[axis], factor)
                size = np.diff([*first, means.shape[axis]]).reshape([-1 if k == axis else 1 for k in range(3)])
                means = np.add.reduceat(means, first, axis=axis) / size
        return means

    def refine(self, cells: Floats) -> Floats:
        """Values of cells as values of voxels, linear between the centres of cells."""
        for axis, factor in enumerate(self.factor):
            if factor > 1:
                # the middle of each voxel, counted in cells from the middle of the first one
                at = (np.arange(self.box[axis + 3] - self.box[axis]) + 0.5) / factor - 0.5
                at = at.clip(0, cells.shape[axis] - 1)
                low = at.astype(int)
                high = np.minimum(low + 1, cells.shape[axis] - 1)
                share = (at - low).reshape([-1 if k == axis else 1 for k in range(3)])
                cells = cells.take(low, axis) * (1 - share) + cells.take(high, axis) * share
        return cells


def normalised(image: Floats) -> Floats:
    """Intensities from the 1st to the 99th percentile as 0 to 1, so that CT and MR mean the same; constant: 0."""
    low, high = np.percentile(image, [1, 99])
    if high <= low:
        low, high = image.min(), image.max()
    return ((image - low) / (high - low)).clip(0, 1) if high > low else np.zeros_like(image)


def binned(image: Floats) -> Ints:
    """The bins, from 0 to `BINS` - 1, of a normalised image."""
    return np.minimum((image * BINS).astype(np.intp), BINS - 1)


def log_ratio(image: Floats, chance: Floats, known: Bools | None = None) -> Floats:
    """For each cell of a normalised image, how much more frequent its intensity is in the target, as a logarithm.

    chance: the weights with which cells count as target; the rest is background. known: only these cells count, of
    which a part of the background may be target that was missed.
    """
    from scipy import ndimage

    bins = binned(image)
    counted, weights = (bins.ravel(), chance.ravel()) if known is None else (bins[known], chance[known])
    total = np.bincount(counted, minlength=BINS)
    counts = np.bincount(counted, weights, BINS)
    target, other = (ndimage.gaussian_filter1d(one, 1.5, mode="nearest") for one in (counts, total - counts))
    target, other = (one / max(one.sum(), 1e-9) for one in (target, other))
    if known is not None and target.any():
        # The background is a mixture with the target: its share is at most what the intensities of the target leave.
        usual = target >= target.max() / 2
        other = np.maximum(other - (other[usual] / target[usual]).min() * target, 0.0)
        other /= max(other.sum(), 1e-9)
    ratio = np.log(target + 0.01 / BINS) - np.log(other + 0.01 / BINS)  # 1 % of voxels may have any intensity
    return np.asarray(ratio[bins], dtype=np.float64)
