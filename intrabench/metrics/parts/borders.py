"""Distances between the border voxels of two masks, as MedPy and MONAI take them, in place of surfels.

The border of a mask are its voxels that have a face to the outside, or to the end of the scan. Each counts once, at its
centre. MedPy 0.5.2 (`medpy.metric.binary`) and MONAI 1.6.1 (`monai.metrics`) take the same voxels, and differ in what
they make of the two ways.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from intrabench.mask import Floats, frozen
from intrabench.metrics.parts.surface import BothWays, Directed, SurfacePoints
from intrabench.metrics.parts.transform import Corner, Voxels


@dataclass(frozen=True, eq=False)
class Border(SurfacePoints):
    """The border voxels of a mask."""

    @cached_property
    def points(self) -> Voxels:
        """(3, n) z, y, x."""
        from scipy import ndimage

        inner = ndimage.binary_erosion(self.mask.array)
        return np.argwhere(self.mask.array & ~inner).T + np.reshape(self.mask.start, (3, 1))

    @property
    def ends(self) -> tuple[Corner, Corner]:
        """The first and the last voxel of the box."""
        z0, y0, x0, z1, y1, x1 = self.mask.box
        return (z0, y0, x0), (z1 - 1, y1 - 1, x1 - 1)


@dataclass(frozen=True, eq=False)
class DirectedVoxels(Directed):
    """Distances of border voxels, which all count the same."""

    @cached_property
    def weights(self) -> Floats:
        """(n,) ones, read-only."""
        return frozen(np.ones(len(self.distances_mm)))

    def percentile(self, percentile: float) -> float:
        """The percentile, between two distances on the line from one to the other; infinite without any."""
        return float(np.percentile(self.distances_mm, percentile)) if self.distances_mm.size else np.inf


BorderDistances = BothWays[DirectedVoxels]


def border_distances(truth: Border, answer: Border) -> BorderDistances:
    """Distances between two borders at the same voxel spacing."""
    return BothWays(DirectedVoxels(answer.distances_from(truth)), DirectedVoxels(truth.distances_from(answer)))


def together(distances: BorderDistances) -> DirectedVoxels:
    """The distances of both ways as those of one."""
    return DirectedVoxels(np.hstack([distances.truth.distances_mm, distances.answer.distances_mm]))
