"""Surface distances: how far two masks' surfaces lie apart, as surface Dice at a tolerance and as HD95.

The definition is that of google-deepmind/surface-distance (Nikolov et al., "Clinically applicable segmentation of head
and neck anatomy for radiotherapy", JMIR 2021, arXiv:1809.04430), written anew: the surface lives on the corners between
voxels, each corner with a mixed 2x2x2 neighbourhood carries the area of its surfel and its distance to the nearest such
corner of the other mask. Where that definition gives no number (empty masks), see `surface_dice` and `hausdorff`.

Distances come from a k-d tree over the surface alone, so the cost grows with the surfaces, not with the volume.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from intrabench.frozen import frozen
from intrabench.metrics.parts.surfels import neighbour_codes, surfel_areas

Floats = NDArray[np.float64]


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


def surface_distances(
    truth: NDArray[np.bool_],
    answer: NDArray[np.bool_],
    spacing_mm: tuple[float, float, float],
    *,
    workers: int = 2,
) -> SurfaceDistances:
    """Distances between the surfaces of two masks of the same box (z, y, x), at voxel spacing (z, y, x) in mm.

    Everything outside of the arrays counts as background, so pass the joint bounding box of both masks: a tighter box
    changes the values, a wider one only takes longer. `workers` is the number of threads of the nearest-corner search.
    """
    if truth.shape != answer.shape or truth.ndim != 3:
        raise ValueError(f"truth and answer must be the same 3D box, not {truth.shape} and {answer.shape}")
    areas = surfel_areas(spacing_mm)
    truth_codes, answer_codes = neighbour_codes(truth), neighbour_codes(answer)
    truth_corners, answer_corners = _surface_corners(truth_codes), _surface_corners(answer_codes)
    to_answer = _distances(truth_corners, answer_corners, answer_codes, spacing_mm, workers)
    to_truth = _distances(answer_corners, truth_corners, truth_codes, spacing_mm, workers)
    return SurfaceDistances(
        *_by_distance(to_answer, areas[truth_codes.ravel()[truth_corners]]),
        *_by_distance(to_truth, areas[answer_codes.ravel()[answer_corners]]),
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


def _surface_corners(codes: NDArray[np.uint8]) -> NDArray[np.intp]:
    """(n,) flat indices of the corners whose eight voxels are neither all background nor all mask."""
    return np.flatnonzero(codes + np.uint8(1) > 1)  # 255 wraps to 0, so one comparison drops both uniform codes


def _distances(
    here: NDArray[np.intp],
    there: NDArray[np.intp],
    there_codes: NDArray[np.uint8],
    spacing_mm: tuple[float, float, float],
    workers: int,
) -> Floats:
    """(n,) distances in mm from the n corners `here` to the nearest of the corners `there`; both are flat indices.

    Zero where both surfaces pass; elsewhere a corner lies outside (code 0) or inside (code 255) of the other mask.
    Each corner on the way from there to its nearest surface corner is nearer still, hence off the surface and on the
    same side. So only surface corners with a neighbour on that side can be the nearest, which makes the search shorter.
    """
    codes = there_codes.ravel()
    around = [codes[there + sign * step] for step in there_codes.strides for sign in (-1, 1)]
    distances = np.zeros(len(here))
    for side in (0, 255):
        asking = codes[here] == side
        facing = np.logical_or.reduce([neighbours == side for neighbours in around])
        starts = np.stack(np.unravel_index(here[asking], there_codes.shape), axis=1)
        goals = np.stack(np.unravel_index(there[facing], there_codes.shape), axis=1)
        distances[asking] = _to_nearest(starts, goals, spacing_mm, workers)
    return distances


def _to_nearest(
    starts: NDArray[np.intp], goals: NDArray[np.intp], spacing_mm: tuple[float, float, float], workers: int
) -> Floats:
    """(n,) distances in mm from (n, 3) grid points to the nearest of (m, 3) others; infinite if there are none."""
    from scipy.spatial import cKDTree

    if len(starts) == 0 or len(goals) == 0:
        return np.full(len(starts), np.inf)
    # Surfaces are thin and many of their corners equally far: big leaves without shrunk boxes search fastest here.
    tree = cKDTree(goals * spacing_mm, leafsize=64, compact_nodes=False, balanced_tree=False)
    _, nearest = tree.query(starts * spacing_mm, workers=workers)
    # The tree's own distances carry the rounding of the coordinates, which would put corners at exactly the tolerance
    # on either side of it. Steps are whole numbers, and scaling those rounds as the reference does.
    steps = (starts - goals[nearest]) * spacing_mm
    return np.asarray(np.sqrt((steps * steps).sum(axis=1)), np.float64)


def _by_distance(distances: Floats, areas: Floats) -> tuple[Floats, Floats]:
    """Both arrays in order of rising distance, among equals of rising area.

    The second key matters where a percentile falls exactly between two distances: then the rounding of the summed areas
    decides, and the reference sums in this order. Complex numbers sort by real, then imaginary part, in one quick pass.
    """
    pairs = np.sort(distances + 1j * areas)
    return pairs.real.copy(), pairs.imag.copy()


def _weighted_percentile(distances: Floats, areas: Floats, percentile: float) -> float:
    """The first of the rising distances at which the area so far reaches the percentile; infinite without any."""
    if distances.size == 0:
        return np.inf
    reached = int(np.searchsorted(np.cumsum(areas) / areas.sum(), percentile / 100))
    return float(distances[min(reached, distances.size - 1)])
