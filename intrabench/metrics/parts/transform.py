"""How far all voxels of a box are from the nearest of some others: exact, in float64, axis by axis.

The squared distance within a line is known first, then within a plane, then within the box: each time a voxel looks
along one more axis, until what lies further away cannot be nearer. Squares are added in the order z, y, x, as
`intrabench.metrics.parts.nearest` does, so both find the same bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Floats

Voxels = NDArray[np.intp]
"""(3, n): coordinates z, y, x of n voxels."""
Corner = tuple[int, int, int]
Spacing = tuple[float, float, float]

AT_ONCE = 2**15
"""So many numbers stay in a processor's cache."""


def squared_distances(goals: Voxels, shape: tuple[int, int, int], spacing_mm: Spacing) -> Floats:
    """(z, y, x) squared distances in mm² from all voxels of a box of `shape` to the nearest of m > 0 `goals` (3, m)."""
    length = shape[1]
    steps = np.full(shape, length, np.int32)  # along y: none
    steps[tuple(goals)] = 0
    step = 1
    while step < length:  # 1, 2, 4, ... steps in one direction make any number of them
        spare = steps + np.int32(step)
        np.minimum(steps[:, step:], spare[:, :-step], out=steps[:, step:])
        np.minimum(steps[:, :-step], spare[:, step:], out=steps[:, :-step])
        step *= 2
    squares = np.append(np.square(np.arange(length) * spacing_mm[1]), np.inf)
    found: Floats = squares.take(steps, mode="clip")
    for axis in (0, 2):
        _look_along(found, axis, spacing_mm[axis])
    return found


def _look_along(squared: Floats, axis: int, mm: float) -> None:
    """Lower the squared distances (mm²) of a box to those over voxels that lie further along an axis."""
    turned = np.moveaxis(squared, axis, 0)
    count = max(AT_ONCE // (len(turned) * turned.shape[2]), 1)
    for first in range(0, turned.shape[1], count):
        lines = np.ascontiguousarray(turned[:, first : first + count])
        best, spare = lines.copy(), np.empty_like(lines)
        for step in range(1, len(lines)):
            square = np.square(step * mm)
            if square >= best.max():
                break
            np.add(lines, square, out=spare)
            np.minimum(best[step:], spare[:-step], out=best[step:])
            np.minimum(best[:-step], spare[step:], out=best[:-step])
        turned[:, first : first + count] = best
