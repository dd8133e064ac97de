"""Boundaries and shapes of volumes, which count within slices: against SciPy slice by slice, and layouts at random."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from intrabench.registry import registry
from intrabench.superpixels.partitions.pair import PartitionPair
from intrabench.superpixels.partitions.partition import Partition
from intrabench.superpixels.partitions.relabel import connected, relabelled

SPACING = (4.0, 1.0, 0.5)


def measured(pair: PartitionPair, spec: str) -> float | None:
    return registry.make("metrics", spec).compare(pair)  # type: ignore[attr-defined]


def partition(labels: np.ndarray, image: np.ndarray | None = None) -> Partition:
    return Partition(relabelled(labels, labels.shape, "labels"), SPACING, image=image)


def cells(random: np.random.Generator, shape: tuple[int, ...], count: int) -> np.ndarray:
    """Regions of the voxels nearest to random places."""
    places = np.indices(shape).reshape(3, -1).T
    centres = random.random((count, 3)) * shape
    return ((places[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1).reshape(shape)


def edges(labels: np.ndarray) -> np.ndarray:
    """Pixels of slices ``(y, x)`` with a neighbour of another label."""
    cross = ndimage.generate_binary_structure(2, 1)
    return ndimage.maximum_filter(labels, footprint=cross) != ndimage.minimum_filter(labels, footprint=cross)


def slice_by_slice(ours: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """The metrics of 2D pictures, their sums over slices divided at the end."""
    window = np.ones((3, 5), bool)  # 1 mm to each side
    hits = alarms = drawn = found = 0
    far = roundness = 0.0
    for one, other in zip(ours, truth, strict=True):
        of_ours, of_truth = edges(one), edges(other)
        hits += (of_truth & ndimage.binary_dilation(of_ours, window)).sum()
        alarms += (of_ours & ~ndimage.binary_dilation(of_truth, window)).sum()
        drawn, found = drawn + of_truth.sum(), found + of_ours.sum()
        if of_ours.any():
            far += ndimage.distance_transform_edt(~of_ours, SPACING[1:])[of_truth].sum()
        else:
            far += of_truth.sum() * math.hypot(one.shape[0] * SPACING[1], one.shape[1] * SPACING[2])
        for label in np.unique(one):
            region = np.pad(one == label, 1)
            around = np.abs(np.diff(region, axis=0)).sum() * SPACING[2] + np.diff(region, axis=1).sum() * SPACING[1]
            area = region.sum() * SPACING[1] * SPACING[2]
            roundness += 4 * math.pi * area / around**2 * region.sum()
    values = {"rec:tolerance_mm=1": hits / drawn, "pre:tolerance_mm=1": hits / (hits + alarms), "mde": far / drawn}
    return values | {"mde_paper": far / ours.size, "cd": found / ours.size, "co": roundness / ours.size}


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.sampled_from([(5, 12, 70), (8, 20, 17)]), st.sampled_from([2, 9, 80]))
def test_values_are_those_of_pictures(seed: int, shape: tuple[int, ...], count: int) -> None:
    random = np.random.default_rng(seed)
    ours, truth = cells(random, shape, count), cells(random, shape, 5)
    ours[1] = 0  # a slice that is not divided
    pair = PartitionPair(partition(ours), partition(truth))
    for spec, expected in slice_by_slice(ours, truth).items():
        assert measured(pair, spec) == pytest.approx(expected, rel=1e-5), spec


def test_one_region_per_slice_finds_nothing() -> None:
    """Across slices it has a boundary at every voxel."""
    truth = np.zeros((6, 20, 30), int)
    truth[2:5, 5:14, 8:20] = 1
    pair = PartitionPair(partition(np.broadcast_to(np.arange(6)[:, None, None], truth.shape)), partition(truth))
    assert [measured(pair, spec) for spec in ("rec", "pre", "cd")] == [0, 0, 0]
    assert measured(pair, "mde") == pytest.approx(math.hypot(20, 15))
    assert [measured(pair, f"{name}:volume=true") for name in ("rec", "mde", "cd")] == [1, 0, 1]


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(14, 18))
def test_no_layout_that_ignores_the_image_is_good(seed: int, depth: int, edge: int) -> None:
    """Cells of any depth, shifted at random, in an image of two kinds of tissue that they know nothing of."""
    random = np.random.default_rng(seed)
    shape = (8, 60, 60)
    smooth = ndimage.gaussian_filter(random.normal(size=shape), (0.5, 3, 3))
    truth = connected((smooth > np.median(smooth)).astype(np.int32))
    parts = [(np.arange(n) + random.integers(size)) // size for n, size in zip(shape, (depth, edge, edge), strict=True)]
    layout = parts[0][:, None, None] * 10_000 + parts[1][:, None] * 100 + parts[2]
    pair = PartitionPair(partition(layout, smooth), partition(truth))
    names = ("rec", "pre", "asa", "ev", "mde", "ue_np", "ue_bergh", "ue_achanta")
    values = {name: measured(pair, name) or 0.0 for name in names}
    assert 0 < max(values[name] for name in ("rec", "pre", "asa", "ev")) < 0.8
    assert values["mde"] > 0.9
    assert min(values[name] for name in ("ue_np", "ue_bergh", "ue_achanta")) > 0.2
    perfect = PartitionPair(partition(truth, smooth), pair.annotation)
    assert [measured(perfect, name) for name in ("rec", "pre", "asa", "mde", "ue_np")] == [1, 1, 1, 0, 0]
