"""Boxed masks. Targets and answers exist only in this form, so that cost grows with the object, not the volume."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

A = TypeVar("A", bound=NDArray[Any])
T = TypeVar("T")


def plain(values: Any) -> Any:
    """Values as an array of numpy's own class.

    Raises:
        ValueError: it hides some of its values, which numpy would then show.
    """
    if type(values) is not np.ndarray and np.ma.is_masked(values):
        raise ValueError("the array hides some of its values (numpy.ma); fill them first, array.filled(0)")
    return np.asarray(values)


def frozen(array: A) -> A:
    """The same voxels, not copied, as an array that cannot be written into; nor can its views or its base.

    The caller's own array stays as it is. Whatever is not an array is returned as it is. Libraries that do not ask
    numpy, such as torch, can still write; see `intrabench.engine.integrity`.
    """
    if not isinstance(array, np.ndarray) or (isinstance(array.base, memoryview) and array.base.readonly):
        return array
    buffer: Any = plain(array)
    try:
        kept: Any = np.asarray(memoryview(buffer).toreadonly())  # nobody can make it writeable again, unlike a view
        return kept
    except ValueError:  # dates have no buffer
        view = array.view()
        view.flags.writeable = False
        return view


THRESHOLD = "apply a threshold first, such as probabilities > 0.5"
# types of arrays, for all files
Array = NDArray[Any]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]

Index = tuple[int, int, int]
Box = tuple[int, int, int, int, int, int]
"""Half-open: ``z0, y0, x0, z1, y1, x1``."""

Plane = Literal["axial", "coronal", "sagittal"]
"""The plane in which a scan is read, slice by slice."""
TURNED: Mapping[Plane, Index] = {"axial": (0, 1, 2), "coronal": (1, 0, 2), "sagittal": (2, 0, 1)}
"""Which of the axes ``z, y, x`` become slices, rows and columns in a plane."""
UPRIGHT: Mapping[Plane, Index] = {"axial": (0, 1, 2), "coronal": (1, 0, 2), "sagittal": (1, 2, 0)}
"""And back: which of slices, rows and columns in a plane become ``z, y, x``."""


@dataclass(frozen=True)
class Region:
    """Where an answer is valid: on some axial slices, in a box, or (both None) in the whole volume."""

    slices: tuple[int, ...] | None = None
    box: Box | None = None


@dataclass(frozen=True, eq=False)
class Mask:
    """A boolean array ``(z, y, x)`` that begins at the voxel `start`; outside of it is background.

    Many share a mask, so its array cannot be written into.
    """

    start: Index
    array: NDArray[np.bool_]

    def __post_init__(self) -> None:
        object.__setattr__(self, "array", frozen(self.array))

    @classmethod
    def empty(cls) -> Mask:
        """The mask without voxels."""
        return cls((0, 0, 0), np.zeros((0, 0, 0), dtype=bool))

    @classmethod
    def of(cls, array: NDArray[np.generic], start: Sequence[int] = (0, 0, 0)) -> Mask:
        """The tight mask of the nonzero voxels of `array`, whose first voxel lies at `start`.

        Whatever numpy can make an array of will do, such as a tensor of torch in the memory of the CPU.

        Raises:
            ValueError: the array has not three axes, or holds floats other than 0 and 1, such as probabilities or NaN;
                the first voxel is not at whole numbers.
        """
        array = plain(array)
        if array.ndim != 3:
            raise ValueError(f"a mask has three axes (z, y, x), but the array has the shape {array.shape}")
        inside = _booleans(array)
        if len(start) != 3 or any(value % 1 for value in start):
            raise ValueError(
                f"a mask starts at three whole numbers (z, y, x), but at {tuple(start)} this one; round it"
            )
        where = occupied(inside)
        if where is None:
            return cls.empty()
        z, y, x = (int(value) + bound.start for value, bound in zip(start, where, strict=True))
        return cls((z, y, x), np.array(inside[where], order="C"))  # a copy: never keep the whole volume alive

    @classmethod
    def stacked(cls, slices: Sequence[NDArray[np.generic]], z: int) -> Mask:
        """The tight mask of neighbouring slices ``(y, x)`` of one shape, the first of which is slice z.

        The same as `of` their stack, but only their joint box is copied.

        Raises:
            ValueError: a slice holds floats other than 0 and 1.
        """
        first, *others = map(_booleans, slices)
        shadow = first.copy() if others else first
        for one in others:
            np.logical_or(shadow, one, out=shadow)
        where = occupied(shadow[None])
        if where is None:
            return cls.empty()
        _, rows, columns = where
        return cls.of(np.array([one[rows, columns] for one in (first, *others)]), (z, rows.start, columns.start))

    @classmethod
    def union(cls, masks: Sequence[Mask]) -> Mask:
        """All voxels of several masks, in their joint box."""
        filled = [mask for mask in masks if mask.any()]
        if not filled:
            return cls.empty()
        corners = np.array([mask.box for mask in filled])
        low, high = corners[:, :3].min(axis=0), corners[:, 3:].max(axis=0)
        array = np.zeros(high - low, dtype=bool)
        for mask in filled:
            array[box_slices(mask.box, low)] |= mask.array
        return cls((int(low[0]), int(low[1]), int(low[2])), array)

    @classmethod
    def unpack(
        cls, start: Sequence[int] | NDArray[Any], shape: Sequence[int] | NDArray[Any], packed: NDArray[np.uint8]
    ) -> Mask:
        """The inverse of `pack`."""
        count = math.prod(map(int, shape))
        if len(packed) != -(-count // 8):  # numpy would make up what is missing
            raise ValueError(f"a mask of shape {tuple(map(int, shape))} has {len(packed)} bytes")
        flat = np.unpackbits(packed, count=count).astype(bool)
        return cls((int(start[0]), int(start[1]), int(start[2])), flat.reshape(tuple(shape)))

    def pack(self) -> NDArray[np.uint8]:
        """The voxels as bits, in C order."""
        return np.packbits(self.array)

    @property
    def box(self) -> Box:
        """Half-open box of the array (tight when the mask was made by `of`)."""
        z, y, x = self.start
        depth, height, width = self.array.shape
        return z, y, x, z + depth, y + height, x + width

    @cached_property
    def voxels(self) -> int:
        """Number of foreground voxels."""
        return int(np.count_nonzero(self.array))

    @cached_property
    def occupied_slices(self) -> NDArray[np.intp]:
        """Indices z of the axial slices with foreground, ascending."""
        return frozen(np.flatnonzero(self.array.any(axis=(1, 2))) + self.start[0])

    def voxels_per_slice(self, depth: int) -> NDArray[np.int64]:
        """(depth,) foreground voxels of each axial slice of a volume."""
        counts = np.zeros(depth, np.int64)
        counts[self.start[0] : self.start[0] + len(self.array)] = np.count_nonzero(self.array, axis=(1, 2))
        return counts

    def reordered(self, axes: Index) -> Mask:
        """The mask in an array whose axes are these of its own, as of `TURNED` and `UPRIGHT`."""
        if axes == TURNED["axial"]:
            return self
        return Mask(reordered(self.start, axes), np.ascontiguousarray(self.array.transpose(axes)))

    def copy(self) -> Mask:
        """The same voxels in memory of their own."""
        return Mask(self.start, self.array.copy())

    def any(self) -> bool:
        """Whether there is foreground at all."""
        return self.voxels > 0

    def coordinates(self) -> NDArray[np.intp]:
        """Foreground voxels, rows ``z, y, x`` in C order."""
        return np.argwhere(self.array) + np.asarray(self.start, dtype=np.intp)

    def contains(self, voxels: NDArray[Any]) -> NDArray[np.bool_]:
        """(n) Which voxels, rows ``z, y, x``, belong to the mask."""
        places = voxels - np.array(self.start)
        there: NDArray[np.bool_] = ((places >= 0) & (places < self.array.shape)).all(axis=1)
        there[there] = self.array[tuple(places[there].T)]
        return there

    def crop(self, box: Box) -> NDArray[np.bool_]:
        """The dense boolean array inside `box`, which may reach beyond the mask."""
        z0, y0, x0, z1, y1, x1 = box
        dense = np.zeros((max(z1 - z0, 0), max(y1 - y0, 0), max(x1 - x0, 0)), dtype=bool)
        common = intersection(self.box, box)
        if common is not None:
            dense[box_slices(common, (z0, y0, x0))] = self.array[box_slices(common, self.start)]
        return dense

    def within(self, box: Box) -> Mask:
        """The part of this mask inside `box`, as a tight mask."""
        common = intersection(self.box, box)
        return Mask.empty() if common is None else Mask.of(self.crop(common), common[:3])

    def slice(self, z: int) -> Mask:
        """The axial slice z as a tight mask."""
        row = z - self.start[0]
        if not 0 <= row < self.array.shape[0]:
            return Mask.empty()
        return Mask.of(self.array[row : row + 1], (z, *self.start[1:]))

    def overwrite(self, update: Mask, valid: Region) -> Mask:
        """This mask, replaced by `update` inside of `valid`, even where `update` is empty."""
        if valid.slices is None and valid.box is None:
            return Mask.of(update.array, update.start)  # a copy: whoever made the update may go on with its array
        box = joint_box(self, update)
        if box is None:
            return Mask.empty()
        kept, new = self.crop(box), update.crop(box)
        where: tuple[NDArray[np.intp] | slice, ...]
        if valid.slices is not None:
            rows = np.asarray(valid.slices, dtype=np.intp) - box[0]
            where = (rows[(rows >= 0) & (rows < kept.shape[0])],)
        else:
            common = intersection(valid.box, box) if valid.box else None
            where = box_slices(common, (box[0], box[1], box[2])) if common else (slice(0, 0),)
        kept[where] = new[where]
        return Mask.of(kept, box[:3])

    def without(self, other: Mask) -> Mask:
        """This mask without the voxels of `other`."""
        if intersection(self.box, other.box) is None:
            return self
        return Mask.of(self.array & ~other.crop(self.box), self.start)

    def to_array(self, shape: Sequence[int]) -> NDArray[np.bool_]:
        """The mask in a whole volume of that shape ``(z, y, x)``; what lies outside of it is cut off, without a word.

        For files and tests only: work per target stays in the box.
        """
        return self.crop((0, 0, 0, int(shape[0]), int(shape[1]), int(shape[2])))


def masks_of(labels: NDArray[Any], start: Sequence[int] = (0, 0, 0), most: int = 0) -> dict[int, Mask]:
    """The masks of all labels above 0 of a label map whose first voxel lies at `start`, each cut out of its own box.

    most: larger labels are left out; 0: none is.
    """
    from scipy import ndimage  # slow to import

    found = {}
    for label, where in enumerate(ndimage.find_objects(labels, most) if labels.size else (), 1):
        if where is not None:
            corner = [first + side.start for first, side in zip(start, where, strict=True)]
            found[label] = Mask.of(labels[where] == label, corner)
    return found


def reordered(values: Sequence[T], axes: Index) -> tuple[T, T, T]:
    """Values along ``z, y, x``, such as a shape, for an array whose axes are these."""
    z, y, x = axes
    return values[z], values[y], values[x]


def reordered_box(box: Sequence[int], axes: Index) -> Box:
    """A half-open box ``z0, y0, x0, z1, y1, x1`` for such an array."""
    return reordered(box[:3], axes) + reordered(box[3:], axes)


def intersection(a: Box, b: Box) -> Box | None:
    """The common box, or None if the boxes do not overlap."""
    z0, y0, x0, z1, y1, x1 = a
    u0, v0, w0, u1, v1, w1 = b
    # axis by axis: a loop takes three times as long, and this is asked for each answer and target
    low_z, low_y, low_x = max(z0, u0), max(y0, v0), max(x0, w0)
    high_z, high_y, high_x = min(z1, u1), min(y1, v1), min(x1, w1)
    if high_z <= low_z or high_y <= low_y or high_x <= low_x:
        return None
    return low_z, low_y, low_x, high_z, high_y, high_x


def joint_box(a: Mask, b: Mask) -> Box | None:
    """The smallest box around both masks; None when both are empty."""
    boxes = [mask.box for mask in (a, b) if mask.array.size]
    if not boxes:
        return None
    low = [min(box[axis] for box in boxes) for axis in range(3)]
    high = [max(box[axis] for box in boxes) for axis in range(3, 6)]
    return low[0], low[1], low[2], high[0], high[1], high[2]


def grow(box: Box, margin: Sequence[int], shape: Sequence[int]) -> Box:
    """`box` enlarged by `margin` voxels ``(z, y, x)`` on each side and clipped to a volume of `shape`."""
    low = [max(0, box[axis] - margin[axis]) for axis in range(3)]
    high = [min(shape[axis], box[axis + 3] + margin[axis]) for axis in range(3)]
    return low[0], low[1], low[2], high[0], high[1], high[2]


def _booleans(values: Any) -> NDArray[np.bool_]:
    """What `plain` makes of values, as true and false; not copied if they are."""
    array = plain(values)
    if array.dtype.kind not in "biu" and not (array.dtype.kind in "fO" and ((array == 0) | (array == 1)).all()):
        raise ValueError(f"a mask is true or false, but the array holds other {array.dtype}; {THRESHOLD}")
    found: NDArray[np.bool_] = array.astype(bool, copy=False)
    return found


_any: Any = np.logical_or.reduce  # what the method `any` of arrays calls, without its detour


def occupied(array: NDArray[Any]) -> tuple[slice, slice, slice] | None:
    """The smallest box with all that is not zero in an array ``(z, y, x)``, as slices; None: all is zero."""
    planes = _any(array, (1, 2))
    if not planes.any():
        return None
    z0, z1 = _extent(planes)
    shadow = _any(array[z0:z1], 0)
    (y0, y1), (x0, x1) = _extent(_any(shadow, 1)), _extent(_any(shadow, 0))
    return slice(z0, z1), slice(y0, y1), slice(x0, x1)


def _extent(occupied: NDArray[np.bool_]) -> tuple[int, int]:
    """Half-open range from the first to the last true entry, of which there is at least one."""
    return int(occupied.argmax()), len(occupied) - int(occupied[::-1].argmax())


def box_slices(box: Box, origin: Sequence[int] = (0, 0, 0)) -> tuple[slice, slice, slice]:
    """Slices that cut `box` out of an array whose first voxel is `origin`."""
    z, y, x = (slice(box[axis] - origin[axis], box[axis + 3] - origin[axis]) for axis in range(3))
    return z, y, x
