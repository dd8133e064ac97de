"""Scans indexed as in their files, for simulated users whose published code does so."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from intrabench.mask import Array, Index, Mask
from intrabench.volume import Grid


@dataclass(frozen=True)
class FileAxes:
    """Indices ``(z, y, x)`` whose x is the first axis of the file, y the second and z the third."""

    grid: Grid

    @property
    def shape(self) -> Index:
        """The shape of the scan."""
        x, y, z = self.grid.shape
        return z, y, x

    def mask(self, canonical: Mask) -> Mask:
        """A mask as it lies in the file."""
        if not canonical.any():
            return canonical
        linear, shift = self._matrix
        voxels = canonical.coordinates() @ linear.T + shift
        start = voxels.min(axis=0)
        array = np.zeros(voxels.max(axis=0) - start + 1, bool)
        array[tuple((voxels - start).T)] = True
        return Mask.of(array, start.tolist())

    def canonical(self, voxels: Array) -> Array:
        """Rows ``z, y, x`` in the file as canonical ones."""
        linear, shift = self._matrix
        return (voxels - shift) @ linear  # the inverse of a matrix that turns and flips is its transpose

    @property
    def _matrix(self) -> tuple[Array, Array]:
        """Turns and flips, and the shift."""
        matrix = self.grid.from_canonical_index[2::-1]
        return matrix[:, :3], matrix[:, 3]
