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

from intrabench.frozen import frozen
from intrabench.mask import Mask
from intrabench.metrics.parts.nearest import Floats, Nearest, Spacing, Voxels
from intrabench.metrics.parts.surfels import neighbour_codes, surfel_areas


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
class SurfaceDistances:
    """Distance (mm) and area (mm²) of each of the n surfels of the truth and the m surfels of the answer.

    All arrays are flat, (n,) or (m,), in order of rising distance. An empty mask has no surfels, and the distances of
    the other mask to it are infinite.
    """

    truth_distances_mm: Floats
    truth_areas_mm2: Floats
    answer_distances_mm: Floats
    answer_areas_mm2: Floats

    def __post_init__(self) -> None:
        for name, array in vars(self).items():  # metrics share them
            object.__setattr__(self, name, frozen(array))


def surface_distances(truth: Surface, answer: Surface) -> SurfaceDistances:
    """Distances between two surfaces at the same voxel spacing."""
    return SurfaceDistances(
        *_by_distance(answer.distances_from(truth), truth.codes, truth.spacing_mm),
        *_by_distance(truth.distances_from(answer), answer.codes, answer.spacing_mm),
    )


def surface_dice(distances: SurfaceDistances, tolerance_mm: float) -> float:
    """Share of both surfaces' area, 0 to 1, that lies at most `tolerance_mm` from the other surface (NSD).

    Two empty masks agree: 1.0 (the reference gives NaN). One empty mask: 0.0.
    """
    total = distances.truth_areas_mm2.sum() + distances.answer_areas_mm2.sum()
    if total == 0:
        return 1.0
    near_truth = np.searchsorted(distances.truth_distances_mm, tolerance_mm, side="right")
    near_answer = np.searchsorted(distances.answer_distances_mm, tolerance_mm, side="right")
    near = distances.truth_areas_mm2[:near_truth].sum() + distances.answer_areas_mm2[:near_answer].sum()
    return float(near / total)


def hausdorff(distances: SurfaceDistances, percentile: float = 95.0) -> float:
    """Distance (mm) that `percentile` (0 to 100) of each surface's area keeps to the other, the larger of the two ways.

    Two empty masks agree: 0.0 (the reference gives infinity). One empty mask: infinity.
    """
    if distances.truth_areas_mm2.size == 0 and distances.answer_areas_mm2.size == 0:
        return 0.0
    return max(
        _weighted_percentile(distances.truth_distances_mm, distances.truth_areas_mm2, percentile),
        _weighted_percentile(distances.answer_distances_mm, distances.answer_areas_mm2, percentile),
    )


def _by_distance(distances: Floats, codes: NDArray[np.uint8], spacing_mm: Spacing) -> tuple[Floats, Floats]:
    """Distances and areas in order of rising distance, among equals of rising area.

    The second key matters where a percentile falls exactly between two distances: then the rounding of the summed areas
    decides, and the reference sums in this order.
    """
    areas = surfel_areas(spacing_mm)
    rising = np.argsort(areas)
    rank = np.empty(256, np.intp)
    rank[rising] = np.arange(256)
    order = np.argsort(distances)
    distances = distances[order]
    # sorting whole numbers is much faster: which of the distances, then which of the areas
    keys = np.zeros(len(order), np.intp)
    np.cumsum(distances[1:] != distances[:-1], out=keys[1:])
    keys = np.sort(keys * 256 + rank[codes[order]])
    return distances, areas[rising[keys % 256]]


def _weighted_percentile(distances: Floats, areas: Floats, percentile: float) -> float:
    """The first of the rising distances at which the area so far reaches the percentile; infinite without any."""
    if distances.size == 0:
        return np.inf
    reached = int(np.searchsorted(np.cumsum(areas) / areas.sum(), percentile / 100))
    return float(distances[min(reached, distances.size - 1)])
