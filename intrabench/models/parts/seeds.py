"""What the prompts of all turns say about the voxels around them: the one rule of the models without training.

A first turn leaves open what its prompts vouch for: the boxes, or the neighbourhood of the points. A correction leaves
open only what it may change: the surroundings of the points that contradict the answer so far, and the border of an
answer whose size was a guess. Positive points only add, negative ones only remove, and all else keeps its label.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Bools, Floats, Ints, Mask, Region, grow
from intrabench.models.base import Request
from intrabench.models.parts.neighbourhood import Frame, Labels, Spacing
from intrabench.prompts import counting_boxes2d
from intrabench.volume import Volume

UNKNOWN, BACKGROUND, TARGET = -1, 0, 1

REACH = 2.0
"""A point that contradicts a box or an answer reaches so many times as far as what it contradicts is from it."""
REACH_GUESSED = 5.0
"""The same without any box: the size of the first answer was guessed, and may be far off."""
SURE = 0.5
"""And so many times as far it is a seed, unless the answer so far is thinner."""
MOST, MOST_FAR = 0.25, 2.0
"""A correction changes at most these shares of an answer: near its border, and farther from it than half its radius."""
EVEN = 1.2
"""And so many times as far its place alone speaks for neither side."""
SIZES = 2.5
"""The neighbourhood of points alone, in the radius that is expected of the target."""
_SLACK = 0.1
"""Derived boxes grow by this share of their size on each side, because interpolation cuts off convex shapes."""


@dataclass(frozen=True, eq=False)
class Hints:
    """All prompts of a history, in canonical voxels, and the answer that they correct.

    points: rows ``z, y, x, label``, oldest first, scribbles included. blocks: rows ``z0, y0, x0, z1, y1, x1``,
    half-open: the boxes that say where the target lies; none if the newest turn corrects an answer by points. mask: the
    answer so far where it stands: everywhere in a correction, beside the blocks if the newest turn has 2D boxes, and
    nowhere if it has a 3D box. seed_mm: radius of a point. expected_mm: radius of a target that has one point.
    guessed: no turn has a box, so nothing but points, or the mask of another model, said how large the target is.
    """

    points: Ints
    blocks: Ints
    mask: Mask
    spacing_mm: Spacing
    seed_mm: float
    expected_mm: float
    guessed: bool = False

    @classmethod
    def of(cls, request: Request, spacing_mm: Spacing, seed_mm: float, expected_mm: float) -> Hints:
        """Collect the turns: a later 3D box replaces an earlier one, later 2D boxes those on their slice.

        2D boxes win over a 3D box, as they say more. A slice between two boxed slices without an own box gets the box
        around its two neighbours: the target passes there, we do not know where.
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
        new = request.turns[-1].prompts.kinds if request.turns else frozenset()
        blocks, mask = _stack(by_slice) if by_slice else block, request.mask
        if not new & {"box2d", "box3d"} and mask.any():
            blocks = np.zeros((0, 6), dtype=np.int64)
        elif "box3d" in new:
            mask = Mask.empty()
        elif mask.any():
            rows = np.arange(mask.box[0], mask.box[3])
            mask = Mask.of(mask.array & ~_with_block(rows, rows + 1, blocks)[:, None, None], mask.start)
        guessed = all(turn.prompts.kinds <= {"point", "scribble"} for turn in request.given)
        return cls(np.vstack(points), blocks, mask, spacing_mm, seed_mm, expected_mm, guessed)

    @property
    def corrects(self) -> bool:
        """Whether the newest turn corrects an answer by points."""
        return self.mask.any() and not len(self.blocks)

    @property
    def size_mm(self) -> float:
        """The radius that is expected of a target with points alone: half the extent of several, else `expected_mm`."""
        inside = self.points[self.points[:, 3] == 1, :3]
        if len(inside) < 2:
            return self.expected_mm
        extent = (inside.max(axis=0) - inside.min(axis=0)) * self.spacing_mm
        return float(extent.max()) / 2 or self.expected_mm

    @cached_property
    def thin_mm(self) -> float:
        """The radius of the largest ball in the answer so far."""
        return _thickness(self.mask, self.spacing_mm) if self.mask.any() else 0.0

    @property
    def times(self) -> float:
        """How far a point reaches, in its distance from what it contradicts."""
        return REACH_GUESSED if self.guessed else REACH

    @cached_property
    def contradictions(self) -> tuple[Ints, Floats, Floats]:
        """The points that contradict boxes or answer, rows ``z, y, x, label``; in mm their reach, and that as seeds."""
        label = self.points[:, 3] == 1
        if self.corrects:
            wrong = self.points[self.mask.contains(self.points[:, :3]) != label]
            away = _from_mask(wrong, self.mask, self.spacing_mm)
            thin = self.thin_mm
            far = 2 * max(thin, self.expected_mm)  # along a cord it may be far from what is known
            away = np.minimum(away, far)
        else:
            away, thin, far = _from_blocks(self.points, self.blocks, self.spacing_mm), 0.0, np.inf
            within = _in_blocks(self.points, self.blocks) | self.mask.contains(self.points[:, :3])
            wrong, away = (each[(within != label) & bool(len(self.blocks))] for each in (self.points, away))
        reach = np.minimum(self.times * away, REACH * far) + sorted(self.spacing_mm)[1]
        return wrong, reach, np.minimum(np.maximum(SURE * away, np.minimum(away, self.seed_mm)), thin)

    @cached_property
    def border(self) -> tuple[float, Floats]:
        """In mm: how far from its border an answer that was a guess is open, and how far from each contradiction."""
        wrong, reach, _ = self.contradictions
        if not (self.corrects and self.guessed and len(wrong)):
            return 0.0, np.zeros(len(wrong))
        thin, voxel = self.thin_mm, sorted(self.spacing_mm)[1]
        band = reach.max() - voxel + min(REACH_GUESSED * voxel, max(voxel, SURE * thin))
        return float(band), REACH * thin + reach

    def frame(self, volume: Volume, margin_mm: float) -> Frame | None:
        """The neighbourhood of what is left open, and a margin; None if nothing is said."""
        wrong, reach, _ = self.contradictions
        boxes = [_around(wrong[:, :3], np.maximum(reach, self.border[1]) + margin_mm, volume.spacing_mm)]
        if not self.corrects:
            boxes.append(_around(self.blocks, np.full(len(self.blocks), margin_mm), volume.spacing_mm))
            radius = margin_mm if len(self.blocks) else SIZES * self.size_mm
            boxes.append(_around(self.points[:, :3], np.full(len(self.points), radius), volume.spacing_mm))
        elif not len(wrong):
            boxes.append(_around(self.points[:, :3], np.zeros(len(self.points)), volume.spacing_mm))
        corners = np.vstack(boxes)
        if not len(corners):
            return None
        z0, y0, x0, z1, y1, x1 = (int(v) for v in (*corners[:, :3].min(axis=0), *corners[:, 3:].max(axis=0)))
        box = grow((z0, y0, x0, z1, y1, x1), (0, 0, 0), volume.shape)
        filled = all(box[axis] < box[axis + 3] for axis in range(3))
        return Frame(box, volume.shape, volume.spacing_mm) if filled else None

    def zones(self, frame: Frame) -> Zones:
        """What the points that contradict leave open, on the cells of a frame."""
        (positive, surely_positive), (negative, surely_negative) = (self._reached(frame, label) for label in (1, 0))
        return Zones(positive, negative, surely_positive, surely_negative, self.times)

    def _reached(self, frame: Frame, label: int) -> list[Floats]:
        """Distance to the nearest point that contradicts, in its reach and in that as a seed.

        None is reached where a point of the other label is nearer.
        """
        wrong, reach, sure = self.contradictions
        mine, others = wrong[:, 3] == label, self.points[self.points[:, 3] != label]
        found = [frame.near(wrong[mine], one[mine]) for one in (reach, np.minimum(sure.clip(1e-3), reach))]
        if mine.any() and len(others):
            theirs, ours = (frame.distance_mm(frame.seeds(one, 0.0) >= 0) for one in (others, wrong[mine]))
            found = [np.where(theirs < ours, 2.0, near) for near in found]
        return found

    def labels(self, frame: Frame, zones: Zones, middle: float = 0.0) -> Labels:
        """`TARGET`, `BACKGROUND` or `UNKNOWN` for each cell.

        middle: the part of a box's width that is target, unless a negative point is near.
        """
        standing = frame.mask(self.mask)
        if self.corrects:
            labels = np.where(standing, TARGET, BACKGROUND).astype(np.int8)
            band_mm, around_mm = self.border
            if band_mm:
                near = frame.near(self.contradictions[0], around_mm) <= 1
                labels[near & (np.abs(frame.depth_mm(standing)) <= band_mm)] = UNKNOWN
        else:
            labels = self._open(frame, middle)
            if self.mask.any():
                first = frame.box[0] + np.arange(frame.cells[0]) * frame.factor[0]
                beside = ~_with_block(first, first + frame.factor[0], self.blocks)[:, None, None]
                labels = np.where(beside, np.where(standing, TARGET, BACKGROUND), labels).astype(np.int8)
        labels[(zones.positive <= 1) & (labels == BACKGROUND)] = UNKNOWN
        labels[(zones.negative <= 1) & (labels == TARGET)] = UNKNOWN
        labels[(zones.surely_positive <= 1) & (labels == UNKNOWN)] = TARGET
        labels[(zones.surely_negative <= 1) & (labels == UNKNOWN)] = BACKGROUND
        drawn = frame.seeds(self.points, self.seed_mm if self.guessed or not self.corrects else 0.0)
        return np.where(drawn == UNKNOWN, labels, drawn).astype(np.int8)

    def changed(self, frame: Frame, inside: Bools) -> Bools:
        """What a correction changes of the answer: pieces with a point that contradicts; positive ones only add.

        Of a piece that is too large for the answer, what is nearest to the points.
        """
        if not self.corrects:
            return inside
        wrong, reach, _ = self.contradictions
        standing, given = frame.mask(self.mask), frame.seeds(wrong, 0.0)
        far = reach > self.times * SURE * self.thin_mm
        pieces = []
        for label, change in ((TARGET, inside & ~standing), (BACKGROUND, standing & ~inside)):
            piece = seeded(change, given == label)
            most = int((MOST_FAR if far[wrong[:, 3] == label].any() else MOST) * self.mask.voxels)
            if np.count_nonzero(piece) > most:
                away = frame.distance_mm(given == label)
                piece = piece & (away <= np.partition(away[piece], most)[most])
            pieces.append(piece)
        return (standing | pieces[0]) & ~pieces[1]

    def _open(self, frame: Frame, middle: float) -> Labels:
        """The labels of a first turn: the boxes are open, or everything but the border of the neighbourhood."""
        room, level = frame.boxes(self.blocks) if len(self.blocks) else (frame.interior(), None)
        if room.all():  # something must be background
            room = frame.interior(of_volume=True)
        labels = np.where(room, UNKNOWN, BACKGROUND).astype(np.int8)
        if middle and level is not None:
            labels[(level >= min(1 - middle**2, level.max())) & room] = TARGET
        return labels


@dataclass(frozen=True, eq=False)
class Zones:
    """Of each cell the distance to the nearest positive and negative point that contradicts, in its reach; at most 2.

    surely_positive, surely_negative: the same, in the distance within which the point is a seed. times: the reach of a
    point, in its distance from what it contradicts.
    """

    positive: Floats
    negative: Floats
    surely_positive: Floats
    surely_negative: Floats
    times: float

    def refined(self, frame: Frame) -> Zones:
        """The same for the voxels of a coarse frame."""
        levels = frame.refine(self.positive), frame.refine(self.negative)
        certain = frame.refine(self.surely_positive), frame.refine(self.surely_negative)
        return Zones(*levels, *certain, self.times)

    def odds(self, odds: Floats) -> Floats:
        """Log-odds of the place of cells, raised where a positive point reaches, and lowered where a negative one does.

        A point itself has log-odds of 1/2; they are 0 at `EVEN` times the distance of what it contradicts.
        """
        positive, negative = ((self.times / EVEN * level) ** 2 for level in (self.positive, self.negative))
        odds = np.where(self.positive <= 1, np.maximum(odds, (1 - positive) / 2), odds)
        return np.where(self.negative <= 1, np.minimum(odds, (negative - 1) / 2), odds)


def seeded(cells: Bools, seeds: Bools) -> Bools:
    """The pieces of `cells`, connected through corners, too, that have a seed."""
    from scipy import ndimage

    pieces, _ = ndimage.label(cells, np.ones((3,) * cells.ndim))
    return np.isin(pieces, np.setdiff1d(pieces[seeds], 0))


def cleaned(answer: Bools, labels: Labels, beside: Bools) -> Bools:
    """An answer without speckles: an open voxel that none of its neighbours agrees with takes their label.

    beside: the neighbours, as `Frame.beside` has them.
    """
    from scipy import ndimage

    around, known = (
        ndimage.convolve(one.astype(np.uint8), beside.astype(np.uint8), mode="constant")
        for one in (answer, np.ones_like(answer))
    )
    alone = (labels == UNKNOWN) & (known > 0) & np.where(answer, around == 0, around == known)
    return answer ^ alone


def with_labels(hints: Hints, fine: Frame, inside: Bools, labels: Labels) -> Mask:
    """The answer: what stands outside of a frame, and in it `inside` where the labels leave that open."""
    inside = cleaned(np.where(labels == UNKNOWN, inside, labels == TARGET), labels, fine.beside)
    return hints.mask.overwrite(Mask.of(hints.changed(fine, inside), fine.box[:3]), Region(box=fine.box))


def _around(corners: Ints, radii_mm: Floats, spacing_mm: Spacing) -> Ints:
    """Boxes around points ``z, y, x`` or blocks, larger by a radius on each side, and a voxel."""
    grown = np.ceil(radii_mm[:, None] / np.array(spacing_mm)).astype(np.int64) + 1
    low, high = corners[:, :3], corners[:, 3:] if corners.shape[1] == 6 else corners[:, :3] + 1
    return np.hstack([low - grown, high + grown])


def _with_block(first: Ints, stop: Ints, blocks: Ints) -> Bools:
    """Which ranges of slices, half-open, a block reaches into."""
    reached: Bools = np.any((stop[:, None] > blocks[:, 0]) & (first[:, None] < blocks[:, 3]), axis=1)
    return reached


def _in_blocks(points: Ints, blocks: Ints) -> Bools:
    """Which points lie in a block."""
    at = points[:, None, :3]
    inside: Bools = np.any(np.all((at >= blocks[:, :3]) & (at < blocks[:, 3:]), axis=2), axis=1)
    return inside


def _from_blocks(points: Ints, blocks: Ints, spacing_mm: Spacing) -> Floats:
    """Millimetres between each point and the nearest block, or inside of one to the nearest of its sides."""
    if not len(blocks) or not len(points):
        return np.zeros(len(points))
    before, after = points[:, None, :3] - blocks[:, :3], blocks[:, 3:] - 1 - points[:, None, :3]
    apart = (np.maximum(-np.minimum(before, after), 1) - 1) * np.array(spacing_mm)
    away = np.sqrt((apart**2).sum(axis=2)).min(axis=1)
    depth = np.minimum(before, after) * np.array(spacing_mm)
    flat = len(blocks) > 1 or bool((blocks[:, 3] - blocks[:, 0] == 1).all())
    deep = depth[:, :, 1 if flat else 0 :].min(axis=2).max(axis=1)
    return np.asarray(np.where(_in_blocks(points, blocks), deep.clip(0), away), dtype=np.float64)


def _from_mask(points: Ints, mask: Mask, spacing_mm: Spacing) -> Floats:
    """Millimetres between the faces of each voxel and of the nearest one of the other side of a mask."""
    from scipy import ndimage
    from scipy.spatial import KDTree

    away = np.zeros(len(points))
    around = np.pad(mask.array, 1)
    for inside in (True, False):
        mine = mask.contains(points[:, :3]) == inside
        if not mine.any():
            continue
        rim = ndimage.binary_dilation(around) & ~around if inside else around & ~ndimage.binary_erosion(around)
        if inside and len(mask.array) == 1:  # what lies beside a mask in one slice lies in that slice
            rim[[0, 2]] = False
        voxels = np.argwhere(rim) + mask.start - 1
        _, nearest = KDTree(voxels * spacing_mm).query(points[mine, :3] * np.array(spacing_mm))
        apart = (np.abs(points[mine, :3] - voxels[nearest]) - 1).clip(0) * spacing_mm
        away[mine] = np.sqrt((apart**2).sum(axis=1))
    return away


def _thickness(mask: Mask, spacing_mm: Spacing) -> float:
    """The radius of the largest ball in a mask, in mm; of a mask in one slice, of the largest disc."""
    import edt

    voxels = np.ascontiguousarray(mask.array).view(np.uint8)
    planar = len(voxels) == 1
    found = edt.edt(
        voxels[0] if planar else voxels, anisotropy=spacing_mm[1:] if planar else spacing_mm, black_border=True
    )
    return float(np.asarray(found).max())


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
