"""How far voxels are from the nearest of some others: exact, in float64, in one thread.

First the rows of the box along its finest axis say for each of their voxels how many steps the nearest goal in the row
is away. Then each voxel that asks looks at the rows around it, the nearest rows first, until the next are further away
than what it has found. Near a goal that takes a few rows. So the cost grows with the number of those that ask and with
the squares of their distances, and of the box there are only bytes. For those that are too far away the distances of
whole planes are found instead (`transform`); if they are few for their box, they ask a k-d tree.

Steps are whole numbers, scaled, squared and added in the order z, y, x, as SciPy's distance transform does. So the same
offset has the same distance, whichever way led to it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Floats
from intrabench.metrics.parts.transform import Corner, Spacing, Voxels, look_along_rows, lower_squared_distances

MOST_ROWS = 1600
"""About how many rows are looked at before a k-d tree is faster."""
BOX_PER_VOXEL = 1000
"""If the box has more voxels for each one that asks, the k-d tree answers all of them."""
MOST_BYTES = 2**25
"""The memory that rows may take, and as much again while they are made; in larger boxes the k-d tree answers."""
AT_ONCE = 2**12
"""If fewer voxels ask than this, they look at several rows at once."""
CHUNK = 64
"""So many rows are prepared at once."""
FAR = 0.75
"""If more than this share still waits after so many rows, all are so far away that the k-d tree is faster."""
SOME = 0.7
"""While more than this share waits for further rows, to leave out the others takes longer than to serve them, too."""
LOOKS = 1
"""After so many rows for each voxel of the box, to look at planes is about to be faster."""
CROWDED = 12
"""This holds if at most so many voxels of the box are there for each one that still waits."""
PLANES_PER_VOXEL = 100
"""If the planes have more voxels for each one that asks, the k-d tree is faster."""
_NONE: dict[Any, int] = {np.uint8: 2**7, np.uint16: 2**15}
"""Steps where a row has no goal: as many again overflow nothing."""


Row = tuple[int, int, float]
"""Steps along one axis and along another, and the squared distance in mm²."""


class Nearest:
    """The nearest of some goals: `goals` (3, m), m > 0, between the voxels `low` and `high`, both included.

    The rows of the last box are kept for later questions if they take no more than `keep` bytes.
    """

    def __init__(self, goals: Voxels, low: Corner, high: Corner, spacing_mm: Spacing, keep: int = 0) -> None:
        self._goals, self._low, self._high, self._spacing_mm, self._keep = goals, low, high, spacing_mm, keep
        self._rows: _Rows | None = None

    def distances(self, asking: Voxels, low: Corner, high: Corner) -> Floats:
        """(n,) distances in mm of `asking` (3, n), between the voxels `low` and `high`, to their nearest goals."""
        squared = np.full(asking.shape[1], np.inf)
        left: Any = slice(None)
        rows = self._rows_around(low, high, len(squared))
        if rows is not None:
            left = rows.search(asking, squared)
        if squared[left].size:
            squared[left] = self._from_afar(asking[:, left], squared[left])
        return np.sqrt(squared, out=squared)

    def _rows_around(self, low: Corner, high: Corner, count: int) -> _Rows | None:
        """The rows of a box with all goals and with `count` voxels between these two; None if it is too large."""
        rows = self._rows  # once: another thread may ask, too
        if rows is not None and rows.hold(low, high):
            return rows
        rows = _Rows(_each(min, low, self._low), _each(max, high, self._high), self._spacing_mm)
        if rows.voxels > BOX_PER_VOXEL * count or rows.bytes > MOST_BYTES:
            return None
        rows.lead_to(self._goals)
        self._rows = rows if rows.bytes <= self._keep else None
        return rows

    def _from_afar(self, asking: Voxels, squared: Floats) -> Floats:
        """(n,) squared distances in mm² of voxels (3, n), of which `squared` are known to some of the goals."""
        z, y, _ = np.ptp(asking, axis=1) + 1
        planes = int(z * y) * (self._high[2] - self._low[2] + 1)
        few = planes > PLANES_PER_VOXEL * len(squared)
        return self._by_tree(asking) if few else self._from_planes(asking, squared)

    def _from_planes(self, asking: Voxels, squared: Floats) -> Floats:
        """The same, whatever their distances."""
        lower_squared_distances(squared, asking, self._goals, self._spacing_mm, MOST_BYTES)
        return squared

    def _by_tree(self, asking: Voxels) -> Floats:
        """(n,) squared distances in mm² from a k-d tree."""
        from scipy.spatial import cKDTree

        # Surfaces are thin and many of their voxels equally far: big leaves without shrunk boxes search fastest here.
        tree = cKDTree(self._goals.T * self._spacing_mm, leafsize=64, compact_nodes=False, balanced_tree=False)
        _, nearest = tree.query(asking.T * self._spacing_mm)
        # The tree's own distances carry the rounding of the coordinates.
        z, y, x = (asking - self._goals[:, nearest]) * np.reshape(self._spacing_mm, (3, 1))
        return np.asarray(z * z + y * y + x * x, np.float64)


class _Rows:
    """The rows of the box from `low` to `high`, along the axis with the smallest spacing.

    In memory they are an array (a, row, b), where a and b are the two other axes. Layers without goals come before the
    first, and columns without goals behind the last of each layer, which is also before the first of the next one. So
    the rows around many voxels are read at once: each lies as far away in memory from its voxel.
    """

    def __init__(self, low: Corner, high: Corner, spacing_mm: Spacing) -> None:
        row = min((1, 2, 0), key=lambda axis: spacing_mm[axis])
        a, b = (axis for axis in range(3) if axis != row)
        self.low, self.high, self._axes, self._spacing_mm = low, high, (a, row, b), spacing_mm
        depth, length, width = (high[axis] - low[axis] + 1 for axis in self._axes)
        self.voxels, self._length = depth * length * width, length
        self._around = _rows_around(spacing_mm[a], spacing_mm[b], depth, width)
        self._beyond = _reach(spacing_mm[a], spacing_mm[b]) if len(self._around) < depth * width else math.inf
        front, rim = (max(steps) for steps in list(zip(*self._around, strict=True))[:2])
        self._shape, self._front, self._rim = (front + depth, length, width + rim), front, rim
        self._kind = np.uint8 if length < _NONE[np.uint8] else np.uint16
        self.bytes = math.prod(self._shape) * np.dtype(self._kind).itemsize if length < _NONE[self._kind] else math.inf

    def hold(self, low: Corner, high: Corner) -> bool:
        """Whether the box holds another one."""
        return _each(min, low, self.low) == self.low and _each(max, high, self.high) == self.high

    def lead_to(self, goals: Voxels) -> None:
        """Find the nearest of `goals` (3, m) in each row."""
        none = _NONE[self._kind]
        self._flat = np.full(self._rim + math.prod(self._shape) + 1, none, self._kind)
        steps = self._flat[self._rim : -1].reshape(self._shape)[self._front :]
        self._flat[self._rim + self._front * steps[0].size :][self._index(goals)] = 0
        look_along_rows(steps)

    def crowded(self, count: int) -> bool:
        """Whether so many voxels that ask are a large share of the box."""
        return count * CROWDED > self.voxels

    def search(self, asking: Voxels, squared: Floats) -> NDArray[np.intp]:
        """Lower (n,) `squared` to the squared distances of `asking` (3, n); returns the indices of those still open."""
        here, best, index = self._index(asking), squared.copy(), np.arange(len(squared))
        looks = 0
        for first in range(0, len(self._around), CHUNK):
            around = self._around[first : first + CHUNK]
            if first and np.count_nonzero(best > around[0][2]) > FAR * len(squared):
                squared[index] = best
                return index[best > around[0][2]]
            starts, tables = self._starts(around), self._tables(around)
            row = 0
            while row < len(around):
                waiting = best > around[row][2]
                count = int(np.count_nonzero(waiting))
                if count < SOME * len(waiting):
                    squared[index] = best
                    still = np.flatnonzero(waiting)
                    here, best, index = here.take(still), best.take(still), index.take(still)
                if not count:
                    return index
                if looks > LOOKS * self.voxels and self.crowded(count):
                    squared[index] = best
                    return index[best > around[row][2]]
                stop = min(row + max(AT_ONCE // len(here), 1), len(around))
                np.minimum(best, self._found(here, starts[row:stop], tables[row:stop]), out=best)
                looks += len(here) * (stop - row)
                row = stop
        squared[index] = best
        return index[best > self._beyond]

    def _found(self, here: NDArray[np.intp], starts: NDArray[np.intp], tables: Floats) -> Floats:
        """The least squared distances (n,) in mm² from voxels (n,) to the goals in some of the rows around them."""
        if len(starts) > 1:  # the last one in memory has no goal
            steps = self._flat.take(here + starts[:, :, None], mode="clip").min(axis=1)
            places = np.minimum(steps, self._length) + np.arange(len(tables))[:, None] * tables.shape[1]
            return tables.take(places).min(axis=0)
        first, *others = set(starts[0].tolist())
        steps = self._flat[first:].take(here, mode="clip")
        for start in others:
            np.minimum(steps, self._flat[start:].take(here, mode="clip"), out=steps)
        return tables[0].take(steps, mode="clip")

    def _starts(self, around: Sequence[Row]) -> NDArray[np.intp]:
        """(r, 4) where rows are in memory, those of the first voxel of the box, in all directions."""
        _, length, width = self._shape
        along, across = (np.array(steps) for steps in list(zip(*around, strict=True))[:2])
        along *= length * width
        ways = (along + across, along - across, across - along, -across - along)
        return np.stack(ways, axis=1) + (self._rim + self._front * length * width)

    def _tables(self, around: Sequence[Row]) -> Floats:
        """(r, steps + 1) squared distances in mm² to the voxels of rows; the last is infinite: no goal."""
        a, row, b = self._axes
        along, across = (np.array(steps)[:, None] for steps in list(zip(*around, strict=True))[:2])
        parts: dict[int, Any] = {row: np.append(np.square(np.arange(self._length) * self._spacing_mm[row]), np.inf)}
        parts[a], parts[b] = np.square(along * self._spacing_mm[a]), np.square(across * self._spacing_mm[b])
        tables: Floats = parts[0] + parts[1] + parts[2]
        return tables

    def _index(self, voxels: Voxels) -> NDArray[np.intp]:
        """Where voxels (3, n) are in memory, counted from the first one of the box."""
        a, row, b = (voxels[axis] - self.low[axis] for axis in self._axes)
        return (a * self._shape[1] + row) * self._shape[2] + b


@lru_cache(maxsize=64)
def _rows_around(a_mm: float, b_mm: float, depth: int, width: int) -> Sequence[Row]:
    """Steps along a, steps along b and squared distance (mm²) of the rows that may be looked at, the nearest first."""
    reach = _reach(a_mm, b_mm)
    sides = ((min(n, int(math.sqrt(reach) / mm) + 2), mm) for n, mm in ((depth, a_mm), (width, b_mm)))
    a, b = (np.square(np.arange(n) * mm) for n, mm in sides)
    squares = np.add.outer(a[a <= reach], b[b <= reach])
    order = np.argsort(squares, axis=None, kind="stable")[: np.count_nonzero(squares <= reach)]
    along, across = np.unravel_index(order, squares.shape)
    return list(zip(along.tolist(), across.tolist(), squares.ravel()[order].tolist(), strict=True))


def _reach(a_mm: float, b_mm: float) -> float:
    """The squared distance (mm²) up to which rows may be looked at."""
    return MOST_ROWS * a_mm * b_mm / math.pi


def _each(pick: Any, one: Corner, other: Corner) -> Corner:
    """`min` or `max` of two corners, axis by axis."""
    z, y, x = map(pick, one, other)
    return z, y, x
