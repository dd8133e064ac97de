"""Distances between boundaries and sums of places, against SciPy's exact distance transform and NumPy per region."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage

from intrabench.registry import registry
from intrabench.superpixels.partitions import distance
from intrabench.superpixels.partitions.bits import packed
from intrabench.superpixels.partitions.distance import REACH, distance_sum
from intrabench.superpixels.partitions.pair import PartitionPair
from intrabench.superpixels.partitions.partition import Partition
from intrabench.superpixels.partitions.relabel import relabelled
from intrabench.superpixels.partitions.slabs import slabs

Spacing = tuple[float, float, float]
SPACINGS: list[Spacing] = [(1.0, 1.0, 1.0), (5.0, 0.7, 0.7), (0.3, 1.0, 2.0), (1.0, 1.5, 0.4)]
seeds = st.integers(0, 2**32 - 1)


def partition(labels: np.ndarray, spacing: Spacing) -> Partition:
    return Partition(relabelled(labels, labels.shape, "labels"), spacing)


def measured(pair: PartitionPair, name: str) -> float | None:
    return registry.make("metrics", name).compare(pair)  # type: ignore[attr-defined]


def expected_sum(voxels: np.ndarray, sources: np.ndarray, spacing: Spacing) -> float:
    return float(ndimage.distance_transform_edt(~sources, spacing)[voxels].sum())


def cells(random: np.random.Generator, shape: tuple[int, int, int], count: int) -> np.ndarray:
    """Regions of the voxels nearest to random places."""
    places = np.indices(shape).reshape(3, -1).T
    centres = random.random((count, 3)) * shape
    return ((places[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1).reshape(shape)


@given(seeds, st.sampled_from([(2, 9, 66), (12, 11, 7), (5, 3, 130)]), st.sampled_from(SPACINGS))
def test_a_sum_is_exact(seed: int, shape: tuple[int, ...], spacing: Spacing) -> None:
    """Whether or not there are voxels everywhere; a missing answer means that one is far."""
    random = np.random.default_rng(seed)
    sources, voxels = random.random(shape) < random.choice([0.003, 0.03, 0.3]), random.random(shape) < 0.2
    found = distance_sum(packed(voxels, shape[2]), packed(sources, shape[2]), spacing)
    distances = ndimage.distance_transform_edt(~sources, spacing) if sources.any() else np.full(shape, np.inf)
    if distances[voxels].max(initial=0) < (REACH + 1) * min(spacing) - 1e-9:
        assert found == pytest.approx(distances[voxels].sum(), rel=1e-12, abs=1e-12)
    else:
        assert found is None


@pytest.mark.parametrize(
    ("place", "spacing", "expected"),
    [
        ((0, 0, 10), (1.0, 1.0, 1.0), 10.0),
        ((0, 0, 11), (1.0, 1.0, 1.0), None),
        ((6, 6, 7), (1.0, 1.0, 1.0), None),  # as far as one of 11 along an axis, which is not looked at
        ((6, 6, 6), (1.0, 1.0, 1.0), 108**0.5),
        ((2, 0, 4), (4.0, 1.0, 1.0), 80**0.5),
        ((3, 0, 0), (4.0, 1.0, 1.0), None),
        ((0, 0, 0), (4.0, 1.0, 1.0), 0.0),
    ],
)
def test_how_far_is_searched(place: tuple[int, ...], spacing: Spacing, expected: float | None) -> None:
    voxels, sources = np.zeros((2, 12, 12, 70), bool)
    voxels[0, 0, 55], sources[place[0], place[1], 55 + place[2]] = True, True
    for one, other in ((voxels, sources), (sources, voxels)):
        found = distance_sum(packed(one, 70), packed(other, 70), spacing)
        assert found == (None if expected is None else pytest.approx(expected, rel=1e-15))


def test_nothing_wanted_and_nothing_there() -> None:
    none, some = np.zeros((3, 3, 3), bool), np.ones((3, 3, 3), bool)
    assert distance_sum(packed(none, 3), packed(none, 3), (1, 1, 1)) == 0
    assert distance_sum(packed(some, 3), packed(none, 3), (1, 1, 1)) is None


@pytest.mark.parametrize("spacing", SPACINGS)
@pytest.mark.parametrize("voxels_at_once", [1, 5000, 2**20])
def test_slabs_change_nothing(spacing: Spacing, voxels_at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distance, "slabs", partial(slabs, voxels=voxels_at_once))
    random = np.random.default_rng(1)
    voxels, sources = random.random((2, 11, 20, 90)) < 0.05
    sources |= random.random(sources.shape) < 0.3
    found = distance_sum(packed(voxels, 90), packed(sources, 90), spacing)
    assert found == pytest.approx(expected_sum(voxels, sources, spacing), rel=1e-12)


SHAPES = [(10, 14, 70), (1, 20, 31), (20, 1, 31), (20, 31, 1), (1, 1, 40)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("spacing", SPACINGS)
@pytest.mark.parametrize("count", [3, 60])
def test_mde_of_volumes_and_pictures(shape: tuple[int, int, int], spacing: Spacing, count: int) -> None:
    """Of dense and of sparse superpixels, which are measured in different ways."""
    random = np.random.default_rng(count)
    ours, truth = (partition(cells(random, shape, number), spacing) for number in (count, 4))
    pair = PartitionPair(ours, truth)
    total = expected_sum(truth.boundary_mask, ours.boundary_mask, spacing)
    assert measured(pair, "mde:volume=true") == pytest.approx(total / truth.boundary_mask.sum(), rel=1e-6)
    assert measured(pair, "mde_paper:volume=true") == pytest.approx(total / truth.labels.size, rel=1e-6)


def test_mde_of_superpixels_that_are_far() -> None:
    """Only then is the distance transform of the whole volume made, once for all annotations."""
    ours, near, far = np.zeros((3, 4, 5, 40), int)
    ours[..., 2:], near[..., 8:], far[..., 30:] = 1, 1, 1
    one = partition(ours, (1.0, 1.0, 0.5))
    for spec, where in (("mde", one.in_slices), ("mde:volume=true", one)):
        assert measured(PartitionPair(one, partition(near, one.spacing_mm)), spec) == (5 + 6) / 2 * 0.5
        assert "boundary_distances_mm" not in vars(where)
        assert measured(PartitionPair(one, partition(far, one.spacing_mm)), spec) == (27 + 28) / 2 * 0.5
        assert "boundary_distances_mm" in vars(where)


@pytest.mark.parametrize("shape", [(4, 5, 6), (1, 5, 6)])
def test_no_boundary_has_no_distance(shape: tuple[int, int, int]) -> None:
    whole, parts = np.zeros(shape, int), np.arange(np.prod(shape)).reshape(shape)
    for ours, truth in ((whole, parts), (parts, whole), (whole, whole)):
        pair = PartitionPair(partition(ours, (1, 1, 1)), partition(truth, (1, 1, 1)))
        specs = ("mde:volume=true", "mde_paper:volume=true", "mde_chamfer")
        assert [measured(pair, name) for name in specs] == [None] * 3


@given(seeds, st.sampled_from([(3, 5, 7), (1, 6, 9), (4, 1, 9), (4, 5, 1)]), st.sampled_from(SPACINGS))
def test_places_spread_around_the_centres_of_regions(seed: int, shape: tuple[int, int, int], spacing: Spacing) -> None:
    random = np.random.default_rng(seed)
    labels = np.repeat(random.integers(0, 6, shape), 2, axis=1)
    if shape[1] == 1:
        labels = labels[:, :1]
    found = partition(labels, spacing)
    places = np.moveaxis(np.indices(labels.shape), 0, -1) * np.asarray(spacing)
    expected = 0.0
    for label in range(found.count):
        own = places[found.labels == label][:, list(found.axes)]
        expected += ((own - own.mean(axis=0)) ** 2).sum()
    assert found.place_residual == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_places_of_more_than_one_slab() -> None:
    labels = np.random.default_rng(0).integers(0, 3, (9, 300, 500), dtype=np.int32)
    labels[:, :, 100:400] = labels[:, :, 99:100]
    expected = 0.0
    for label in range(3):
        own = np.argwhere(labels == label) * (3.0, 1.0, 0.5)
        expected += ((own - own.mean(axis=0)) ** 2).sum()
    assert Partition(labels, (3.0, 1.0, 0.5)).place_residual == pytest.approx(expected, rel=1e-9)
