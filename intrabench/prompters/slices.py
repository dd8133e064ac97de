"""What prompters look at in axial slices: tight boxes, seed slices, centres, interpolation between them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Mask

Ints = NDArray[np.int64]


def tight_box(mask: Mask) -> tuple[int, int, int, int]:
    """Half-open ``y0, x0, y1, x1`` around all foreground of a mask, whatever its components."""
    _, y0, x0, _, y1, x1 = Mask.of(mask.array, mask.start).box
    return y0, x0, y1, x1


def boxes_per_slice(mask: Mask) -> Ints:
    """Rows ``z, y0, x0, y1, x1``, half-open: the tight box of every foreground slice, z ascending."""
    rows, columns = np.asarray(mask.array.any(axis=2)), np.asarray(mask.array.any(axis=1))
    occupied = np.flatnonzero(rows.any(axis=1))
    rows, columns = rows[occupied], columns[occupied]
    low = np.column_stack([rows.argmax(axis=1), columns.argmax(axis=1)])
    high = np.column_stack(
        [rows.shape[1] - rows[:, ::-1].argmax(axis=1), columns.shape[1] - columns[:, ::-1].argmax(axis=1)]
    )
    z, y, x = mask.start
    return np.column_stack([occupied + z, low + (y, x), high + (y, x)]).astype(np.int64)


def seed_slices(mask: Mask, n: int) -> Ints:
    """n slices evenly spaced over the extent, moved to the nearest foreground slice (ties to the lower).

    No more than there are foreground slices; gaps can make a slice occur twice. As RadioActive.
    """
    occupied = mask.occupied_slices
    spaced = np.linspace(occupied[0], occupied[-1], min(n, len(occupied)), dtype=int)
    nearest = np.abs(occupied[None, :] - spaced[:, None]).argmin(axis=1)
    return occupied[nearest].astype(np.int64)


def component_centre(mask: Mask, z: int) -> tuple[int, int]:
    """Centre ``y, x`` of the bounding box of the slice's largest component, moved to its nearest pixel.

    8-connected; of equally large components the one that begins last in row order; half pixels round to even.
    As RadioActive's seeds for interpolation and propagation.
    """
    from scipy import ndimage  # half a second to import, which a finished run need not pay
    from scipy.spatial import cKDTree

    plane = mask.array[z - mask.start[0]]
    labels, _ = ndimage.label(plane, structure=np.ones((3, 3)))
    sizes = np.bincount(labels.ravel())[1:]
    largest = len(sizes) - int(sizes[::-1].argmax())  # labels count up in row order, so this is the last of them
    pixels = np.argwhere(labels == largest) + mask.start[1:]  # in the volume, where half to even is defined
    centre = ((pixels.min(axis=0) + pixels.max(axis=0)) / 2).round()
    y, x = pixels[cKDTree(pixels).query(centre)[1]]  # its choice among ties is RadioActive's
    return int(y), int(x)


def interpolate(seeds: Ints) -> Ints:
    """Linear interpolation of rows ``z, value, ...`` to every integer z between the first and the last seed.

    Values round half to even. Slices without foreground between the seeds get a row too, and nothing is moved back
    to the target. As RadioActive.
    """
    _, first = np.unique(seeds[:, 0], return_index=True)
    knots = seeds[first]
    z = np.arange(knots[0, 0], knots[-1, 0] + 1)
    columns = [np.interp(z, knots[:, 0], knots[:, column]).round() for column in range(1, seeds.shape[1])]
    return np.column_stack([z, *columns]).astype(np.int64)
