"""Recognises a scan whose axes another program ordered in its own way: by the mean of each plane across each axis.

A file's array may be stored, and read, in any of 48 orders and directions of its axes. The means of its planes are the
same numbers in all of them, and say which axis is which, and where it begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Index, Mask
from intrabench.play.gestures import Gesture
from intrabench.prompts import STROKES
from intrabench.volume import Volume

Profiles = list[list[float]]
"""Of each axis the means of its planes."""
TOLERANCE = 1e-5
"""Of the largest mean: what single precision does to values that a file scales."""

_known: WeakKeyDictionary[Volume, Profiles] = WeakKeyDictionary()


def profiles(array: NDArray[Any]) -> Profiles:
    """The profiles of an image ``(axis, axis, axis)``, or with channels as a fourth axis."""
    grey = array if array.ndim == 3 else array.mean(axis=3, dtype=np.float64)
    return [np.asarray(grey.mean(axis=tuple({0, 1, 2} - {axis}), dtype=np.float64)).tolist() for axis in range(3)]


def profiles_of(volume: Volume) -> Profiles:
    """The profiles of a scan, which are kept as long as it lives."""
    if volume not in _known:
        _known[volume] = profiles(volume.array)
    return _known[volume]


@dataclass(frozen=True)
class Placing:
    """How the axes of another array lie in ours. shape: of the other; axes: ours for each of its own; flipped: which.

    For example, an array ``x, y, z`` of a scan whose x grows to the other side has the axes ``(2, 1, 0)``.
    """

    shape: Index
    axes: Index
    flipped: tuple[bool, bool, bool]

    def ranges(self, box: Sequence[int]) -> list[tuple[int, int]]:
        """A half-open box of the other array, as ranges ``z, y, x`` of ours."""
        found = [(0, 0)] * 3
        for axis, ours in enumerate(self.axes):
            first, stop, size = box[axis], box[axis + 3], self.shape[axis]
            found[ours] = (size - stop, size - first) if self.flipped[axis] else (first, stop)
        return found

    def points(self, rows: Sequence[Sequence[int]]) -> list[list[int]]:
        """Voxels of the other array, in ours."""
        return [[first for first, _ in self.ranges([*row, *(value + 1 for value in row)])] for row in rows]

    def mask(self, mask: Mask) -> Mask:
        """A mask of the other array, in ours."""
        turned = mask.array.transpose(np.argsort(self.axes))
        back = tuple(ours for ours, flip in zip(self.axes, self.flipped, strict=True) if flip)
        first = [low for low, _ in self.ranges(mask.box)]
        return Mask.of(np.flip(turned, back), first)

    def gesture(self, gesture: Gesture) -> Gesture:
        """A gesture on the other array, on ours.

        What lies across our axial slices changes its kind: a 2D box is a 3D box of one voxel in thickness, and a closed
        stroke a scribble.
        """
        kind, place = gesture.kind, gesture.place
        if kind == "click":
            return _with(gesture, kind, self.points([place])[0])
        if kind in ("box2d", "box3d"):
            box = place if kind == "box3d" else (*place[:3], place[0] + 1, *place[3:])
            (z0, z1), (y0, y1), (x0, x1) = self.ranges(box)
            flat = z1 - z0 == 1
            return _with(gesture, "box2d" if flat else "box3d", (z0, y0, x0, *(() if flat else (z1,)), y1, x1))
        rows = self.points(place)
        closed = {stroke.kind for stroke in STROKES.values() if stroke.closed}
        across = kind in closed and len({z for z, *_ in rows}) > 1
        return _with(gesture, "scribble" if across else kind, rows)


def _with(gesture: Gesture, kind: Any, place: Sequence[Any]) -> Gesture:
    return Gesture(kind, place, gesture.label, gesture.seconds, gesture.at)


def placing(theirs: Profiles, ours: Profiles) -> Placing | None:
    """How an array lies in another one of the same scan; None if they are not of the same scan.

    Where several answers are possible, as in an image that is its own mirror image, it is the plainest.
    """
    most = max((abs(value) for profile in ours for value in profile), default=0.0)
    z, y, x = (len(profile) for profile in theirs)
    for a, b, c in permutations(range(3)):
        flips = [_flip(theirs[axis], ours[other], TOLERANCE * most) for axis, other in enumerate((a, b, c))]
        if None not in flips:
            return Placing((z, y, x), (a, b, c), (bool(flips[0]), bool(flips[1]), bool(flips[2])))
    return None


def _flip(one: Sequence[float], other: Sequence[float], least: float) -> bool | None:
    """Whether a profile runs the other way; None if it is another profile."""
    if len(one) != len(other):
        return None
    first, second = np.array(one), np.array(other)
    if np.allclose(first, second, rtol=0, atol=least):
        return False
    return True if np.allclose(first, second[::-1], rtol=0, atol=least) else None
