"""The morphological opening of the robot: by disks with fractional radius, which are not symmetric.

As scikit-image's ``rank.minimum`` and ``rank.maximum`` with ``disk(radius)``: a footprint lies from its middle, rounded
up, it is mirrored for neither, and what is beyond the image counts for nothing.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from intrabench.mask import Bools

Run = tuple[int, int, int]
"""Of a row of a footprint: how far below it lies, and its columns, half-open."""


def footprint(radius: float) -> Bools:
    """The disk, a square array; of a fractional radius its grid begins at ``-radius``."""
    steps = np.arange(-radius, radius + 1)
    return np.asarray(np.add.outer(steps**2, steps**2) <= radius**2, dtype=bool)


@lru_cache(maxsize=64)
def runs(y_radius: float, x_radius: float) -> list[Run]:
    """The rows of a disk, or of an ellipse, relative to the pixel that it belongs to."""
    if y_radius == x_radius:
        disk = footprint(y_radius)
    else:
        y, x = (np.arange(-np.floor(radius), np.floor(radius) + 1) for radius in (y_radius, x_radius))
        disk = np.add.outer((y / y_radius) ** 2, (x / x_radius) ** 2) <= 1
    middle = disk.shape[0] // 2, disk.shape[1] // 2
    found = []
    for number, row in enumerate(disk):
        columns = np.flatnonzero(row)
        if len(columns):
            found.append((number - middle[0], int(columns[0]) - middle[1], int(columns[-1]) + 1 - middle[1]))
    return found


def opened(mask: Bools, disk: list[Run]) -> Bools:
    """The opening of a mask ``(y, x)`` that ends at the border of the image."""
    inside = ~_touched(~mask, disk)  # nothing outside of the mask in the disk
    if not any(down == 0 and first <= 0 < stop for down, first, stop in disk):
        inside &= _touched(np.ones_like(mask), disk)  # some disks lack their own pixel, and have none in a corner
    return _touched(inside, disk)


def _touched(mask: Bools, disk: list[Run]) -> Bools:
    """Where the disk of a pixel holds a pixel of the mask."""
    height, width = mask.shape
    reach = max(max(abs(first), abs(stop)) for _, first, stop in disk)
    sums = np.zeros((height, width + 2 * reach + 1), np.int32)  # beyond the image they stay the same
    np.cumsum(mask, axis=1, out=sums[:, reach + 1 : reach + 1 + width])
    sums[:, reach + 1 + width :] = sums[:, reach + width, None]
    found, rows = np.zeros(mask.shape, bool), dict[tuple[int, int], list[int]]()
    for down, first, stop in disk:
        rows.setdefault((first, stop), []).append(down)
    for (first, stop), downs in rows.items():
        there = sums[:, reach + stop : reach + stop + width] > sums[:, reach + first : reach + first + width]
        for down in downs:
            if abs(down) < height:
                found[max(-down, 0) : height - max(down, 0)] |= there[max(down, 0) : height + min(down, 0)]
    return found
