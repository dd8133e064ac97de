"""A training-free 3D model: a graph cut between seeds, in a neighbourhood of the prompts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from intrabench.mask import Bools, Floats
from intrabench.models.parts.neighbourhood import FACES, Frame, Labels, Spacing, log_ratio, normalised
from intrabench.models.parts.seeded_model import SeededModel
from intrabench.models.parts.seeds import BACKGROUND, TARGET, UNKNOWN
from intrabench.specs.values import NotNegative, Positive

FINENESS = 2**16
"""Capacities are whole numbers in scipy: an edge of weight 1 has this capacity, or less where that would overflow."""
LARGEST = 2**30


@dataclass(eq=False)
class GraphCut(SeededModel):
    """Graph cut between seeds (Boykov and Jolly, "Interactive graph cuts", ICCV 2001): an exact minimum cut, by scipy.

    Cells that share a face are joined by ``exp(-difference**2 / (2 sigma**2)) / distance_mm``. Each cell may also
    prefer a side, by the histograms of the seeds. Points and strokes of all rounds are seeds that never change sides.
    Outside of boxes is background, and their middle is target. Without boxes the border of the neighbourhood is
    background. A correction changes only the surroundings of the points that contradict the answer so far. It is made
    for strokes: after single clicks of different brightness the cheapest cut may be around the clicked voxels alone.

    sigma: intensities that differ by more are easily cut (from the 1st to the 99th percentile they span 1). region: the
    weight of the histograms, 0 without. Both are as in MONAI Label's graph cut for scribbles; nothing was tuned.
    margin_mm: size of the neighbourhood around boxes. size_mm: expected radius of a target that has one point.
    seed_mm: radius of a point. middle: the part of a box's width that is its middle. max_voxels: larger
    neighbourhoods are cut on a coarser grid.
    """

    name = "graph_cut"
    version = "2"

    sigma: Positive = 0.1
    region: NotNegative = 1.0

    def divide(self, frame: Frame, image: Floats, seeds: Labels) -> Bools:
        """Cut the neighbourhood."""
        image = normalised(image)
        odds = np.zeros(frame.cells)
        if self.region and (seeds == BACKGROUND).any():
            odds = self.region * log_ratio(image, (seeds == TARGET).astype(np.float64), seeds != UNKNOWN)
        return minimum_cut(image, frame.step_mm, seeds, odds, self.sigma)


def minimum_cut(image: Floats, step_mm: Spacing, seeds: Labels, odds: Floats, sigma: float) -> Bools:
    """The target's side of the cheapest cut, the smallest one if there are several.

    Its cost is the weight of all cut edges, and ``|odds|`` of each cell on the other side than its sign says, with
    positive odds for the target. seeds: as in `SeededModel.divide`. Weights are rounded to 1 / `FINENESS`.
    """
    from scipy import sparse
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    free = seeds == UNKNOWN
    size = int(np.count_nonzero(free))
    cells, others, weights, pull = _edges(image, step_mm, seeds, sigma)
    pull = pull + odds[free]
    source, sink, number = size, size + 1, np.arange(size, dtype=np.int32)
    to_target, to_background = pull > 0, pull < 0
    rows = np.concatenate([cells, others, np.full(to_target.sum(), source), number[to_background]])
    columns = np.concatenate([others, cells, number[to_target], np.full(to_background.sum(), sink)])
    values = np.concatenate([weights, weights, np.abs(pull[to_target]), np.abs(pull[to_background])])
    scale = min(FINENESS, LARGEST / max(values.max(initial=0), 1e-9))
    capacities = np.rint(values * scale).astype(np.int32)
    graph = sparse.coo_array((capacities, (rows, columns)), shape=(size + 2, size + 2)).tocsr()
    left = graph - maximum_flow(graph, source, sink).flow
    left.eliminate_zeros()
    reached = np.zeros(size + 2, dtype=bool)
    reached[breadth_first_order(left, source, return_predecessors=False)] = True
    inside = seeds == TARGET
    inside[free] = reached[:size]
    return inside


def _edges(image: Floats, step_mm: Spacing, seeds: Labels, sigma: float) -> tuple[Any, Any, Floats, Floats]:
    """The edges between free cells, in C order: both cells of each, and its weight.

    At last how much more the seeds of the target beside each free cell pull at it than those of the background: what
    flows from one to the other through a cell is no choice.
    """
    free = seeds == UNKNOWN
    number = np.full(free.shape, -1, dtype=np.int32)
    number[free] = np.arange(np.count_nonzero(free), dtype=np.int32)
    pulls = np.select([seeds == TARGET, seeds == BACKGROUND], [1.0, -1.0], 0.0)
    cells, others, weights, pull = [], [], [], np.zeros(np.count_nonzero(free))
    for axis, (lower, upper) in enumerate(FACES):
        weight = np.exp(-((image[lower] - image[upper]) ** 2) / (2 * sigma**2)) / step_mm[axis]
        inner = free[lower] & free[upper]
        cells.append(number[lower][inner])
        others.append(number[upper][inner])
        weights.append(weight[inner])
        for here, there in ((lower, upper), (upper, lower)):
            edge = free[here] & ~free[there]
            pull[number[here][edge]] += (weight * pulls[there])[edge]  # no cell comes twice
    return np.concatenate(cells), np.concatenate(others), np.concatenate(weights), pull
