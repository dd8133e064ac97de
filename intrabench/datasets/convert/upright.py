"""Scans on irregular grids, with axes not at right angles or uneven steps: refused, or resampled to a regular one.

And masks on such scans, brought back to the voxels of the files, or from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from intrabench.datasets.convert.resample import labels_onto_grid, onto_grid
from intrabench.datasets.convert.segments import Segment
from intrabench.errors import IntraBenchError
from intrabench.files.grid import Original, corners
from intrabench.mask import Array, Floats, Mask
from intrabench.volume import Grid, Volume

LIMIT_DEGREES = 0.5
"""Up to this angle, volumes taken from the spacing are wrong by about 0.01 %, and distances by less than 1 %."""


def check_upright(volume: Volume, remedy: str) -> None:
    """Refuse a scan on which lengths in millimetres along the axes would not be distances.

    remedy: what to do, for the message.
    """
    skew = volume.grid.skew_degrees
    if skew > LIMIT_DEGREES:
        raise IntraBenchError(
            f"the axes of the scan are {skew:.1f} degrees off right angles (gantry tilt, or a registration in "
            f"the header), so volumes and distances in mm would be wrong; {remedy}"
        )


def upright(volume: Volume, segments: Sequence[Segment]) -> tuple[Volume, list[Segment]]:
    """A sheared scan without channels, and its segments, on a grid with right angles that holds all of the scan.

    The first axis of the file stays, the second keeps its plane. So slices that gantry tilt shifted against each other
    stay whole and are shifted back. Intensities are interpolated linearly, and are the lowest one outside of the scan;
    masks are resampled by nearest neighbour.
    """
    from scipy import ndimage

    old = volume.grid
    directions, lengths = np.linalg.qr(old.affine[:3, :3])
    steps = np.diag(lengths)
    shear = lengths / steps[:, None]  # from indices of the old grid to those of the new one, but for the origin
    ends = corners(old.shape) @ shear.T
    low, high = np.floor(ends.min(axis=0).round(3)), np.ceil(ends.max(axis=0).round(3))
    affine = np.eye(4)
    affine[:3, :3] = directions * steps
    affine[:3, 3] = old.affine[:3, 3] + affine[:3, :3] @ low
    depth = [int(extent) for extent in high - low + 1]
    new, back = Grid((depth[0], depth[1], depth[2]), affine), np.linalg.inv(shear)
    stored = old.from_canonical(volume.array)
    array = ndimage.affine_transform(stored, back, back @ low, new.shape, order=1, cval=float(stored.min()))
    note = f"the axes were {old.skew_degrees:.1f} degrees off right angles; scan and labels are resampled to right ones"
    made = Volume(
        new.to_canonical(array),
        new,
        volume.modality,
        (*volume.notes, note),
        original=volume.original or Original.of(old),
    )
    return made, [replace(segment, mask=_moved(segment.mask, old, new)) for segment in segments]


def equal_steps(volume: Volume, segments: Sequence[Segment], levels: Floats) -> tuple[Volume, list[Segment]]:
    """A scan without channels, and its segments, with slices at equal steps from the first of `levels` to the last.

    levels: ascending; the place, in these steps, of each slice on the third axis of the file. Intensities are
    interpolated linearly between slices, masks are those of the nearest slice.
    """
    old = volume.grid
    depth = round(float(levels[-1] - levels[0])) + 1
    affine = old.affine.copy()
    affine[:3, 3] += affine[:3, 2] * levels[0]
    new = Grid((*old.shape[:2], depth), affine)
    at = np.interp(levels[0] + np.arange(depth), levels, np.arange(len(levels)))  # the slices there, as fractions
    axis, at = _in_canonical(old, at, len(levels))
    low = np.minimum(np.floor(at).astype(np.intp), max(len(levels) - 2, 0))
    array = np.empty(new.canonical_shape, dtype=volume.array.dtype)
    stored, made = np.moveaxis(volume.array, axis, 0), np.moveaxis(array, axis, 0)
    for number, (below, share) in enumerate(zip(low, at - low, strict=True)):  # a slice at a time, for the memory
        made[number] = stored[below] if not share else _between(stored[below], stored[below + 1], share)
    nearest = _nearest(at)
    original = Original.of(new, levels - levels[0])
    return Volume(array, new, volume.modality, volume.notes, original=original), [
        replace(segment, mask=_sliced(segment.mask, axis, nearest)) for segment in segments
    ]


def on_files(mask: Mask, volume: Volume) -> tuple[Array, Grid]:
    """A mask on a volume as a canonical array on the grid of its files, by nearest neighbour, and that grid.

    Voxels of the files that are not played, such as slices beside the longest stretch, are background.
    """
    original = volume.original
    if original is None:
        return mask.to_array(volume.shape), volume.grid
    between, axis, taken = _between_both(original, volume)
    depth = between.shape[2]
    levels = _in_canonical(between, np.array(original.levels), depth)[1]
    source = np.where(levels < 0, -1, np.where(levels > depth - 1, depth, _nearest(levels)))
    for place, level in enumerate(levels):
        if len(those := np.flatnonzero(taken == place)):  # slices that were made of it come before the nearest one
            source[place] = those[np.abs(those - level).argmin()]
    # On the way here a centre between two voxels took the one with the larger index. So that it comes back to where it
    # was, it has to take the other one now, and is shifted towards that.
    moved = _moved(mask, volume.grid, between, shift=0.002)
    grid = original.grid
    return _sliced(moved, axis, source).to_array(grid.canonical_shape), grid


def from_files(labels: Array, volume: Volume) -> Array:
    """A canonical label map on the grid of the files of a volume as one on the volume, as its labels are resampled."""
    original = volume.original
    if original is None:
        return labels
    between, axis, taken = _between_both(original, volume)
    return labels_onto_grid(labels.take(taken, axis=axis), between.canonical_affine, volume.grid)


def _between_both(original: Original, volume: Volume) -> tuple[Grid, int, NDArray[np.intp]]:
    """The grid of equal steps between the voxels of files and those of a volume, from its first slice to its last one.

    Also its canonical axis of slices, and of which slice of the files each one on that is made.
    """
    depth = volume.grid.shape[2]  # `upright` changes the other axes
    grid = Grid((*original.shape[:2], depth), np.array(original.affine))
    at = np.interp(np.arange(depth), original.levels, np.arange(original.shape[2]))
    axis, at = _in_canonical(grid, at, original.shape[2])
    return grid, axis, _nearest(at)


def _in_canonical(grid: Grid, source: Floats, count: int) -> tuple[int, Floats]:
    """The canonical axis of slices on the third axis of a file, and the slices from which those on it come, ascending.

    source: the same in the order of the file, of `count` slices.
    """
    turned = grid.from_canonical_index[2, :3]
    axis = int(np.abs(turned).argmax())
    return axis, source if turned[axis] > 0 else count - 1 - source[::-1]


def _between(below: Array, above: Array, share: float) -> Array:
    mixed = below * np.float32(1 - share) + above * np.float32(share)
    return mixed if below.dtype.kind == "f" else np.rint(mixed)


def _sliced(mask: Mask, axis: int, source: NDArray[np.intp]) -> Mask:
    """The mask whose slice number n on an axis is that with the number ``source[n]`` of another; `source` ascends."""
    index = source - mask.start[axis]
    kept = np.flatnonzero((index >= 0) & (index < mask.array.shape[axis]))
    if not len(kept):
        return Mask.empty()
    start = list(mask.start)
    start[axis] = int(kept[0])
    return Mask.of(mask.array.take(index[kept], axis=axis), start)


def _nearest(places: Floats) -> NDArray[np.intp]:
    return np.rint(places.round(3)).astype(np.intp)


def _moved(mask: Mask, old: Grid, new: Grid, shift: float = 0.0) -> Mask:
    """The mask on another grid; shift: by which its voxels are shifted first."""
    affine = old.canonical_affine.copy()
    affine[:3, 3] += affine[:3, :3] @ (np.array(mask.start) + shift)
    return onto_grid(mask.array, affine, new)
