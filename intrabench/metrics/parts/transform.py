"""How far voxels are from the nearest of some others, however far that is: exact, in float64, axis by axis.

The squared distance within a line along y is known first, then within a plane square to x, then within the box: each
time a voxel looks along one more axis, until what lies further away cannot be nearer. Only lines and planes with goals
are looked at, and along x only by the voxels that ask. Squares are added in the order z, y, x, as
`intrabench.metrics.parts.nearest` does, so both find the same bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Floats

Voxels = NDArray[np.intp]
"""(3, n): coordinates z, y, x of n voxels."""
Steps = NDArray[np.unsignedinteger]
"""Whole steps between voxels along an axis."""
Corner = tuple[int, int, int]
Spacing = tuple[float, float, float]

AT_ONCE = 2**15
"""So many numbers stay in a processor's cache."""
SOME = 0.7
"""While more than this share looks further, to leave out the others takes longer than to serve them, too."""


def lower_squared_distances(found: Floats, asking: Voxels, goals: Voxels, spacing_mm: Spacing, most_bytes: int) -> None:
    """Lower (n,) `found` to the squared distances in mm² of `asking` (3, n) to the nearest of m > 0 `goals` (3, m).

    found: infinite, or those to any of the goals, from which on nothing is looked at. most_bytes: about the memory that
    may be taken; if the goals are too far apart for that, they are looked at in layers along x.
    """
    (z, y, x), (deep, high, _) = np.ptp(goals, axis=1) + 1, np.ptp(asking, axis=1) + 1
    width = max(most_bytes // (8 * int(max(z, deep) * max(y, high))), 1)
    layers = (goals[2] - goals[2].min()) // width
    for layer in np.unique(layers) if x > width else [None]:
        own = goals if layer is None else goals[:, layers == layer]
        _look_along_x(found, asking - own.min(axis=1)[:, None], _planes(own, asking, found, spacing_mm), spacing_mm[2])


def look_along_rows(steps: Steps) -> None:
    """Lower the steps of all voxels (a, row, b) to those to the nearest in their row that has 0.

    Twice the steps of a row must not overflow.
    """
    count = max(AT_ONCE // steps[0].size, 1)
    for first in range(0, len(steps), count):
        rows = steps[first : first + count]
        spare, step = np.empty_like(rows), 1
        while step < rows.shape[1]:  # 1, 2, 4, ... steps in one direction make any number of them
            np.add(rows, rows.dtype.type(step), out=spare)
            np.minimum(rows[:, step:], spare[:, :-step], out=rows[:, step:])
            np.minimum(rows[:, :-step], spare[:, step:], out=rows[:, :-step])
            step *= 2


def _planes(goals: Voxels, asking: Voxels, found: Floats, spacing_mm: Spacing) -> Floats:
    """(z, y, x) squared distances in mm² within planes square to x, of the z and y of who asks and the x of goals.

    Those that are no less than what all with their y have found may be too large.
    """
    low, high, first = asking.min(axis=1), asking.max(axis=1), goals.min(axis=1)
    steps, none = _steps_along_y(goals, int(low[1]), int(high[1]))
    squares = np.append(np.square(np.arange(none) * spacing_mm[1]), np.inf)
    (depth, height, width), deep = steps.shape, int(high[0] - low[0]) + 1
    most = np.zeros(height)
    np.maximum.at(most, asking[1] - low[1], found)
    ahead = int(low[0] - first[0])
    away = sorted(range(1 - deep - ahead, depth - ahead), key=abs)
    planes = np.full((deep, height, width), np.inf)
    count = max(AT_ONCE // (max(deep, depth) * width), 1)
    for y in range(0, height, count):
        lines = squares.take(np.ascontiguousarray(steps[:, y : y + count]), mode="clip")
        best, spare, enough = np.full((deep, *lines.shape[1:]), np.inf), np.empty_like(lines), most[y : y + count].max()
        for step in away:
            square = np.square(step * spacing_mm[0])
            if square >= enough or (step >= 0 and square >= best.max()):
                break
            start, stop = max(0, -ahead - step), min(deep, depth - ahead - step)
            here, there = slice(start, stop), slice(start + ahead + step, stop + ahead + step)
            np.add(lines[there], square, out=spare[there])
            np.minimum(best[here], spare[there], out=best[here])
        planes[:, y : y + count] = best
    return planes


def _steps_along_y(goals: Voxels, low: int, high: int) -> tuple[Steps, int]:
    """(z, y, x) steps along y to the nearest goal, of the z and x of goals and the y from `low` to `high`.

    Also the number that stands in lines without goals.
    """
    first, last = goals.min(axis=1), goals.max(axis=1)
    start = min(int(first[1]), low)
    length = max(int(last[1]), high) - start + 1
    depth, _, width = last - first + 1
    steps = np.full((depth, length, width), length, np.min_scalar_type(2 * length))
    steps[goals[0] - first[0], goals[1] - start, goals[2] - first[2]] = 0
    look_along_rows(steps)
    return steps[:, low - start : high - start + 1], length


def _look_along_x(found: Floats, asking: Voxels, planes: Floats, x_mm: float) -> None:
    """Lower (n,) `found` to the squared distances in mm² over the planes (z, y, x), which begin at x 0."""
    _, height, width = planes.shape
    z, y, x = asking
    row, at = ((z - z.min()) * height + y - y.min()) * width, np.clip(x, 0, width - 1)
    aside = np.abs(x - at)  # how far from the first or last plane
    squares, values = np.square(np.arange(width + aside.max()) * x_mm), planes.ravel()
    best, index = np.minimum(found, values.take(row + at) + squares.take(aside)), np.arange(len(found))
    for step in range(1, width):
        square = squares.take(aside + step)
        looking = best > square
        if np.count_nonzero(looking) < SOME * len(looking):
            found[index] = best
            index, best, row, at, aside, square = (each[looking] for each in (index, best, row, at, aside, square))
            if not len(index):
                return
        # at the ends the last plane is looked at again, as if it lay further away
        nearer = np.minimum(
            values.take(row + np.maximum(at - step, 0)), values.take(row + np.minimum(at + step, width - 1))
        )
        nearer += square
        np.minimum(best, nearer, out=best)
    found[index] = best
