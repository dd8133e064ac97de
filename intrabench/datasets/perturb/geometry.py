"""Perturbations that move what is in an image: rotation, shear and translation within slices, each one function.

Targets move along. What comes from outside of the image is as dark as its darkest voxel, and background.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.datasets.perturb.base import Perturbation
from intrabench.mask import Mask
from intrabench.prompts import Scribble
from intrabench.specs.component import of_function
from intrabench.target import Target
from intrabench.volume import Volume

Places = NDArray[np.float64]
Affine = tuple[tuple[tuple[float, float], tuple[float, float]], tuple[float, float]]


@dataclass(frozen=True)
class Geometry(Perturbation):
    """Base of affine changes within slices: a subclass says where places go, in mm around the centre of the slice."""

    @abstractmethod
    def affine(self) -> Affine:
        """The matrix that takes a place ``(y, x)`` to its new one, and by how many voxels everything moves besides."""

    def apply(self, volume: Volume, rng: np.random.Generator) -> NDArray[Any]:
        """Move intensities, linearly interpolated."""
        from scipy.ndimage import affine_transform

        source = volume.array.reshape(*volume.shape, -1)
        dark = float(source.min())
        origin = _Origin.of(self, volume.shape, volume.spacing_mm)
        found = np.empty(source.shape, np.float32)
        for z, plane in enumerate(source):
            for channel in range(source.shape[-1]):
                grey = plane[..., channel].astype(np.float32)
                found[z, ..., channel] = affine_transform(
                    grey, origin.matrix, origin.offset, order=1, mode="grid-constant", cval=dark
                )
        return found.reshape(volume.array.shape)

    def moved(self, target: Target) -> Target:
        """The target, what it ignores, and strokes of people where they are then; parts may leave the image.

        First boxes do not go along.
        """
        origin = _Origin.of(self, target.shape, target.spacing_mm)
        return replace(
            target,
            mask=origin.moved(target.mask, target.shape),
            ignore=origin.moved(target.ignore, target.shape),
            scribbles=tuple(
                tuple(moved for one in strokes if len((moved := origin.stroke(one, target.shape)).points))
                for strokes in target.scribbles
            ),
            boxes=None if target.boxes else target.boxes,
        )


def geometry(name: str, check: Callable[[Any], None]) -> Callable[[Callable[..., Affine]], type[Geometry]]:
    """Make a perturbation of a function that does what `Geometry.affine` says; see `of_function`."""
    return lambda function: of_function(Geometry, "affine", function, name=name, __post_init__=check)


def _moves(change: Geometry) -> None:
    for name, value in vars(change).items():
        if not math.isfinite(value) or not value:
            raise ValueError(f"{name} must be a number other than 0")


@geometry("rotation", _moves)
def rotation(degrees: float = 10.0) -> Affine:
    """A rotation of slices around their centre by `degrees`, from anterior to right."""
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return ((cos, -sin), (sin, cos)), (0.0, 0.0)


@geometry("shear", _moves)
def shear(share: float = 0.1) -> Affine:
    """Rows of slices move along x, by `share` of their distance from the middle row."""
    return ((1.0, 0.0), (share, 1.0)), (0.0, 0.0)


@geometry("translation", lambda change: None)
def translation(y: int = 0, x: int = 10) -> Affine:
    """Everything moves by `y` and `x` voxels."""
    return ((1.0, 0.0), (0.0, 1.0)), (float(y), float(x))


GEOMETRIES: tuple[type[Perturbation], ...] = (rotation, shear, translation)


@dataclass(frozen=True, eq=False)
class _Origin:
    """Where content comes from: what is at the voxel ``(y, x)`` was at ``matrix @ (y, x) + offset``."""

    matrix: Places
    offset: Places

    @classmethod
    def of(cls, change: Geometry, shape: tuple[int, ...], spacing_mm: tuple[float, ...]) -> _Origin:
        size, centre = np.array(spacing_mm[1:]), (np.array(shape[1:]) - 1) / 2
        linear, shift = change.affine()
        matrix = np.linalg.inv(linear) * size / size[:, None]
        return cls(matrix, centre - matrix @ (centre + shift))

    def now(self, before: NDArray[Any]) -> Places:
        """The places, rows ``y, x``, to which these went."""
        return (before - self.offset) @ np.linalg.inv(self.matrix).T.astype(np.float64)

    def moved(self, mask: Mask, shape: tuple[int, ...]) -> Mask:
        """The mask as it is then, each voxel by the one that is nearest to its origin."""
        if not mask.any():
            return mask
        z0, y0, x0, z1, y1, x1 = mask.box
        corners = self.now(np.array([(y, x) for y in (y0 - 1, y1) for x in (x0 - 1, x1)]))
        low = np.maximum(np.floor(corners.min(axis=0)), 0).astype(int)
        high = np.minimum(np.ceil(corners.max(axis=0)) + 1, shape[1:]).astype(int)
        if (high <= low).any():
            return Mask.empty()
        at = np.moveaxis(np.mgrid[low[0] : high[0], low[1] : high[1]], 0, -1)
        before = np.floor(np.round(at @ self.matrix.T + self.offset, 9) + 0.5).astype(int) - (y0, x0)
        inside = ((before >= 0) & (before < (y1 - y0, x1 - x0))).all(axis=-1)
        found = np.zeros((z1 - z0, *inside.shape), bool)
        found[:, inside] = mask.array[:, before[inside][:, 0], before[inside][:, 1]]
        return Mask.of(found, (z0, int(low[0]), int(low[1])))

    def stroke(self, stroke: Scribble, shape: tuple[int, ...]) -> Scribble:
        """The part of a stroke that stays in the image."""
        points = stroke.points.copy()
        points[:, 1:] = np.rint(self.now(points[:, 1:]))
        return Scribble(points[((points[:, 1:] >= 0) & (points[:, 1:] < shape[1:])).all(axis=1)], stroke.label)
