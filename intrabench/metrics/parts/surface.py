"""Surface distances: how far two masks' surfaces lie apart, as surface Dice at a tolerance and as HD95.

The definition is that of google-deepmind/surface-distance (Nikolov et al., "Clinically applicable segmentation of head
and neck anatomy for radiotherapy", JMIR 2021, arXiv:1809.04430), written anew: the surface lives on the corners between
voxels, each corner with a mixed 2x2x2 neighbourhood carries the area of its surfel and its distance to the nearest such
corner of the other mask. Where that definition gives no number (empty masks), see `surface_dice` and `hausdorff`.

A surface does not depend on what it is compared with. So that of a target is found once for all its answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Floats, Mask, frozen
from intrabench.metrics.parts.nearest import Nearest
from intrabench.metrics.parts.surfels import neighbour_codes, surfel_areas
from intrabench.metrics.parts.transform import Spacing, Voxels

MARGIN = 0.1
"""Surfels of this share beyond those below the percentile are sorted, because areas differ."""
ROUNDING = 1e-9
"""So close to the percentile, the order in which areas are summed may decide."""


@dataclass(frozen=True, eq=False)
class Surface:
    """The n corners of `mask` with a surfel, at voxel spacing (z, y, x) in mm.

    It takes 25 bytes per corner. keep: as many bytes as it may keep besides, to find the nearest of its corners sooner.
    """

    mask: Mask
    spacing_mm: Spacing
    keep: int = 0

    @cached_property
    def corners(self) -> Voxels:
        """(3, n) z, y, x; each corner bears the name of the voxel that it comes before."""
        return self._found[0]

    @cached_property
    def codes(self) -> NDArray[np.uint8]:
        """(n,) neighbour codes."""
        return self._found[1]

    @cached_property
    def _found(self) -> tuple[Voxels, NDArray[np.uint8]]:
        if not self.mask.array.size:
            return np.zeros((3, 0), np.intp), np.zeros(0, np.uint8)
        codes = neighbour_codes(self.mask.array)
        flat = np.flatnonzero(codes + np.uint8(1) > 1)  # 255 wraps to 0, so one comparison drops both uniform codes
        corners = np.array(np.unravel_index(flat, codes.shape))
        corners += np.reshape(self.mask.start, (3, 1))
        return corners, codes.ravel().take(flat)

    @cached_property
    def _nearest(self) -> Nearest:
        z0, y0, x0, z1, y1, x1 = self.mask.box
        return Nearest(self.corners, (z0, y0, x0), (z1, y1, x1), self.spacing_mm, self.keep)

    def distances_from(self, other: Surface) -> Floats:
        """(m,) distances in mm from the other's m corners to the nearest of this surface; infinite without any."""
        if not self.codes.size or not other.codes.size:
            return np.full(other.codes.size, np.inf)
        z0, y0, x0, z1, y1, x1 = other.mask.box
        return self._nearest.distances(other.corners, (z0, y0, x0), (z1, y1, x1))


@dataclass(frozen=True, eq=False)
class DirectedDistances:
    """Distances (mm) of the n surfels of one surface to the other, and their neighbour codes, in no order.

    The distances to an empty mask are infinite.
    """

    distances_mm: Floats
    codes: NDArray[np.uint8]
    spacing_mm: Spacing

    def __post_init__(self) -> None:
        object.__setattr__(self, "distances_mm", frozen(self.distances_mm))  # metrics share them

    @cached_property
    def areas_mm2(self) -> Floats:
        """(n,) areas, read-only."""
        return frozen(surfel_areas(self.spacing_mm).take(self.codes))

    @cached_property
    def rising(self) -> tuple[Floats, Floats]:
        """Distances and areas in order of rising distance, among equals of rising area; read-only.

        The second key matters where a percentile falls exactly between two distances: then the rounding of the summed
        areas decides, and the reference sums in this order.
        """
        areas = surfel_areas(self.spacing_mm)
        by_area = np.argsort(areas)
        rank = np.empty(256, np.intp)
        rank[by_area] = np.arange(256)
        order = np.argsort(self.distances_mm)
        distances = self.distances_mm[order]
        # sorting whole numbers is much faster: which of the distances, then which of the areas
        keys = np.zeros(len(order), np.intp)
        np.cumsum(distances[1:] != distances[:-1], out=keys[1:])
        keys = np.sort(keys * 256 + rank[self.codes[order]])
        return frozen(distances), frozen(areas[by_area[keys % 256]])

    def within(self, tolerance_mm: float) -> float:
        """The area (mm²) at most so far away."""
        return float(self.areas_mm2[self.distances_mm <= tolerance_mm].sum())

    def percentile(self, percentile: float) -> float:
        """The first of the rising distances at which the area so far reaches the percentile; infinite without any."""
        if not self.distances_mm.size:
            return np.inf
        found = self._percentile_of_most(percentile / 100)
        if found is not None:
            return found
        distances, areas = self.rising
        reached = int(np.searchsorted(np.cumsum(areas) / areas.sum(), percentile / 100))
        return float(distances[min(reached, len(distances) - 1)])

    def _percentile_of_most(self, share: float) -> float | None:
        """The same from the largest distances; None if the percentile is not among them, or rounding decides."""
        first = int((share - MARGIN) * len(self.distances_mm))
        if first <= 0:
            return None
        near = self.distances_mm < np.partition(self.distances_mm, first)[first]
        total, below = self.areas_mm2.sum(), self.areas_mm2[near].sum()
        far, areas = self.distances_mm[~near], self.areas_mm2[~near]
        order = np.argsort(far)
        shares = (below + np.cumsum(areas[order])) / total
        reached = int(np.searchsorted(shares, share))
        close = (np.abs(shares[max(reached - 1, 0) : reached + 1] - share) < ROUNDING).any()
        if close or below / total > share - ROUNDING or reached == len(order):
            return None
        return float(far[order[reached]])


@dataclass(frozen=True, eq=False)
class SurfaceDistances:
    """The distances between two surfaces, of each with the areas of its surfels.

    All arrays are flat, (n,) or (m,), read-only, in order of rising distance.
    """

    truth: DirectedDistances
    answer: DirectedDistances

    @property
    def truth_distances_mm(self) -> Floats:
        """(n,) from the truth's surface to that of the answer."""
        return self.truth.rising[0]

    @property
    def truth_areas_mm2(self) -> Floats:
        """(n,) areas."""
        return self.truth.rising[1]

    @property
    def answer_distances_mm(self) -> Floats:
        """(m,) from the answer's surface to that of the truth."""
        return self.answer.rising[0]

    @property
    def answer_areas_mm2(self) -> Floats:
        """(m,) areas."""
        return self.answer.rising[1]


def surface_distances(truth: Surface, answer: Surface) -> SurfaceDistances:
    """Distances between two surfaces at the same voxel spacing."""
    return SurfaceDistances(
        DirectedDistances(answer.distances_from(truth), truth.codes, truth.spacing_mm),
        DirectedDistances(truth.distances_from(answer), answer.codes, answer.spacing_mm),
    )


def surface_dice(distances: SurfaceDistances, tolerance_mm: float) -> float:
    """Share of both surfaces' area, 0 to 1, that lies at most `tolerance_mm` from the other surface (NSD).

    Two empty masks agree: 1.0 (the reference gives NaN). One empty mask: 0.0.
    """
    total = distances.truth.areas_mm2.sum() + distances.answer.areas_mm2.sum()
    if total == 0:
        return 1.0
    return float((distances.truth.within(tolerance_mm) + distances.answer.within(tolerance_mm)) / total)


def hausdorff(distances: SurfaceDistances, percentile: float = 95.0) -> float:
    """Distance (mm) that `percentile` (0 to 100) of each surface's area keeps to the other, the larger of the two ways.

    Two empty masks agree: 0.0 (the reference gives infinity). One empty mask: infinity.
    """
    if not distances.truth.codes.size and not distances.answer.codes.size:
        return 0.0
    return max(distances.truth.percentile(percentile), distances.answer.percentile(percentile))
