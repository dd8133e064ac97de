"""Geometry of slices for prompters: tight boxes, seed slices, centres, and interpolation between them."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from annotated_types import Interval
from numpy.typing import NDArray

from intrabench.mask import Ints, Mask

Ends = Annotated[float, Interval(ge=0, le=0.5)]
"""The share of the target's slices that is kept free at each end."""


def tight_box(mask: Mask) -> tuple[int, int, int, int]:
    """Half-open ``y0, x0, y1, x1`` around the whole foreground of a mask."""
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


def boxes_per_component(mask: Mask) -> Ints:
    """Rows ``z, y0, x0, y1, x1``, half-open: the tight box of every 8-connected component of a slice, z ascending."""
    from scipy import ndimage

    rows = []
    for z in mask.occupied_slices.tolist():
        labels, _ = ndimage.label(mask.array[z - mask.start[0]], np.ones((3, 3)))
        for y, x in ndimage.find_objects(labels):
            rows.append((z, y.start, x.start, y.stop, x.stop))
    return np.array(rows, dtype=np.int64) + (0, *mask.start[1:], *mask.start[1:])


def seed_slices(mask: Mask, n: int, ends: float = 0.0) -> Ints:
    """n evenly spaced slices of the extent, each moved to the nearest foreground slice (in a tie the lower one).

    There are at most as many as foreground slices; gaps can make a slice occur twice. ends: the share of the extent
    that is kept free at each end, in whole slices; a gap that leaves no foreground between them keeps none free. As in
    RadioActive with ends=0.
    """
    occupied = mask.occupied_slices
    first, last = int(occupied[0]), int(occupied[-1])
    free = min(round(ends * (last - first + 1)), (last - first) // 2)
    inner = occupied[(occupied >= first + free) & (occupied <= last - free)]
    occupied = inner if len(inner) else occupied
    spaced = np.linspace(occupied[0], occupied[-1], min(n, len(occupied)), dtype=int)
    nearest = np.abs(occupied[None, :] - spaced[:, None]).argmin(axis=1)
    return occupied[nearest].astype(np.int64)


_LEAF = 16
"""So many points SciPy's tree keeps in one leaf, of which the first is taken in a tie."""


def component_centre(mask: Mask, z: int, of: Literal["box", "voxels"] = "box") -> tuple[int, int]:
    """Centre ``y, x`` of the slice's largest component, moved to its nearest pixel.

    of: the centre of the component's bounding box (RadioActive's seeds for interpolation and propagation) or of its
    voxels (its centre points and scribbles). Components are 8-connected; of equally large ones, the one that begins
    last in row order counts. Half pixels round to even.
    """
    component = _largest_component(mask.array[z - mask.start[0]])
    pixels = np.flatnonzero(component)  # three times faster than `nonzero`
    width = component.shape[1]
    rows = pixels // width
    columns = pixels - width * rows + mask.start[2]  # in the volume's coordinates, because of rounding half to even
    rows += mask.start[1]
    if of == "voxels":
        y, x = round(int(rows.sum()) / len(rows)), round(int(columns.sum()) / len(columns))
    else:
        y, x = round(int(rows[0] + rows[-1]) / 2), round(int(columns.min() + columns.max()) / 2)
    if component[y - mask.start[1], x - mask.start[2]]:
        return y, x
    squared = (rows - y) ** 2 + (columns - x) ** 2
    nearest = np.flatnonzero(squared == squared.min())
    if len(nearest) > 1 and len(rows) > _LEAF:
        from scipy.spatial import cKDTree  # slow to import; it resolves ties as RadioActive does

        nearest = np.array([cKDTree(np.column_stack([rows, columns])).query((y, x))[1]])
    return int(rows[nearest[0]]), int(columns[nearest[0]])


def _largest_component(plane: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The largest 8-connected component of a slice; of equally large ones, the one that begins last in row order."""
    import cc3d

    # as a padded slice of a volume, because cc3d 4.1 labels background in some 2D arrays and fails on others
    framed = np.zeros((1, plane.shape[0] + 2, plane.shape[1] + 2), dtype=bool)
    framed[0, 1:-1, 1:-1] = plane
    labels, count = cc3d.connected_components(framed, connectivity=26, return_N=True)
    if count == 1:
        return plane
    flat = labels.ravel()
    sizes = np.bincount(flat)[1:]
    ties = 1 + np.flatnonzero(sizes == sizes.max())
    last = ties[0] if len(ties) == 1 else max(ties, key=lambda label: int((flat == label).argmax()))
    return np.asarray((labels == last)[0, 1:-1, 1:-1])


def median_slice(mask: Mask) -> int:
    """The foreground slice nearest to the median of all (in a tie the lower one). As in RadioActive."""
    occupied = mask.occupied_slices
    return int(occupied[np.abs(occupied - int(np.median(occupied))).argmin()])


def interpolate(seeds: Ints) -> Ints:
    """Linear interpolation of rows ``z, value, ...`` to every integer z between the first and the last seed.

    Values round half to even. Slices without foreground between the seeds get a row too, and results are not moved
    back to the target. As in RadioActive.
    """
    _, first = np.unique(seeds[:, 0], return_index=True)
    knots = seeds[first]
    z = np.arange(knots[0, 0], knots[-1, 0] + 1)
    columns = [np.interp(z, knots[:, 0], knots[:, column]).round() for column in range(1, seeds.shape[1])]
    return np.column_stack([z, *columns]).astype(np.int64)
