"""Information from the prompts of all turns about the voxels around them: region, certain and likely labels, tissue.

Everything here follows from the prompts and the previous mask; no voxel outside of the neighbourhood is touched.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import numpy as np
from annotated_types import Interval
from numpy.typing import NDArray

from intrabench.mask import Bools, Box, Floats, Mask, box_slices, grow
from intrabench.models.base import Request
from intrabench.prompts import counting_boxes2d
from intrabench.volume import Volume

Labels = NDArray[np.int8]
Spacing = tuple[float, float, float]
SeedRadius = Annotated[float, Interval(ge=0, le=100)]
"""Millimetres around a point that certainly belong to it; each is a ball of voxels."""

FACES = tuple(((*(slice(None),) * axis, slice(0, -1)), (*(slice(None),) * axis, slice(1, None))) for axis in range(3))
"""By axis: all cells but the last of each row, and those after them; so cells that share a face."""

BINS = 64
"""Of histograms of tissue."""

_SLACK = 0.1
"""Derived boxes grow by this share of their size on each side, because interpolation cuts off convex shapes."""


@dataclass(frozen=True, eq=False)
class Hints:
    """All prompts of a history, in canonical voxels.

    points: rows ``z, y, x, label``, oldest first, scribbles included. blocks: rows ``z0, y0, x0, z1, y1, x1``,
    half-open; outside of all blocks is background, unless there is none.
    """

    points: NDArray[np.int64]
    blocks: NDArray[np.int64]
    mask: Mask

    @classmethod
    def of(cls, request: Request) -> Hints:
        """Collect the turns: a later 3D box replaces an earlier one, later 2D boxes those on their slice.

        2D boxes win over a 3D box, as they say more. A slice between two boxed slices without an own box gets the box
        around its two neighbours: the target passes there, we do not know where. The previous mask, if there is one,
        counts when the new turn corrects it by points; a new box says afresh where the target lies.
        """
        points: list[NDArray[np.int64]] = [np.zeros((0, 4), dtype=np.int64)]
        block = np.zeros((0, 6), dtype=np.int64)
        for prompts in (turn.prompts for turn in request.given):
            points += [stroke.rows for stroke in prompts.scribbles]
            points.append(prompts.points)
            block = block if prompts.box3d is None else prompts.box3d[None]
        by_slice: dict[int, list[NDArray[np.int64]]] = {}
        for (z, *box), drawn in zip(*counting_boxes2d([turn.prompts for turn in request.given]), strict=True):
            by_slice.setdefault(int(z), []).append(_loose(box, drawn=bool(drawn)))
        corrects = bool(request.turns) and not request.turns[-1].prompts.kinds & {"box2d", "box3d"}
        mask = request.mask if corrects else Mask.empty()
        return cls(np.vstack(points), _stack(by_slice) if by_slice else block, mask)

    @property
    def parts(self) -> NDArray[np.int64]:
        """Those of the blocks that are several on a slice, each around a part of the target."""
        slices, counts = np.unique(self.blocks[:, 0], return_counts=True)
        return self.blocks[np.isin(self.blocks[:, 0], slices[counts > 1])]

    def frame(self, volume: Volume, margin_mm: float, radius_mm: float) -> Frame | None:
        """The neighbourhood: boxes plus a margin, or points plus a radius, and the previous mask; None if empty."""
        reach_mm = margin_mm if len(self.blocks) else radius_mm
        reach = np.array([int(np.ceil(reach_mm / step)) + 1 for step in volume.spacing_mm])
        low = np.vstack([self.blocks[:, :3] - reach, self.points[:, :3] - reach])
        high = np.vstack([self.blocks[:, 3:] + reach, self.points[:, :3] + reach + 1])
        if len(low) == 0:
            return None
        if self.mask.any():
            low, high = np.vstack([low, self.mask.box[:3]]), np.vstack([high, self.mask.box[3:]])
        z0, y0, x0, z1, y1, x1 = (int(v) for v in (*low.min(axis=0), *high.max(axis=0)))
        box = grow((z0, y0, x0, z1, y1, x1), (0, 0, 0), volume.shape)
        filled = all(box[axis] < box[axis + 3] for axis in range(3))
        return Frame(box, volume.shape, volume.spacing_mm) if filled else None


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
        inside = ((points[:, :3] >= self.box[:3]) & (points[:, :3] < self.box[3:])).all(axis=1)
        cells = (points[inside, :3] - self.box[:3]) // self.factor
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

    def room(self, hints: Hints, seed_mm: float, touch_mm: float) -> Bools:
        """Where the target may be: in the boxes and near points that contradict them; else all but the border."""
        if len(hints.blocks) == 0:
            return self.interior()
        room, _ = self.boxes(hints.blocks)
        outside = (self.seeds(hints.points, seed_mm) == 1) & ~room
        return room | (self.distance_mm(outside) <= touch_mm) if outside.any() else room

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

    def ball(self, cell: NDArray[np.intp], radius_mm: float) -> tuple[tuple[slice, ...], Floats]:
        """Where the bounding block of a ball around a cell lies, and the distances within it to that cell."""
        where, squared = [], np.zeros((1, 1, 1))
        for axis, (centre, step) in enumerate(zip(cell, self.step_mm, strict=True)):
            reach = int(radius_mm / step)
            where.append(slice(max(0, int(centre) - reach), min(self.cells[axis], int(centre) + reach + 1)))
            offset = (np.arange(where[-1].start, where[-1].stop) - centre) * step
            squared = squared + offset.reshape([-1 if k == axis else 1 for k in range(3)]) ** 2
        return tuple(where), np.sqrt(squared)

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


def log_ratio(image: Floats, chance: Floats, inside: Bools | None = None) -> Floats:
    """For each cell of a normalised image, how much more frequent its intensity is in the target, as a logarithm.

    chance: the weights with which cells count as target; the rest is background. inside: only these cells count.
    """
    from scipy import ndimage

    bins = np.minimum((image * BINS).astype(np.intp), BINS - 1)
    counted, weights = (bins.ravel(), chance.ravel()) if inside is None else (bins[inside], chance[inside])
    total = np.bincount(counted, minlength=BINS)
    target = np.bincount(counted, weights, BINS)
    ratio = []
    for counts in (target, total - target):
        smooth = ndimage.gaussian_filter1d(counts, 1.5, mode="nearest")
        ratio.append(np.log(smooth / max(smooth.sum(), 1e-9) + 0.01 / BINS))  # 1 % of voxels may have any intensity
    return np.asarray((ratio[0] - ratio[1])[bins], dtype=np.float64)


def _loose(box: list[int], *, drawn: bool) -> NDArray[np.int64]:
    y0, x0, y1, x1 = (int(v) for v in box)
    if drawn:
        return np.array([y0, x0, y1, x1])
    slack_y, slack_x = round(_SLACK * (y1 - y0)), round(_SLACK * (x1 - x0))
    return np.array([y0 - slack_y, x0 - slack_x, y1 + slack_y, x1 + slack_x])


def _stack(by_slice: dict[int, list[NDArray[np.int64]]]) -> NDArray[np.int64]:
    """2D boxes as blocks; the gaps between them are filled by the box around both neighbours."""
    slices = sorted(by_slice)
    blocks = [(z, *box[:2], z + 1, *box[2:]) for z in slices for box in by_slice[z]]
    for z, after in pairwise(slices):
        if after > z + 1:
            both = np.array(by_slice[z] + by_slice[after])
            blocks.append((z + 1, *both[:, :2].min(axis=0), after, *both[:, 2:].max(axis=0)))
    return np.array(blocks, dtype=np.int64)
