"""The part of an error that a user works on: connected within its axial slice."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Mask

Ties = Literal["block", "pixel"]
Memory = Literal["fortran", "c"]


def largest_part(
    mask: Mask,
    connectivity: int = 8,
    where: Literal["part", "slice"] = "part",
    ties: Ties = "block",
    memory: Memory = "fortran",
) -> Mask:
    """The largest connected part of all slices; of equal ones in several slices that in the first of them.

    where: slice looks only in the slice with most voxels. ties: of equal ones in a slice it is the one with the first
    aligned block of 2 x 2 pixels (block), or with the first pixel (pixel). memory: first along x and then y (fortran),
    or the other way round (c).
    """
    from scipy import ndimage

    if not mask.any():
        return mask
    neighbours = ndimage.generate_binary_structure(2, 2 if connectivity == 8 else 1)
    counts = np.count_nonzero(mask.array, axis=(1, 2))
    largest, found = 0, (0, np.zeros((0, 0), bool))
    for row in np.argsort(-counts, kind="stable")[: 1 if where == "slice" else None].tolist():
        if counts[row] < largest:
            break  # nor has any later one so large a part
        labels, _ = ndimage.label(mask.array[row], neighbours)
        sizes = np.bincount(labels.ravel())
        sizes[0] = 0
        if sizes.max() > largest or (sizes.max() == largest and row < found[0]):
            largest, equal = int(sizes.max()), np.flatnonzero(sizes == sizes.max())
            parts = [labels == label for label in equal.tolist()]
            firsts = [_first(np.argwhere(part) + mask.start[1:], ties, memory) for part in parts]
            found = row, parts[firsts.index(min(firsts))]
    z, y, x = mask.start
    return Mask.of(found[1][None], (z + found[0], y, x))


def _first(pixels: NDArray[np.intp], ties: Ties, memory: Memory) -> tuple[int, ...]:
    """The first place of pixels, rows ``y, x``, in the order of memory."""
    places = pixels // 2 if ties == "block" else pixels
    return min(map(tuple, (places if memory == "fortran" else places[:, ::-1]).tolist()))
