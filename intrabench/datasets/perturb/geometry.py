"""Perturbations that move what is in an image: rotation, shear and translation within slices, each one class.

Targets move along. What comes from outside of the image is as dark as its darkest voxel, and background.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.datasets.perturb.base import Perturbation
from intrabench.mask import Mask
from intrabench.prompts import Scribble
from intrabench.target import Target
from intrabench.volume import Volume

Places = NDArray[np.float64]


@dataclass(frozen=True)
class Geometry(Perturbation):
    """Base of affine changes within slices: a subclass says where places go, in mm around the centre of the slice."""

    @abstractmethod
    def linear(self) -> list[list[float]]:
        """The matrix that takes a place ``(y, x)`` to its new one."""

    def shift(self) -> tuple[float, float]:
        """By how many voxels ``(y, x)`` everything moves besides."""
        return 0.0, 0.0

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


@dataclass(frozen=True)
class Rotation(Geometry):
    """A rotation of slices around their centre by `degrees`, from anterior to right."""

    name = "rotation"

    degrees: float = 10.0

    def __post_init__(self) -> None:
        _finite(degrees=self.degrees)

    def linear(self) -> list[list[float]]:
        """The rotation."""
        cos, sin = math.cos(math.radians(self.degrees)), math.sin(math.radians(self.degrees))
        return [[cos, -sin], [sin, cos]]


@dataclass(frozen=True)
class Shear(Geometry):
    """Rows of slices move along x, by `share` of their distance from the middle row."""

    name = "shear"

    share: float = 0.1

    def __post_init__(self) -> None:
        _finite(share=self.share)

    def linear(self) -> list[list[float]]:
        """The shear."""
        return [[1.0, 0.0], [self.share, 1.0]]


@dataclass(frozen=True)
class Translation(Geometry):
    """Everything moves by `y` and `x` voxels."""

    name = "translation"

    y: int = 0
    x: int = 10

    def linear(self) -> list[list[float]]:
        """Nothing but the shift."""
        return [[1.0, 0.0], [0.0, 1.0]]

    def shift(self) -> tuple[float, float]:
        """The translation."""
        return float(self.y), float(self.x)


GEOMETRIES: tuple[type[Perturbation], ...] = (Rotation, Shear, Translation)


@dataclass(frozen=True, eq=False)
class _Origin:
    """Where content comes from: what is at the voxel ``(y, x)`` was at ``matrix @ (y, x) + offset``."""

    matrix: Places
    offset: Places

    @classmethod
    def of(cls, change: Geometry, shape: tuple[int, ...], spacing_mm: tuple[float, ...]) -> _Origin:
        size, centre = np.array(spacing_mm[1:]), (np.array(shape[1:]) - 1) / 2
        matrix = np.linalg.inv(change.linear()) * size / size[:, None]
        return cls(matrix, centre - matrix @ (centre + change.shift()))

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


def _finite(**values: float) -> None:
    for name, value in values.items():
        if not math.isfinite(value) or not value:
            raise ValueError(f"{name} must be a number other than 0")
