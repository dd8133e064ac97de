"""The errors of an answer: false negatives and positives, their largest component, and its deepest point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Index, Mask, joint_box
from intrabench.target import Target

Ties = Literal["block", "pixel"]
Memory = Literal["fortran", "c"]
"""The rules of `largest_part`."""


@dataclass(frozen=True)
class Errors:
    """Missed and wrongly included voxels; ignored voxels belong to neither."""

    negatives: Mask
    positives: Mask

    @classmethod
    def of(cls, target: Target, answer: Mask) -> Errors:
        """Compare target and answer inside their boxes."""
        return cls(
            target.mask.without(answer).without(target.ignore),
            answer.without(target.mask).without(target.ignore),
        )

    @property
    def both(self) -> Mask:
        """All wrong voxels."""
        box = joint_box(self.negatives, self.positives)
        if box is None:
            return Mask.empty()
        return Mask((box[0], box[1], box[2]), self.negatives.crop(box) | self.positives.crop(box))

    def on_slice(self, z: int) -> Errors:
        """The errors in one slice."""
        return Errors(self.negatives.slice(z), self.positives.slice(z))


def largest_component(mask: Mask, tie: Literal["first", "last"] = "last") -> Mask:
    """The largest 26-connected component; of equally large ones, the one that begins first or last in z, y, x order."""
    import cc3d

    if not mask.any():
        return mask
    # without a rim of zeros, cc3d 4.1 fails on some tiny arrays
    labels, count = cc3d.connected_components(np.pad(mask.array, 1), connectivity=26, return_N=True)
    if count == 1:
        return mask
    found = cc3d.statistics(labels, no_slice_conversion=True)
    sizes, boxes = found["voxel_counts"][1:], found["bounding_boxes"][1:]
    ties = 1 + np.flatnonzero(sizes == sizes.max())
    found_at: tuple[int, ...] = ()
    best, where = 0, (slice(0),) * 3
    for label in ties:
        z0, z1, y0, y1, x0, x1 = (int(v) for v in boxes[label - 1])
        block = (slice(z0, z1 + 1), slice(y0, y1 + 1), slice(x0, x1 + 1))
        begins = tuple(int(v) for v in np.argwhere(labels[block] == label)[0] + (z0, y0, x0)) if len(ties) > 1 else (0,)
        if not best or (begins < found_at if tie == "first" else begins > found_at):
            best, where, found_at = int(label), block, begins
    start = [int(s) + w.start - 1 for s, w in zip(mask.start, where, strict=True)]
    return Mask((start[0], start[1], start[2]), labels[where] == best)


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


def deepest(
    mask: Mask,
    spacing_mm: tuple[float, float, float],
    units: Literal["mm", "voxel"] = "mm",
    *,
    planar: bool = False,
) -> list[Index]:
    """The voxels of `mask` farthest from its border or the volume's edge, in z, y, x order; several if they tie.

    Distances are rounded to 1e-3 mm before they are compared, so that float noise changes nothing. planar: within the
    slice, of which the mask has only one; else the slices beside it are its border, too.
    """
    import edt

    steps = (spacing_mm if units == "mm" else (1.0, 1.0, 1.0))[planar:]
    voxels = np.ascontiguousarray(mask.array).view(np.uint8)  # edt is five times faster for bytes than for booleans
    found = np.asarray(edt.edt(voxels[0] if planar else voxels, anisotropy=steps, black_border=True))
    depth = found.round(3).reshape(mask.array.shape)
    return [(int(z), int(y), int(x)) for z, y, x in np.argwhere(depth == depth.max()) + mask.start]


def depths(mask: Mask, spacing_mm: tuple[float, float, float], *, planar: bool) -> NDArray[np.float32]:
    """The distance of each voxel of the mask ``(z, y, x)`` to the background or to the volume's edge.

    planar: within the slice, of which the mask has only one. The unit is voxels if these are squares or cubes, so that
    equal depths are equal numbers; else mm, rounded to 1e-3.
    """
    import edt

    voxels = np.ascontiguousarray(mask.array).view(np.uint8)
    steps = depth_steps(spacing_mm, planar=planar)
    found = np.asarray(edt.edt(voxels[0] if planar and len(voxels) else voxels, anisotropy=steps, black_border=True))
    return (found if set(steps) == {1.0} else found.round(3)).reshape(mask.array.shape)


def depth_steps(spacing_mm: tuple[float, float, float], *, planar: bool) -> tuple[float, ...]:
    """The spacing of voxels in the unit of `depths`, along ``z, y, x`` or ``y, x``."""
    steps: tuple[float, ...] = spacing_mm[1:] if planar else spacing_mm
    return (1.0,) * len(steps) if len(set(steps)) == 1 else steps
