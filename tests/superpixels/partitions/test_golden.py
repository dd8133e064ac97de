"""Metrics of superpixels against the published program, and against what must hold whatever the labels are."""

from __future__ import annotations

import json
import math
from functools import cache
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intrabench.registry import registry
from intrabench.superpixels.partitions.averages import average_loss
from intrabench.superpixels.partitions.contingency import Contingency, _sparse
from intrabench.superpixels.partitions.pair import PartitionPair
from intrabench.superpixels.partitions.partition import Partition
from intrabench.superpixels.partitions.relabel import connected, relabelled
from tests.conftest import GOLDEN

FOLDER = GOLDEN / "superpixels"
CASES: dict[str, Any] = json.loads((FOLDER / "metrics.json").read_text())
EXACT = {
    **{name: name for name in ("rec", "pre", "ue_bergh", "oe", "asa", "ue_np", "sse_rgb", "sse_xy", "ev", "co", "cd")},
    **{"rec_d0": "rec:diagonal=0", "rec_d0.0075": "rec:diagonal=0.0075", "pre_d0.0075": "pre:diagonal=0.0075"},
    **{"ue_levin_present_only": "ue_levin", "icv_present_only": "icv"},
    **{name: name for name in ("sp", "sp_size_mean", "sp_size_std")},
    **{"paper_eq6_co_P_not_squared": "co_paper", "paper_eq8_icv": "icv_paper"},
}
"""Names of the golden values, and our metrics."""


def measured(pair: PartitionPair, spec: str) -> float | None:
    return registry.make("metrics", spec).compare(pair)  # type: ignore[attr-defined]


def partition(labels: np.ndarray, image: np.ndarray | None = None, spacing: tuple[float, ...] = (1, 1, 1)) -> Partition:
    return Partition(relabelled(labels, labels.shape, "labels"), spacing, image=image)  # type: ignore[arg-type]


@cache
def pair_of(case: str) -> PartitionPair:
    with np.load(FOLDER / "triples" / f"{case}.npz") as stored:
        superpixels, truth, image = (stored[name][None] for name in ("superpixels", "ground_truth", "image_rgb"))
    return PartitionPair(partition(superpixels, image), partition(truth))


TRIPLES = [case for case in CASES if (FOLDER / "triples" / f"{case}.npz").exists()]


@pytest.mark.parametrize("case", TRIPLES)
def test_every_metric_is_that_of_the_published_program(case: str) -> None:
    expected, pair = CASES[case]["numpy_float64"], pair_of(case)
    for name, spec in EXACT.items():
        assert measured(pair, spec) == pytest.approx(expected[name], rel=1e-10, abs=1e-12), spec
    original = CASES[case]["cpp_original"]
    for name, tolerance in {"rec": 2e-7, "ue_np": 2e-7, "asa": 2e-7, "co": 4e-6, "ev": 2e-4}.items():
        assert measured(pair, name) == pytest.approx(original[name], rel=tolerance, abs=1e-7), name


@pytest.mark.parametrize("case", TRIPLES)
def test_distances_to_the_edge(case: str) -> None:
    """Exact ones, those of OpenCV, and by all pixels as the paper prints it; none where a boundary is missing."""
    expected, pair = CASES[case]["numpy_float64"], pair_of(case)
    exact = expected["mde_exact_edt"]
    if math.isnan(exact):
        assert {measured(pair, name) for name in ("mde", "mde_chamfer", "mde_paper")} == {None}
        return
    assert measured(pair, "mde") == pytest.approx(exact, rel=1e-7)
    assert measured(pair, "mde_chamfer") == pytest.approx(expected["mde"], rel=1e-7)
    share = pair.annotation.boundary_voxels / pair.annotation.labels.size
    assert measured(pair, "mde_paper") == pytest.approx(exact * share, rel=1e-7)
    assert measured(pair, "mde_chamfer") * share == pytest.approx(expected["paper_eq9_mde_div_N"], rel=1e-7)


def test_all_triples_are_there() -> None:
    assert len(TRIPLES) == 8


@pytest.mark.parametrize("case", TRIPLES)
def test_components_are_those_of_the_published_program(case: str) -> None:
    with np.load(FOLDER / "relabel" / f"{case}_connected.npz") as stored:
        expected = relabelled(stored["connected"][None], (1, *stored["connected"].shape), "labels")
    found = connected(pair_of(case).partition.labels)
    assert found.max() == expected.max()
    assert len(np.unique(np.stack([found.ravel(), expected.ravel()]), axis=1).T) == found.max() + 1


def test_averages_follow_the_text_of_the_paper() -> None:
    curves = json.loads((FOLDER / "average_metric.json").read_text())
    for name, curve in curves.items():
        losses = [(number, 1 - value) for number, value in curve["points"]]
        expected = curve["proper_trapezoid_with_clamped_interpolation"]
        assert average_loss(losses) == pytest.approx(expected, rel=1e-12), name
    assert average_loss([(400, 0.2)]) == pytest.approx(20)  # a single number counts everywhere
    assert average_loss([(400, 0.1), (400, 0.3)]) == pytest.approx(20)
    with pytest.raises(ValueError, match="at least one point"):
        average_loss([])


volumes = st.integers(0, 2**32 - 1).map(lambda seed: np.random.default_rng(seed))


@given(volumes, st.sampled_from([(1, 7, 9), (4, 5, 6)]))
def test_what_holds_for_all_labels(random: np.random.Generator, shape: tuple[int, ...]) -> None:
    image = random.integers(0, 255, shape).astype(np.uint8)
    ours, truth = (partition(random.integers(0, top, shape), image) for top in (9, 4))
    pair = PartitionPair(ours, truth)
    asa, bergh, np_, ev = (measured(pair, name) for name in ("asa", "ue_bergh", "ue_np", "ev"))
    assert asa + bergh == pytest.approx(1)  # type: ignore[operator]
    assert np_ <= 2 * bergh + 1e-12  # type: ignore[operator]
    assert 0 <= ev <= 1  # type: ignore[operator]
    table = pair.contingency
    assert table.voxels.sum() == table.total == ours.labels.size
    for one, other, voxels in zip(table.superpixels, table.segments, table.voxels, strict=True):
        assert ((ours.labels == one) & (truth.labels == other)).sum() == voxels
    pairs, counted = _sparse(ours, truth, 0)
    assert np.array_equal(pairs, table.superpixels * truth.count + table.segments)
    assert np.array_equal(counted, table.voxels)


@given(volumes)
def test_perfect_labels_and_single_pixels(random: np.random.Generator) -> None:
    image, truth = random.integers(0, 255, (3, 4, 5)), random.integers(0, 4, (3, 4, 5))
    perfect = PartitionPair(partition(truth, image), partition(truth))
    assert [measured(perfect, name) for name in ("rec", "pre", "ue_np", "asa", "mde")] == [1, 1, 0, 1, 0]
    alone = PartitionPair(partition(np.arange(60).reshape(3, 4, 5), image), partition(truth))
    assert [measured(alone, name) for name in ("ev", "sse_rgb", "sse_xy", "ue_np")] == [1, 0, 0, 0]


@given(volumes, st.sampled_from([0.0, 0.05, 0.3]))
def test_achantas_error(random: np.random.Generator, share: float) -> None:
    """As it is printed: the sizes of the superpixels over each segment, less the image; where each is over one."""
    ours, truth = (random.integers(0, top, (1, 8, 9)) for top in (5, 3))
    covered = 0
    for segment in np.unique(truth):
        for one in np.unique(ours):
            size = (ours == one).sum()
            covered += size * (((ours == one) & (truth == segment)).sum() > share * size)
    pair = PartitionPair(partition(ours), partition(truth))
    assert measured(pair, f"ue_achanta:share={share}") == pytest.approx((covered - ours.size) / ours.size)
    small = np.zeros((1, 1, 100), int)
    small[..., :5] = 1
    for segment, expected in ((small, 0), (np.roll(small, 1) | small, 1)):  # 5 % is not more than 5 %; 6 % is
        pair = PartitionPair(partition(np.zeros_like(small)), partition(segment))
        assert measured(pair, "ue_achanta") == expected
    each = PartitionPair(partition(np.zeros_like(small)), partition(np.arange(100)[None, None]))
    assert measured(each, "ue_achanta") == 0  # over none it counts once


def test_squares_and_cubes() -> None:
    squares = np.kron(np.arange(6).reshape(1, 2, 3), np.ones((1, 8, 8), int))
    assert measured(PartitionPair(partition(squares), partition(squares)), "co") == pytest.approx(math.pi / 4)
    cubes = np.kron(np.arange(12).reshape(2, 2, 3), np.ones((2, 4, 8), int))
    for spacing, expected in (((2.0, 1.0, 0.5), math.pi / 6), ((1.0, 1.0, 1.0), 36 * math.pi * 64**2 / 112**3)):
        pair = PartitionPair(partition(cubes, None, spacing), partition(cubes))
        assert measured(pair, "co:volume=true") == pytest.approx(expected)


IN_SPACE = (
    *("rec:tolerance_mm=2,volume=true", "pre:tolerance_mm=2,volume=true", "rec:volume=true", "co:volume=true"),
    *("mde:volume=true", "mde_paper:volume=true", "cd:volume=true", "ue_np", "ue_levin", "ue_achanta", "asa", "oe"),
    *("ev", "icv", "sse_rgb", "sse_xy", "sp", "sp_size_std"),
)


@pytest.mark.parametrize("shape", [(4, 7, 10), (1, 12, 9)])
def test_nothing_changes_in_another_orientation(shape: tuple[int, ...]) -> None:
    random, spacing = np.random.default_rng(3), (3.0, 1.0, 1.5)
    ours, truth = (np.kron(random.integers(0, top, shape), np.ones((1, 2, 2), int)) for top in (6, 3))
    image = random.normal(size=ours.shape)

    def values(order: tuple[int, ...], flips: tuple[int, ...]) -> list[float | None]:
        turned = [np.transpose(one, order)[tuple(slice(None, None, f) for f in flips)] for one in (ours, truth, image)]
        mm = tuple(spacing[axis] for axis in order)
        found = PartitionPair(partition(turned[0], turned[2], mm), partition(turned[1], None, mm))
        return [measured(found, name) for name in IN_SPACE]

    expected = values((0, 1, 2), (1, 1, 1))
    assert None not in expected
    for order, flips in product(permutations(range(3)), product((1, -1), repeat=3)):
        assert values(order, flips) == pytest.approx(expected, rel=1e-6), (order, flips)


def test_a_slice_counts_as_a_picture_whatever_its_thickness() -> None:
    pair = pair_of("05_slic_voronoi")
    thick = PartitionPair(
        Partition(pair.partition.labels, (5.0, 1.0, 1.0), image=pair.partition.image),
        Partition(pair.annotation.labels, (5.0, 1.0, 1.0)),
    )
    for name in EXACT.values():
        assert measured(thick, name) == measured(pair, name), name


def test_a_tolerance_in_millimetres_is_a_box_of_voxels() -> None:
    truth, ours = np.zeros((9, 9, 9), int), np.zeros((9, 9, 9), int)
    truth[4:] = 1  # a boundary at z 3 and 4
    ours[6:] = 1  # at z 5 and 6
    found = PartitionPair(partition(ours, None, (2.0, 1.0, 1.0)), partition(truth, None, (2.0, 1.0, 1.0)))
    values = [measured(found, f"rec:tolerance_mm={mm},volume=true") for mm in (1.9, 2.9, 3.0, 4.0)]
    assert values == [0.5, 0.5, 1.0, 1.0]  # one slice reaches from 5 to 4; from 3 mm on there are two


def test_a_constant_image_and_one_region() -> None:
    labels = np.zeros((1, 4, 4), int)
    alone = PartitionPair(partition(labels, np.full((1, 4, 4), 7)), partition(labels))
    assert measured(alone, "ev") is None
    assert measured(alone, "mde") is None
    assert [measured(alone, name) for name in ("rec", "ue_np", "asa", "icv", "sp", "cd")] == [0, 0, 1, 0, 1, 0]


def test_a_table_of_many_pairs_is_counted_in_parts() -> None:
    random = np.random.default_rng(0)
    ours, truth = (random.integers(0, 4000, (6, 60, 60)) for _ in range(2))
    one, other = partition(ours), partition(truth)
    assert one.count * other.count > 2**23
    table = Contingency.of(one, other)
    expected = np.unique(one.labels.astype(np.int64) * other.count + other.labels, return_counts=True)
    assert np.array_equal(table.superpixels * other.count + table.segments, expected[0])
    assert np.array_equal(table.voxels, expected[1])
