"""What nnInteractive's clients send, as gestures of a hand: points, boxes, and masks of what was painted.

Their axes are ours, ``z, y, x``, as their arrays stand. A painted stroke becomes its middle line, a filled loop its
outline. Where a 2D box or a lasso lies in a plane across the axial slices, ours cannot say so: the box becomes a 3D box
of one voxel in thickness, the lasso a stroke along its outline.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from intrabench.davis.skeleton import longest_path, trees
from intrabench.mask import Bools, Index, Ints, Mask
from intrabench.play.gestures import LONGEST, Gesture
from intrabench.play.validate import Refused
from intrabench.specs.values import is_a

Kind = Literal["point", "bbox", "scribble", "lasso"]
PAINTED, PIECES, BOX = 100_000, 1000, 2**26
"""The voxels that a stroke may cover, its further parts and the holes in each plane, in all, and the voxels of its
tight box: more than a hand draws, as noise does, would take long to thin.
"""
_AROUND = ((-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1))
"""The neighbours of a pixel, clockwise from the one above."""


def gesture(kind: Kind, meta: Mapping[str, Any], painted: NDArray[Any] | None, shape: Index) -> Gesture:
    """A gesture from what was sent with it. painted: the mask of a stroke or a loop. shape: of the image.

    Raises:
        Refused: it is not as the protocol has it, or outside of the image.
    """
    label = int(flag(meta, "include_interaction", None))
    if kind == "point":
        at = [round(value) for value in _numbers(meta.get("coordinates"), 3, "coordinates")]
        if any(not 0 <= value < size for value, size in zip(at, shape, strict=True)):
            raise Refused(f"the point {at} lies outside of the image of {list(shape)} voxels")
        return Gesture("click", at, label)
    if kind == "bbox":
        return _box(_ranges(meta.get("bbox_coords"), "bbox_coords"), label, shape)
    assert painted is not None
    where = meta.get("interaction_bbox")
    ranges = [(0, size) for size in shape] if where is None else _ranges(where, "interaction_bbox")
    size = tuple(stop - first for first, stop in ranges)
    if painted.shape != size or any(not 0 <= a < b <= n for (a, b), n in zip(ranges, shape, strict=True)):
        raise Refused(f"a {kind} of the shape {painted.shape} was sent for {ranges}, in an image of {list(shape)}")
    mask = Mask.of(painted, [first for first, _ in ranges])
    if not mask.any():
        raise Refused(f"the {kind} is empty; draw it again")
    rows = (_line if kind == "scribble" else _loop)(mask.array) + mask.start
    axial = np.ptp(rows[:, 0]) == 0
    return Gesture("lasso" if kind == "lasso" and axial else "scribble", rows.tolist(), label)


def _box(ranges: Sequence[tuple[int, int]], label: int, shape: Index) -> Gesture:
    if any(first == stop for first, stop in ranges):
        raise Refused(f"the box {ranges} is empty; draw it again")
    cut = [(max(first, 0), min(stop, size)) for (first, stop), size in zip(ranges, shape, strict=True)]
    if any(first >= stop for first, stop in cut):
        raise Refused(f"the box {ranges} lies outside of the image of {list(shape)} voxels")
    (z0, z1), (y0, y1), (x0, x1) = cut
    if z1 - z0 == 1:
        return Gesture("box2d", (z0, y0, x0, y1, x1), label)
    return Gesture("box3d", (z0, y0, x0, z1, y1, x1), label)


def _line(painted: Bools) -> Ints:
    """The middle line of a stroke in its tight box, rows ``z, y, x``: in its own plane, or else in each axial slice.

    Raises:
        Refused: it is no stroke of a hand.
    """
    axis = 0 if 1 not in painted.shape else painted.shape.index(1)
    planes = [(at, plane) for at, plane in enumerate(np.moveaxis(painted, axis, 0)) if plane.any()]
    if (covered := np.count_nonzero(painted)) > PAINTED or painted.size > BOX:
        raise Refused(
            f"a stroke of {covered} voxels in a box of {list(painted.shape)} is too large; draw a shorter one"
        )
    if (pieces := sum(_pieces(plane) for _, plane in planes)) > PIECES:
        raise Refused(
            f"what was painted has {pieces} holes and separate parts, more than a line that a hand draws; draw it again"
        )
    return np.vstack([np.insert(_middle(plane), axis, at, axis=1) for at, plane in planes])


def _pieces(plane: Bools) -> int:
    """How many parts of the background a mask ``(y, x)`` encloses, and how many parts it has beside the first."""
    from scipy import ndimage

    holes = int(ndimage.label(~np.pad(plane, 1))[1]) - 1
    return holes + int(ndimage.label(plane, np.ones((3, 3)))[1]) - 1


def _loop(painted: Bools) -> Ints:
    """The outline of a loop in its tight box, which has one plane.

    Raises:
        Refused: it does not.
    """
    if 1 not in painted.shape:
        raise Refused("a lasso was sent that does not lie in one plane; draw it in one slice")
    axis = painted.shape.index(1)
    return np.insert(outline(painted.squeeze(axis)), axis, 0, axis=1)


def _middle(stroke: Bools) -> Ints:
    """The pixels ``y, x`` of a thinned stroke: of each part from end to end, and then its branches."""
    found = list[Ints]()
    for pixels, tree in trees(thinned(stroke), 1):
        path = longest_path(tree)
        found.append(pixels[[*path, *(set(tree) - set(path))]])
    return np.vstack(found)


def thinned(mask: Bools) -> Bools:
    """A mask ``(y, x)`` thinned to lines of one pixel, by the algorithm of Zhang and Suen (1984)."""
    left = np.pad(mask, 1)
    flat, around = left.reshape(-1), np.array([y * left.shape[1] + x for y, x in _AROUND])
    at, before = np.flatnonzero(flat), -1
    while len(at) != before:
        before = len(at)
        # A pixel goes if it is on the border, is no end of a line, and its neighbours stay connected without it
        # (`turns`). Each half step takes from two sides, so that a line of two pixels keeps one.
        for first, second in (((0, 2, 4), (2, 4, 6)), ((0, 2, 6), (0, 4, 6))):
            ring = flat[at[:, None] + around]
            neighbours = ring.sum(axis=1)
            turns = (~ring & np.roll(ring, -1, axis=1)).sum(axis=1)
            free = ~ring[:, list(first)].all(axis=1) & ~ring[:, list(second)].all(axis=1)
            gone = (neighbours >= 2) & (neighbours <= 6) & (turns == 1) & free
            flat[at[gone]] = False
            at = at[~gone]
    if mask.any() and not left.any():  # the algorithm removes a square of four pixels
        left[tuple(np.argwhere(np.pad(mask, 1))[0])] = True
    return left[1:-1, 1:-1]


def outline(mask: Bools) -> Ints:
    """The outer outline of the part of a mask ``(y, x)`` that comes first, clockwise, by Moore's neighbours.

    Raises:
        Refused: it is longer than a stroke may be.
    """
    padded = np.pad(mask, 1)
    y, x = np.argwhere(padded)[0].tolist()
    start, found, back = (y, x), [(y, x)], 6  # it was entered from the left, where nothing is
    first: tuple[int, int, int] | None = None
    while True:
        for turn in range(1, 9):
            step = (back + turn) % 8
            ny, nx = y + _AROUND[step][0], x + _AROUND[step][1]
            if padded[ny, nx]:
                break
        else:
            return np.array([start]) - 1  # a single pixel
        # The start may be passed several times where the outline touches itself; it ends where the first step comes
        # again.
        if (y, x, step) == first:
            return np.array(found[:-1]) - 1
        first = first or (y, x, step)
        y, x = ny, nx
        found.append((y, x))
        if len(found) > LONGEST + 1:
            raise Refused(f"the outline has more than {LONGEST} points; draw a smaller one")
        back = (step + 6 - step % 2) % 8  # the empty neighbour that was looked at last, as seen from the new pixel


def _numbers(values: Any, count: int, what: str) -> list[float]:
    numbers = values if isinstance(values, list) else []
    if len(numbers) != count or not all(is_a(int, v) or (is_a(float, v) and math.isfinite(v)) for v in numbers):
        raise Refused(f"{what} are {str(values)[:60]}, expected {count} numbers")
    if any(abs(value) > 2**31 for value in numbers):
        raise Refused(f"{what} are {str(values)[:60]}, which lie outside of any image")
    return numbers


def _ranges(values: Any, what: str) -> list[tuple[int, int]]:
    """The range of each axis, half-open."""
    axes = values if isinstance(values, list) and len(values) == 3 else [None] * 3
    pairs = [_numbers(pair, 2, what) for pair in axes]
    return [(round(min(pair)), round(max(pair))) for pair in pairs]


def flag(meta: Mapping[str, Any], name: str, default: bool | None) -> bool:
    value = meta.get(name, default)
    if not isinstance(value, bool):
        raise Refused(f"{name} is {str(value)[:40]}, expected true or false")
    return value
