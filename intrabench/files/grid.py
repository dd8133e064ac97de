"""The voxel grids of files, and the one rule of when two of them are the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from intrabench.errors import IntraBenchError
from intrabench.mask import Array, Plane, frozen

SAME = 0.1
"""Voxels up to this far apart, in voxels, are at the same place."""
NOTED = 0.01
"""From this distance on, in voxels, a note says so."""


class OtherGrid(IntraBenchError):
    """A file does not lie on the grid of its scan, so nothing can be measured with it."""


@dataclass(frozen=True, eq=False)
class Grid:
    """The voxel grid of a file: spatial shape in file order and affine (voxel index to RAS millimetres)."""

    shape: tuple[int, int, int]
    affine: NDArray[np.float64]

    def __post_init__(self) -> None:
        if len(self.shape) != 3:
            raise IntraBenchError(f"expected three spatial axes, but the shape is {self.shape}")
        if self.affine.shape != (4, 4) or not np.isfinite(self.affine).all():
            raise IntraBenchError("the affine must be a finite 4 x 4 matrix; repair the header of the image")
        spacing = self.steps
        if abs(np.linalg.det(self.affine[:3, :3])) <= 1e-6 * spacing.prod():
            raise IntraBenchError("the affine is singular, so voxels have no volume; repair the header of the image")
        if not 0.5e-4 < spacing.min() <= spacing.max() < 1e6:
            spacing_text = " x ".join(f"{length:g}" for length in spacing)
            raise IntraBenchError(
                f"voxels of {spacing_text} mm cannot be; repair the header of the image, which is in millimetres"
            )
        object.__setattr__(self, "affine", frozen(self.affine))

    def same_as(self, other: Grid) -> bool:
        """Whether both grids have the same shape, and voxels at the same places to `SAME` everywhere."""
        return self.apart(other) <= SAME

    def apart(self, other: Grid, part: bool = False) -> float:
        """How far the voxels of another grid are off those of the same index, at most, in voxels of this grid.

        Infinite if the shapes differ. part: the other grid may have some of the voxels only, also beyond this grid, in
        any order of axes; then they are compared with the nearest voxels.
        """
        if not part and self.shape != other.shape:
            return np.inf
        back, nearest = self._between(other, part)
        off = corners(other.shape) @ (back - nearest)[:3, :3].T + (back - nearest)[:3, 3]
        return float(np.abs(off).max()) if _has_all(nearest) else np.inf

    def meets(self, other: Grid) -> bool:
        """Whether voxels of another grid may lie on this one; not if all of them are beyond the same side."""
        back, _ = self._between(other, part=True)
        places = corners(other.shape) @ back[:3, :3].T + back[:3, 3]
        return bool((places.max(axis=0) >= -0.5).all() and (places.min(axis=0) < np.array(self.shape) - 0.5).all())

    def difference(self, other: Grid, part: bool = False) -> str:
        """In what another grid differs and by how much, in words; part: as for `apart`."""
        affine = self._reordered(other) if part else other.affine
        steps, others = self.steps, np.linalg.norm(affine[:3, :3], axis=0)
        turned = (self.affine[:3, :3] / steps).T @ (affine[:3, :3] / others)
        degrees = float(np.degrees(np.arccos(np.clip((np.trace(turned) - 1) / 2, -1, 1))))
        found, shape = [], other.shape
        if (np.abs(steps - others) * (np.array(shape) - 1) > SAME * steps).any():
            found.append(f"spacing {_by(others)} instead of {_by(steps)} mm")
        if _has_all(signs := np.rint(turned)) and (signs != np.eye(3)).any():
            found.append(f"axes towards {_towards(affine)} instead of {_towards(self.affine)}")
        elif np.radians(degrees) * max(shape) > SAME:
            found.append(f"axes turned {degrees:.2g} degrees")
        shift = np.abs(affine[:3, 3] - self.affine[:3, 3])
        off = [f"{mm:.3g} mm in {axis}" for mm, axis in zip(shift, "xyz", strict=True) if mm > NOTED * steps.min()]
        found += [f"origin {' and '.join(off)}{' off the voxels' if part else ''}"] if off and not found else []
        if not part and self.shape != shape:
            found.insert(0, f"shape {_by(shape)} instead of {_by(self.shape)}")
        return ", ".join(found) or f"up to {self.apart(other, part):.2g} voxels off"

    def _reordered(self, other: Grid) -> NDArray[np.float64]:
        """The affine of another grid with axes in the order of this grid's, and the origin at a voxel of it, if any."""
        _, nearest = self._between(other, part=True)
        if not _has_all(nearest):
            nearest = np.eye(4)
            directions = other.affine[:3, :3] / other.steps
            nearest[:3, :3] = np.rint((self.affine[:3, :3] / self.steps).T @ directions)
        return other.affine @ np.linalg.inv(nearest) if _has_all(nearest) else other.affine

    def _between(self, other: Grid, part: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The matrix from indices of another grid to those of this one, and what it is if both have the same voxels."""
        back = np.linalg.inv(self.affine) @ other.affine
        return back, np.rint(back) if part else np.eye(4)

    @property
    def steps(self) -> NDArray[np.float64]:
        """The distances between voxels along the axes of the file, in mm, (3,)."""
        return np.asarray(np.linalg.norm(self.affine[:3, :3], axis=0))

    @cached_property
    def skew_degrees(self) -> float:
        """By how much the angle of two axes differs from a right one, at most."""
        axes = self.affine[:3, :3] / self.steps
        return float(np.degrees(np.arcsin(min(1.0, np.abs(axes.T @ axes - np.eye(3)).max()))))

    @cached_property
    def _to_canonical(self) -> Array:
        nearest, signs = nearest_axes(self.affine)
        return np.stack([2 - nearest, signs], axis=1)  # R, A, S are x, y, z

    @property
    def canonical_shape(self) -> tuple[int, int, int]:
        """Shape ``(z, y, x)`` of the canonical array."""
        z, y, x = (self.shape[axis] for axis in np.argsort(self._to_canonical[:, 0]))
        return z, y, x

    def to_canonical(self, array: Array) -> Array:
        """Reorder an array ``shape (+ channel)`` to canonical ``(z, y, x) (+ channel)``, C-contiguous."""
        from nibabel.orientations import apply_orientation

        return np.ascontiguousarray(apply_orientation(array, self._to_canonical))

    def from_canonical(self, array: Array) -> Array:
        """The exact inverse of `to_canonical`."""
        from nibabel.orientations import apply_orientation

        order = np.argsort(self._to_canonical[:, 0])
        back = np.stack([order, self._to_canonical[order, 1]], axis=1)
        return np.ascontiguousarray(apply_orientation(array, back))

    @property
    def canonical(self) -> Grid:
        """The grid of the canonical array; two files have the same one if they differ in the order of axes only."""
        return Grid(self.canonical_shape, self.canonical_affine)

    @cached_property
    def from_canonical_index(self) -> NDArray[np.int64]:
        """(4, 4) The matrix that takes a canonical index ``(z, y, x, 1)`` to that of the file."""
        return frozen(np.rint(np.linalg.inv(self.affine) @ self.canonical_affine).astype(np.int64))

    @cached_property
    def canonical_affine(self) -> NDArray[np.float64]:
        """Affine of the canonical array: index ``(z, y, x)`` to RAS millimetres."""
        to_file = np.zeros((4, 4))
        to_file[3, 3] = 1
        for axis, (place, sign) in enumerate(self._to_canonical):
            to_file[axis, place] = sign
            to_file[axis, 3] = self.shape[axis] - 1 if sign < 0 else 0
        return frozen(self.affine @ to_file)


def nearest_axes(affine: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each axis of a file, which of R, A, S (0, 1, 2) it is nearest to, each once, and 1 or -1: towards it or away.

    affine: (4, 4), not singular. Gives what `nibabel.orientations.io_orientation` gives, whose import takes as long as
    all others of a worker together; so it compares the axes with those of the nearest rotation, the clearest first.
    """
    matrix = affine[:3, :3]
    left, _, right = np.linalg.svd(matrix / np.sqrt((matrix * matrix).sum(axis=0)), full_matrices=False)
    rotation = np.dot(left, right)
    nearest, signs = np.zeros(3, np.int64), np.ones(3, np.int64)
    for axis in np.argsort(-(rotation**2).max(axis=0), kind="stable"):
        place = np.abs(rotation[:, axis]).argmax()
        nearest[axis], signs[axis] = place, -1 if rotation[place, axis] < 0 else 1
        rotation[place] = 0
    return nearest, signs


THICK = 1.5
"""Slices are this many times as thick as the middle one of the three spacings, at least; else nobody can tell."""


def acquisition_plane(shape: Sequence[int], spacing_mm: Sequence[float]) -> Plane:
    """The plane in which a scan was acquired, from shape and spacing along canonical ``z, y, x`` alone.

    It is across the axis of the largest spacing, and axial if that is below `THICK` times the middle one, as it is in
    ties. A scan of one slice has the plane of that slice, whatever its thickness.
    """
    across: tuple[Plane, Plane, Plane] = ("axial", "coronal", "sagittal")
    single = [axis for axis in range(3) if shape[axis] == 1]
    if single:
        return across[single[0]]
    _, middle, largest = sorted(spacing_mm)
    return "axial" if largest < THICK * middle else across[list(spacing_mm).index(largest)]


@dataclass(frozen=True)
class Original:
    """Where the voxels of the files of a scan lie, if it is played on another grid, or a part of it.

    Voxel ``(i, j, k)`` of the files lies at ``affine @ (i, j, levels[k], 1)`` in RAS mm. `levels` ascend. They are
    0, 1, 2, ... unless slices lie at uneven distances, which no affine can say.
    """

    shape: tuple[int, int, int]
    affine: tuple[tuple[float, ...], ...]
    levels: tuple[float, ...]

    @classmethod
    def of(cls, grid: Grid, levels: Iterable[float] | None = None) -> Original:
        """That of files on a grid; levels: of slices that are not where the grid has them, also of more or fewer."""
        places = tuple(map(float, range(grid.shape[2]) if levels is None else levels))
        return cls((*grid.shape[:2], len(places)), tuple(map(tuple, grid.affine.tolist())), places)

    @property
    def uneven(self) -> bool:
        """Whether slices lie at uneven distances."""
        equal = np.linspace(self.levels[0], self.levels[-1], len(self.levels))
        return bool(np.abs(equal - self.levels).max() > SAME)

    @cached_property
    def grid(self) -> Grid:
        """The grid of the files, as one file can state it.

        Uneven steps become equal ones between the same ends. ITK reads such a series in the same way, so that masks on
        this grid lie on the scan in programs that use it.
        """
        affine = np.array(self.affine, dtype=np.float64)
        affine[:3, 3] += affine[:3, 2] * self.levels[0]
        if len(self.levels) > 1:
            affine[:3, 2] *= (self.levels[-1] - self.levels[0]) / (len(self.levels) - 1)
        return Grid(self.shape, affine)


def on_same_grid(
    name: str,
    grid: Grid,
    image: Grid,
    remedy: str,
    *,
    resample: bool = False,
    part: bool = False,
    hint: Callable[[], str] = str,
) -> tuple[str, ...]:
    """A note if a grid that should be that of an image is a little off it, by more than `NOTED`.

    name: the file, for messages. remedy: what to do if the grid is another one. resample: that is allowed, and noted.
    part: as for `Grid.apart`. hint: what may explain a difference, such as another grid in the file that fits.

    Raises:
        OtherGrid: the grid is more than `SAME` off that of the image, and `resample` is false.
    """
    apart = image.apart(grid, part)
    if apart <= NOTED:
        return ()
    if apart <= SAME:
        return (f"labels are up to {apart:.2g} voxels off the grid of the image, and are taken as if on it",)
    differs = image.difference(grid, part)
    if resample:
        return (f"labels lie on a different grid than the image ({differs}); they are resampled by nearest neighbour",)
    raise OtherGrid(f"{name} lies on a different grid than its image: {differs}{hint()}; {remedy}")


def corners(shape: tuple[int, int, int]) -> NDArray[np.intp]:
    """The indices of the voxels at the corners, (8, 3)."""
    return np.stack(np.meshgrid(*((0, extent - 1) for extent in shape)), axis=-1).reshape(-1, 3)


def _has_all(matrix: NDArray[np.float64]) -> bool:
    """Whether a matrix of whole numbers, in its first three rows and columns, takes all indices to all indices."""
    return bool(np.isclose(abs(np.linalg.det(matrix[:3, :3])), 1))


def _towards(affine: Array) -> str:
    from nibabel.orientations import aff2axcodes

    return "".join(map(str, aff2axcodes(affine)))


def _by(values: Iterable[float]) -> str:
    return " x ".join(f"{value:.4g}" for value in values)
