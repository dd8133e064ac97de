"""Resample masks and label maps to another grid by nearest neighbour, only inside the box of the foreground."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from intrabench.datasets.convert.label_map import boxes_of
from intrabench.mask import Array, Mask, box_slices
from intrabench.volume import Grid

Floats = NDArray[np.floating]
Inside = NDArray[np.bool_]

_DIGITS = 3
"""Decimals to which voxel coordinates are rounded, so that float noise never decides between two neighbours."""


def onto_grid(array: Array, affine: Floats, grid: Grid) -> Mask:
    """The nonzero voxels of `array` (file order, with its own affine to RAS mm) as a canonical mask on `grid`.

    A voxel of `grid` is inside if the voxel of `array` at its centre is nonzero; a centre on the border of two voxels
    belongs to the one with the larger index. Affines may be oblique or sheared. Parts beyond `grid` are cut off.
    """
    source = Mask.of(array)
    if not source.any():
        return Mask.empty()
    back = np.linalg.inv(affine) @ grid.affine  # from indices of the grid to those of the array
    low, high = _reach(source, np.linalg.inv(back), grid)
    if (low >= high).any():
        return Mask.empty()
    linear, offset = back[:3, :3], back[:3, :3] @ low + back[:3, 3] - source.start
    axes = _matching_axes(linear, high - low)
    inside = (
        _oblique(source.array, linear, offset, high - low)
        if axes is None
        else _straight(source.array, linear, offset, high - low, axes)
    )
    return canonical_mask(inside, low, grid)


def labels_onto_grid(labels: Array, affine: Floats, grid: Grid) -> Array:
    """A label map (file order, with its own affine to RAS mm) as a canonical one on `grid`, as `onto_grid` for each."""
    made = np.zeros(grid.canonical_shape, dtype=labels.dtype)
    for number, where in boxes_of(labels):
        start = affine.copy()
        start[:3, 3] += affine[:3, :3] @ [bound.start for bound in where]
        mask = onto_grid(labels[where] == number, start, grid)
        made[box_slices(mask.box)][mask.array] = number
    return made


def outside(array: Array, affine: Floats, grid: Grid) -> tuple[NDArray[np.intp], Inside]:
    """The nonzero voxels of `array` (as for `onto_grid`) whose centres lie outside of `grid`.

    Returns their indices ``(n, 3)``, and on which axes of `grid` each is outside ``(n, 3)``.
    """
    found = Mask.of(array)
    back = np.linalg.inv(grid.affine) @ affine

    def beyond(indices: NDArray[np.intp]) -> Inside:
        there = np.round(indices @ back[:3, :3].T + back[:3, 3], _DIGITS)
        return np.asarray((there < -0.5) | (there >= np.array(grid.shape) - 0.5))

    low, high = np.reshape(found.box, (2, 3))
    corners = np.stack(np.meshgrid(*np.stack([low, high - 1]).T), axis=-1).reshape(-1, 3)
    if not found.any() or not beyond(corners).any():
        return np.empty((0, 3), dtype=np.intp), np.empty((0, 3), dtype=bool)
    indices = found.coordinates()
    axes = beyond(indices)
    return indices[axes.any(axis=1)], axes[axes.any(axis=1)]


def canonical_mask(inside: Inside, start: Sequence[int] | NDArray[np.intp], grid: Grid) -> Mask:
    """The canonical mask of a box in file order, whose first voxel has the index `start` of `grid`."""
    corners = np.stack([np.asarray(start), np.asarray(start) + inside.shape - 1])
    turned = np.linalg.inv(grid.canonical_affine) @ grid.affine
    first = np.rint(corners @ turned[:3, :3].T + turned[:3, 3]).min(axis=0)
    return Mask.of(grid.to_canonical(inside), first.astype(int).tolist())


def _reach(source: Mask, forth: Floats, grid: Grid) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Half-open box on `grid`, in file order, that holds every centre inside a voxel of `source`."""
    bounds = np.reshape(source.box, (2, 3)) - 0.5
    corners = np.stack(np.meshgrid(*bounds.T), axis=-1).reshape(-1, 3)
    reached = corners @ forth[:3, :3].T + forth[:3, 3]
    low = np.clip(np.ceil(reached.min(axis=0) - 0.01), 0, grid.shape)
    high = np.clip(np.floor(reached.max(axis=0) + 0.01) + 1, 0, grid.shape)
    return low.astype(np.intp), high.astype(np.intp)


def nearest_index(coordinates: Floats) -> NDArray[np.intp]:
    """The index nearest to each coordinate; midway between two, the larger one."""
    return np.floor(np.round(coordinates, _DIGITS) + 0.5).astype(np.intp)


def _matching_axes(linear: Floats, extent: NDArray[np.intp]) -> list[int] | None:
    """For each axis of the array, the parallel axis of the box; None if the grids are oblique to each other."""
    axes = np.abs(linear).argmax(axis=1)
    drift = np.abs(linear) * extent
    drift[range(3), axes] = 0
    if drift.sum(axis=1).max() > 0.1**_DIGITS:
        return None
    return [int(axis) for axis in axes]


def _straight(array: Inside, linear: Floats, offset: Floats, extent: NDArray[np.intp], axes: list[int]) -> Inside:
    """Sample along each axis separately."""
    taken = array
    kept = [slice(0)] * 3
    for dim, axis in enumerate(axes):
        index = nearest_index(linear[dim, axis] * np.arange(extent[axis]) + offset[dim])
        within = np.flatnonzero((index >= 0) & (index < array.shape[dim]))
        if not len(within):
            return np.zeros(extent, dtype=bool)
        kept[axis] = slice(within[0], within[-1] + 1)
        taken = taken.take(index[within], axis=dim)
    inside = np.zeros(extent, dtype=bool)
    inside[tuple(kept)] = taken.transpose(np.argsort(axes))
    return inside


def _oblique(array: Inside, linear: Floats, offset: Floats, extent: NDArray[np.intp]) -> Inside:
    """Sample plane by plane, so that coordinates of only one plane are in memory."""
    inside = np.zeros(extent, dtype=bool)
    _, rows, columns = np.ogrid[:1, : extent[1], : extent[2]]
    plane = linear[:, 1, None, None] * rows + linear[:, 2, None, None] * columns + offset[:, None, None]
    limits = np.array(array.shape)[:, None, None]
    for number in range(extent[0]):
        index = nearest_index(plane + linear[:, 0, None, None] * number)
        within = ((index >= 0) & (index < limits)).all(axis=0)
        inside[number, within] = array[tuple(index[:, within])]
    return inside
