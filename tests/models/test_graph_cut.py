"""graph_cut: its cut is the cheapest, by hand, by trying all, and by networkx; and what it finds with prompts."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest
from scipy import ndimage

from intrabench.models.graph_cut import GraphCut, minimum_cut
from intrabench.models.parts.neighbourhood import FACES
from intrabench.models.parts.seeds import BACKGROUND, TARGET, UNKNOWN
from intrabench.prompts import Prompts, Scribble
from intrabench.volume import Volume
from tests.models.parts.test_seeded_model import found
from tests.models.test_random_walker import dice, distance_mm

Array = np.ndarray
SIGMA = 0.1


def cost(inside: Array, image: Array, step_mm: tuple[float, float, float], odds: Array) -> float:
    """What a division costs, from the definition."""
    cut = sum(
        (np.exp(-((image[a] - image[b]) ** 2) / (2 * SIGMA**2)) * (inside[a] != inside[b])).sum() / step
        for (a, b), step in zip(FACES, step_mm, strict=True)
    )
    return float(cut + np.abs(odds[inside != (odds > 0)]).sum())


def random_problem(seed: int, shape: tuple[int, int, int]) -> tuple[Array, tuple[float, float, float], Array, Array]:
    rng = np.random.default_rng(seed)
    seeds = np.full(shape, UNKNOWN, dtype=np.int8)
    first, *others = rng.permutation(seeds.size)[:4]
    seeds.flat[first] = TARGET
    seeds.flat[others] = BACKGROUND
    step_mm = tuple(rng.choice([0.5, 1.0, 3.0], 3).tolist())
    odds = np.where(seeds == UNKNOWN, rng.normal(0, 0.5, shape), 0.0)
    return rng.random(shape) / 4, step_mm, seeds, odds  # type: ignore[return-value]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("shape", [(2, 2, 3), (1, 3, 4), (3, 2, 2)])
def test_no_other_division_is_cheaper(seed: int, shape: tuple[int, int, int]) -> None:
    image, step_mm, seeds, odds = random_problem(seed, shape)
    found = minimum_cut(image, step_mm, seeds, odds, SIGMA)
    assert (found[seeds != UNKNOWN] == (seeds == TARGET)[seeds != UNKNOWN]).all()
    costs = []
    for sides in itertools.product((False, True), repeat=int((seeds == UNKNOWN).sum())):
        other = seeds == TARGET
        other[seeds == UNKNOWN] = sides
        costs.append(cost(other, image, step_mm, odds))
    assert cost(found, image, step_mm, odds) == pytest.approx(min(costs), abs=1e-4)
    assert sorted(costs)[1] > min(costs) + 1e-4  # the cheapest is one


@pytest.mark.parametrize("seed", range(3))
def test_networkx_finds_the_same_division(seed: int) -> None:
    image, step_mm, seeds, odds = random_problem(seed, (5, 6, 7))
    graph, cells = nx.Graph(), np.arange(seeds.size).reshape(seeds.shape)
    for (a, b), step in zip(FACES, step_mm, strict=True):
        weights = np.exp(-((image[a] - image[b]) ** 2) / (2 * SIGMA**2)) / step
        graph.add_weighted_edges_from(zip(cells[a].flat, cells[b].flat, weights.flat, strict=True), "capacity")
    for cell, side, pull in zip(cells.flat, seeds.flat, odds.flat, strict=True):
        if side == UNKNOWN:
            graph.add_edge("target" if pull > 0 else "background", cell, capacity=abs(pull))
        else:
            graph.add_edge("target" if side == TARGET else "background", cell)  # without a capacity: infinite
    value, (part, _) = nx.minimum_cut(graph, "target", "background")
    found = minimum_cut(image, step_mm, seeds, odds, SIGMA)
    assert cost(found, image, step_mm, odds) == pytest.approx(value, abs=1e-3)
    np.testing.assert_array_equal(found, np.isin(cells, list(part - {"target"})))


@pytest.mark.parametrize(("step_mm", "with_the_target"), [((1.0, 1.0, 3.0), True), ((3.0, 1.0, 1.0), False)])
def test_a_cell_goes_with_the_nearer_of_two_seeds(step_mm: tuple[float, float, float], with_the_target: bool) -> None:
    """Two cells, each beside one seed of each side: its edges weigh 1 and 1/3."""
    seeds = np.full((2, 1, 2), UNKNOWN, dtype=np.int8)
    seeds[0, 0, 0], seeds[1, 0, 1] = TARGET, BACKGROUND
    found = minimum_cut(np.zeros(seeds.shape), step_mm, seeds, np.zeros(seeds.shape), SIGMA)
    # the target beside: along z for (1, 0, 0), along x for (0, 0, 1)
    assert (found[1, 0, 0], found[0, 0, 1]) == (with_the_target, not with_the_target)


@pytest.mark.parametrize(("thickness", "cells"), [(2.0, 1), (2.6, 6)])
def test_thicker_slices_move_the_cut_as_computed_by_hand(thickness: float, cells: int) -> None:
    """A row of 6 above a row of background: k cells of it cost k / thickness, less 0.4 for each, and 1 for an end."""
    seeds = np.full((2, 1, 6), UNKNOWN, dtype=np.int8)
    seeds[0, 0, 0], seeds[1] = TARGET, BACKGROUND
    odds = np.where(seeds == UNKNOWN, 0.4, 0.0)
    found = minimum_cut(np.zeros(seeds.shape), (thickness, 1.0, 1.0), seeds, odds, SIGMA)
    # one cell: 1 / 2 + 1 + 5 * 0.4 = 3.5, all: 6 / 2 = 3; so all are cheaper from 6 / t < 1 / t + 1 + 2, t > 5 / 3
    assert found[0].sum() == 6
    alone = minimum_cut(np.zeros(seeds.shape), (thickness, 1.0, 1.0), seeds, odds / 0.4 * 0.2, SIGMA)
    # with 0.2 for each: all are cheaper from 5 / t < 1 + 1, t > 2.5
    assert alone[0].sum() == cells


def test_two_tissues_are_divided_at_their_border() -> None:
    image = np.zeros((4, 5, 20))
    image[:, :, 12:] = 1.0
    seeds = np.full(image.shape, UNKNOWN, dtype=np.int8)
    seeds[:, :, 0], seeds[:, :, -1] = TARGET, BACKGROUND
    np.testing.assert_array_equal(minimum_cut(image, (5.0, 1.0, 1.0), seeds, np.zeros(image.shape), SIGMA), image == 0)


def test_histograms_of_the_seeds_find_a_border_that_is_too_soft_for_edges() -> None:
    target = distance_mm((24, 24, 24), 48, (1.0, 1.0, 1.0)) < 10
    volume = Volume.from_canonical(ndimage.gaussian_filter(target.astype(np.float32), 4))
    inside = Prompts(scribbles=(Scribble(np.array([(24, 24, x) for x in range(16, 33)])),))
    assert dice(found(GraphCut(region=0), volume, inside), target) < 0.2  # the cheapest cut is around the stroke
    assert dice(found(GraphCut(), volume, inside), target) > 0.85


def test_nothing_is_left_to_be_cut() -> None:
    seeds = np.full((2, 2, 2), BACKGROUND, dtype=np.int8)
    seeds[0] = TARGET
    nothing = np.zeros(seeds.shape)
    np.testing.assert_array_equal(minimum_cut(nothing, (1.0, 1.0, 1.0), seeds, nothing, SIGMA), seeds == TARGET)
