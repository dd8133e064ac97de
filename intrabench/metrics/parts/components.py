"""Connected components of a mask."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Box, Mask, box_slices


@dataclass(frozen=True, eq=False)
class Components:
    """A label map ``(z, y, x)`` of components, from 1 without gaps, and the voxel of the scan at which it starts."""

    labels: NDArray[Any]
    start: tuple[int, int, int] = (0, 0, 0)

    @classmethod
    def of(cls, mask: Mask, connectivity: int) -> Components:
        """Those of a mask, in its own box."""
        from cc3d import connected_components

        if not mask.any():
            return cls(np.zeros(mask.array.shape, np.uint32), mask.start)
        kind: Any = connectivity
        # cc3d 4.1 fails on some arrays with two axes of length 1 without a rim of zeros, and is faster for bytes
        labels = connected_components(np.pad(mask.array.view(np.uint8), 1), connectivity=kind)[1:-1, 1:-1, 1:-1]
        return cls(labels, mask.start)

    @property
    def box(self) -> Box:
        """The box that the labels fill, half-open."""
        z, y, x = self.start
        depth, height, width = self.labels.shape
        return z, y, x, z + depth, y + height, x + width

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """(n,) voxels of each."""
        return np.bincount(self.labels[self.labels > 0].astype(np.int64))[1:]

    @cached_property
    def centres(self) -> NDArray[np.float64]:
        """(n, 3) of each the mean z, y, x of its voxels in the scan."""
        places = np.nonzero(self.labels)
        owner = self.labels[places].astype(np.int64) - 1
        sums = [np.bincount(owner, weights=axis, minlength=len(self.sizes)) for axis in places]
        return np.column_stack(sums) / self.sizes[:, None] + self.start

    def at(self, places: NDArray[np.intp]) -> NDArray[np.int64]:
        """(k,) the components, from 0, at voxels (3, k) of the scan; -1: none."""
        inner = places - np.array(self.start)[:, None]
        inside = ((inner >= 0) & (inner < np.array(self.labels.shape)[:, None])).all(axis=0)
        found = np.full(places.shape[1], -1, np.int64)
        found[inside] = self.labels[tuple(inner[:, inside])].astype(np.int64) - 1
        return found

    def within(self, box: Box) -> NDArray[Any]:
        """The labels in a box of the scan, which lies in the own one."""
        return self.labels[box_slices(box, self.start)]
