"""Surface distances: how far two masks' surfaces lie apart, and what surface Dice, HD and means make of it.

The definition is that of google-deepmind/surface-distance (Nikolov et al., "Clinically applicable segmentation of head
and neck anatomy for radiotherapy", JMIR 2021, arXiv:1809.04430), written anew: the surface lives on the corners between
voxels, each corner with a mixed 2x2x2 neighbourhood carries the area of its surfel and its distance to the nearest such
corner of the other mask. Where that definition gives no number (empty masks), see `surface_dice` and `hausdorff`. Other
programs take voxels for the surface (`intrabench.metrics.parts.borders`); the reductions are the same for both.

A surface does not depend on what it is compared with. So that of a target is found once for all its answers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Floats, Mask, frozen
from intrabench.metrics.parts.nearest import Nearest
from intrabench.metrics.parts.surfels import neighbour_codes, surfel_areas
from intrabench.metrics.parts.transform import Corner, Spacing, Voxels

MARGIN = 0.1
"""Surfels of this share beyond those below the percentile are sorted, because areas differ."""
ROUNDING = 1e-9
"""So close to the percentile, the order in which areas are summed may decide."""


@dataclass(frozen=True, eq=False)
class SurfacePoints(ABC):
    """The n points of the surface of `mask`, at voxel spacing (z, y, x) in mm.

    keep: as many bytes as it may keep besides, to find the nearest of its points sooner.
    """

    mask: Mask
    spacing_mm: Spacing
    keep: int = 0

    @property
    @abstractmethod
    def points(self) -> Voxels:
        """(3, n) z, y, x."""

    @property
    @abstractmethod
    def ends(self) -> tuple[Corner, Corner]:
        """Between these two all points lie, both included."""

    @cached_property
    def _nearest(self) -> Nearest:
        return Nearest(self.points, *self.ends, self.spacing_mm, self.keep)

    def distances_from(self, other: SurfacePoints) -> Floats:
        """(m,) distances in mm from the other's m points to the nearest of this surface; infinite without any."""
        count = other.points.shape[1]
        if not self.points.size or not count:
            return np.full(count, np.inf)
        return self._nearest.distances(other.points, *other.ends)


@dataclass(frozen=True, eq=False)
class Surface(SurfacePoints):
    """The n corners with a surfel; each bears the name of the voxel that it comes before. They take 25 bytes each."""

    @property
    def points(self) -> Voxels:
        """(3, n) z, y, x."""
        return self._found[0]

    @property
    def codes(self) -> NDArray[np.uint8]:
        """(n,) neighbour codes."""
        return self._found[1]

    @property
    def ends(self) -> tuple[Corner, Corner]:
        """The corners before the first voxel of the box, and behind its last one."""
        z0, y0, x0, z1, y1, x1 = self.mask.box
        return (z0, y0, x0), (z1, y1, x1)

    @cached_property
    def _found(self) -> tuple[Voxels, NDArray[np.uint8]]:
        if not self.mask.array.size:
            return np.zeros((3, 0), np.intp), np.zeros(0, np.uint8)
        codes = neighbour_codes(self.mask.array)
        flat = np.flatnonzero(codes + np.uint8(1) > 1)  # 255 wraps to 0, so one comparison drops both uniform codes
        corners = np.array(np.unravel_index(flat, codes.shape))
        corners += np.reshape(self.mask.start, (3, 1))
        return corners, codes.ravel().take(flat)


@dataclass(frozen=True, eq=False)
class Directed(ABC):
    """Distances (mm) of the n points of one surface to the other, each with a weight. To an empty mask: infinite."""

    distances_mm: Floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "distances_mm", frozen(self.distances_mm))  # metrics share them

    @property
    @abstractmethod
    def weights(self) -> Floats:
        """(n,) how much each point counts, read-only."""

    @abstractmethod
    def percentile(self, percentile: float) -> float:
        """The distance that `percentile` (0 to 100) of the points keep; infinite without any."""

    def within(self, tolerance_mm: float) -> float:
        """The weight of the points at most so far away."""
        return float(self.weights[self.distances_mm <= tolerance_mm].sum())

    @cached_property
    def sum(self) -> float:
        """The weighted sum of the distances."""
        return float((self.distances_mm * self.weights).sum())

    @cached_property
    def total(self) -> float:
        """The weight of all points."""
        return float(self.weights.sum())


@dataclass(frozen=True, eq=False)
class DirectedDistances(Directed):
    """Those of surfels, in no order, with their neighbour codes; they count by their areas."""

    codes: NDArray[np.uint8]
    spacing_mm: Spacing

    @cached_property
    def areas_mm2(self) -> Floats:
        """(n,) areas, read-only."""
        return frozen(surfel_areas(self.spacing_mm).take(self.codes))

    @property
    def weights(self) -> Floats:
        """The areas."""
        return self.areas_mm2

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


D = TypeVar("D", bound=Directed, covariant=True)


@dataclass(frozen=True, eq=False)
class BothWays(Generic[D]):
    """The distances from the truth's surface to that of the answer, and from the answer's to that of the truth."""

    truth: D
    answer: D


@dataclass(frozen=True, eq=False)
class SurfaceDistances(BothWays[DirectedDistances]):
    """The distances between two surfaces, of each with the areas of its surfels.

    All arrays are flat, (n,) or (m,), read-only, in order of rising distance.
    """

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


def surface_dice(distances: BothWays[Directed], tolerance_mm: float) -> float:
    """Share of both surfaces, 0 to 1, that lies at most `tolerance_mm` from the other surface (NSD).

    Two empty masks agree: 1.0 (the reference gives NaN). One empty mask: 0.0.
    """
    total = distances.truth.total + distances.answer.total
    if total == 0:
        return 1.0
    return float((distances.truth.within(tolerance_mm) + distances.answer.within(tolerance_mm)) / total)


def hausdorff(distances: BothWays[Directed], percentile: float = 95.0) -> float:
    """Distance (mm) that `percentile` (0 to 100) of each surface keeps to the other, the larger of the two ways.

    Two empty masks agree: 0.0 (the reference gives infinity). One empty mask: infinity.
    """
    if not distances.truth.distances_mm.size and not distances.answer.distances_mm.size:
        return 0.0
    return max(distances.truth.percentile(percentile), distances.answer.percentile(percentile))


def mean_distance(*ways: Directed) -> float:
    """The mean distance (mm) of all points of these surfaces, of which none is empty, to the other one."""
    return sum(way.sum for way in ways) / sum(way.total for way in ways)
