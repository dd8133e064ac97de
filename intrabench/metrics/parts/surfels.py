"""Surfels: the piece of surface inside a 2x2x2 block of voxels, and its area in mm².

A block is named by its neighbour code: one bit per voxel, set where the mask is; voxel (z, y, x) of the block has bit
7 - (4z + 2y + x). The surface inside the block is the one marching cubes draws through the middles of the block's edges
(Lorensen and Cline, SIGGRAPH 1987). Its area follows from geometry alone:

- Swapping mask and background keeps the surface, so at most four voxels need a look.
- Voxels that share no face get separate sheets, so areas add up over face-connected groups.
- Up to rotation and mirroring there are only six such groups; `_sheet` states the area of each.

The areas of `_sheet` follow the definition of google-deepmind/surface-distance (Apache-2.0), whose table they were read
from by symmetry; the test suite holds all 256 against it.
"""

from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import frozen

_AXIS_BITS = (4, 2, 1)  # the bit that flips when a corner number 4z + 2y + x steps along z, y, x
# Which sides of a voxel, those that look along z, y and x, each elementary area is the resultant of: a cut across the
# voxel's corner; cuts from edge to edge, parallel to z, y, x; and flat cuts, square to z, y, x.
_ELEMENTS = np.array([[1, 1, 1], [0, 1, 1], [1, 0, 1], [1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
_CORNER, _RIDGE, _FLAT = 0, 1, 4  # first row of each kind above


def neighbour_codes(mask: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Codes of all 2x2x2 blocks that touch the box (z, y, x) of `mask`; outside of it is background.

    The result is one longer than `mask` along each axis: block (i, j, k) ends with voxel (i, j, k).
    """
    depth, height, width = (n + 1 for n in mask.shape)
    row, plane = width, height * width
    # A zero before each row is also the one behind the row before, likewise rows and planes. So the block's second
    # voxel along an axis lies a fixed step further in memory, and whole arrays are shifted at once.
    codes = np.zeros((depth + 1) * plane + row + 1, np.uint8)
    codes[: (depth + 1) * plane].reshape(-1, height, width)[1:-1, 1:, 1:] = mask
    for bits, step in ((1, 1), (2, row), (4, plane)):
        behind = codes[step:]
        codes = codes[:-step] << np.uint8(bits)
        codes |= behind
    return codes.reshape(depth, height, width)


@lru_cache(maxsize=64)
def surfel_areas(spacing_mm: tuple[float, float, float]) -> NDArray[np.float64]:
    """Surface area in mm² for each of the 256 neighbour codes, at voxel spacing (z, y, x) in mm; read-only.

    Zero exactly for code 0 (all background) and code 255 (all mask).
    """
    z, y, x = spacing_mm
    faces = np.array([y * x, z * x, z * y])  # area of a voxel's side that looks along z, y, x
    areas: NDArray[np.float64] = _weights() @ np.linalg.norm(_ELEMENTS * faces, axis=1)
    return frozen(areas)


@cache
def _weights() -> NDArray[np.float64]:
    """(256, 7) weights of the seven elementary areas of `surfel_areas` in each code's area."""
    weights = np.zeros((256, 7))
    for code in range(256):
        corners = {corner for corner in range(8) if code >> (7 - corner) & 1}
        if len(corners) > 4:
            corners = set(range(8)) - corners
        while corners:
            group = _group(corners, min(corners))
            corners -= group
            for column, eighths in _sheet(group):
                weights[code, column] += eighths / 8
    return weights


def _group(corners: set[int], start: int) -> set[int]:
    """The corners that can be reached from `start` by steps along the block's edges."""
    group = {start}
    while more := {corner ^ bit for corner in group for bit in _AXIS_BITS} & corners - group:
        group |= more
    return group


def _sheet(group: set[int]) -> list[tuple[int, int]]:
    """(column, eighths) of the elementary areas that make up the sheet around a face-connected group of corners."""
    links = {corner: [axis for axis, bit in enumerate(_AXIS_BITS) if corner ^ bit in group] for corner in group}
    unused = [axis for axis in range(3) if not any(axis in axes for axes in links.values())]
    ends = [axes[0] for axes in links.values() if len(axes) == 1]
    match len(group), len(ends):
        case 1, _:  # one voxel: its corner is cut off
            return [(_CORNER, 1)]
        case 2, _:  # two in a row: their shared edge is cut off
            return [(_RIDGE + ends[0], 4)]
        case 3, _:  # an L
            return [(_FLAT + unused[0], 4), (_CORNER, 3)]
        case _, 0:  # a square: a flat sheet
            return [(_FLAT + unused[0], 8)]
        case _, 3:  # a voxel and its three neighbours: a hexagon
            return [(_CORNER, 6)]
        case _:  # a path with a turn out of its plane; the sheet is not flat, this is the definition's triangulation
            return [(_CORNER, 4), *((_RIDGE + axis, 2) for axis in ends)]
