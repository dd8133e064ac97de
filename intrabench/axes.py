"""Which axis of a file is which of the patient, and arrays turned so that they grow towards Superior, Anterior, Right.

The axes are those that nibabel finds, without it: its import takes longer than a worker needs for all else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SUPERIOR_ANTERIOR_RIGHT = (2, 1, 0)
"""The canonical axes, as axes of RAS."""


@dataclass(frozen=True)
class Axes:
    """order: the axis of the file that becomes z, y and x. signs: -1 for an axis of the file that is to be reversed."""

    order: tuple[int, ...]
    signs: tuple[int, ...]

    def canonical(self, array: NDArray[Any]) -> NDArray[Any]:
        """A view of an array ``file axes (+ channel)`` as ``(z, y, x) (+ channel)``."""
        return np.transpose(self._reversed(array), (*self.order, *range(3, array.ndim)))

    def filed(self, array: NDArray[Any]) -> NDArray[Any]:
        """The exact inverse of `canonical`."""
        return self._reversed(np.transpose(array, (*np.argsort(self.order), *range(3, array.ndim))))

    def index(self, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """(4, 4) The matrix that takes a canonical index to that of the file, whose shape is given."""
        matrix = np.zeros((4, 4))
        matrix[3, 3] = 1
        for canonical, axis in enumerate(self.order):
            matrix[axis, canonical] = self.signs[axis]
            matrix[axis, 3] = shape[axis] - 1 if self.signs[axis] < 0 else 0
        return matrix

    def _reversed(self, array: NDArray[Any]) -> NDArray[Any]:
        return array[tuple(slice(None, None, sign) for sign in self.signs)]


def axes_of(affine: NDArray[np.float64]) -> Axes:
    """The axes of an affine that is not singular.

    Of the nearest rotation, the axis that is closest to one of RAS takes that one, then the others what is left.
    """
    directions = affine[:3, :3] / np.linalg.norm(affine[:3, :3], axis=0)
    left, _, right = np.linalg.svd(directions)
    cosines = left @ right  # of the axes of RAS (rows) and of the file (columns)
    signs, named, free = [1, 1, 1], [0, 0, 0], np.abs(cosines)
    for axis in np.argsort(-np.max(free, axis=0), kind="stable"):
        ras = int(np.argmax(free[:, axis]))
        named[axis], free[ras] = ras, -1
        signs[axis] = -1 if cosines[ras, axis] < 0 else 1
    return Axes(tuple(named.index(ras) for ras in _SUPERIOR_ANTERIOR_RIGHT), tuple(signs))
