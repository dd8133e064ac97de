"""The floor: cells that know nothing of the image. Every method should beat them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.superpixels.base import Picture, superpixels


@superpixels("grid")
def grid(picture: Picture, segments: int) -> NDArray[Any]:
    """A regular grid of cells, as near to cubes (in pictures squares) in millimetres as voxels allow."""
    return grid_cells(picture.array.shape[:3], picture.cells(segments))


@superpixels("random")
def random(picture: Picture, segments: int, seed: int = 0) -> NDArray[Any]:
    """The cells of random points: each voxel belongs to the point that is nearest to it in millimetres.

    seed: of the points, which are drawn evenly from all voxels.
    """
    from scipy.spatial import cKDTree

    shape, spacing = picture.array.shape[:3], np.array(picture.spacing_mm)
    total = int(np.prod(shape))
    chosen = np.random.default_rng(seed).choice(total, min(segments, total), replace=False)
    tree = cKDTree(np.stack(np.unravel_index(np.sort(chosen), shape), axis=1) * spacing)
    plane = np.indices((1, *shape[1:])).reshape(3, -1).T * spacing
    found = [tree.query(plane + (z * spacing[0], 0, 0), workers=-1)[1] for z in range(shape[0])]
    return np.stack(found).reshape(shape)


def grid_cells(shape: tuple[int, ...], cells: tuple[int, ...]) -> NDArray[np.int64]:
    """The number of the cell of each voxel, if each axis is divided into so many parts of nearly the same length."""
    found = np.zeros((1,) * len(shape), np.int64)
    for axis, (length, parts) in enumerate(zip(shape, cells, strict=True)):
        cell = np.arange(length) * parts // length
        found = found * parts + cell.reshape([-1 if other == axis else 1 for other in range(len(shape))])
    return np.ascontiguousarray(np.broadcast_to(found, shape))


def grid_points(shape: tuple[int, ...], cells: tuple[int, ...]) -> NDArray[np.int32]:
    """Zeros, and in the middle of each cell of the grid its number from 1, from which basins may grow."""
    found = np.zeros(shape, np.int32)
    middles = [
        ((np.arange(parts) + 0.5) * length / parts).astype(int) for length, parts in zip(shape, cells, strict=True)
    ]
    found[np.ix_(*middles)] = np.arange(1, int(np.prod(cells)) + 1).reshape(cells)
    return found
