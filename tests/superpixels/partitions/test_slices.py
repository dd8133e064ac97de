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


def layout(kind: str, shape: tuple[int, ...], random: np.random.Generator) -> np.ndarray:
    """Regions that know nothing of the image, shifted at random; cells are about 16 voxels wide."""
    depth, edge = int(random.integers(1, 5)), int(random.integers(14, 19))
    z, y, x = np.indices(shape) + random.integers(edge, size=(3, 1, 1, 1))
    found: dict[str, np.ndarray] = {
        "one region": 0 * z,
        "slices": z,
        "cells": (z // depth) * 10_000 + (y // edge) * 100 + x // edge,
        "cells in slices": z * 10_000 + (y // edge) * 100 + x // edge,
        "columns": (y // edge) * 100 + x // edge,
        "bricks": z * 10_000 + (y // edge) * 100 + (x + edge // 2 * (y // edge % 2)) // edge,
        "bands": z * 100 + y // 6,
        "places": cells(random, shape, shape[0] * 14),
    }
    return found[kind]


def tissue(shape: tuple[int, ...], random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """An image of two kinds of tissue, and its connected parts."""
    smooth = ndimage.gaussian_filter(random.normal(size=shape), (0.5 if shape[0] > 1 else 0, 3, 3))
    return smooth, connected((smooth > np.median(smooth)).astype(np.int32))


VOLUME, PICTURE = (8, 60, 60), (1, 60, 60)
KINDS = ("one region", "slices", "cells", "cells in slices", "columns", "bricks", "bands", "places")


@settings(max_examples=8)
@given(seed=st.integers(0, 2**32 - 1))
@pytest.mark.parametrize("shape", [VOLUME, PICTURE], ids=["volume", "picture"])
@pytest.mark.parametrize("kind", KINDS)
def test_no_layout_that_ignores_the_image_is_good(kind: str, shape: tuple[int, ...], seed: int) -> None:
    """By all metrics of fit. `oe`, `co` and `cd` are none: one region is best by them.

    Chance alone gives ASA .69 and UE .31 in cells, with a standard deviation of .035: five of these are the bounds.
    """
    random = np.random.default_rng(seed)
    smooth, truth = tissue(shape, random)
    pair = PartitionPair(partition(layout(kind, shape, random), smooth), partition(truth))
    perfect = PartitionPair(partition(truth, smooth), pair.annotation)
    for name in ("rec", "pre", "asa", "ev"):
        assert (measured(pair, name) or 0.0) < 0.87, name
    for name in ("ue_np", "ue_bergh", "ue_achanta"):
        assert (measured(pair, name) or 0.0) > 0.13, name
    for name in ("mde", "ue_levin"):
        value = measured(pair, name)
        assert value is None or value > 0.4, name  # a picture of one region has no distances
    for name in ("icv", "sse_rgb"):
        assert (measured(pair, name) or 0.0) > 1.1 * (measured(perfect, name) or 0.0), name
    assert [measured(perfect, name) for name in ("rec", "pre", "asa", "mde", "ue_np")] == [1, 1, 1, 0, 0]


@pytest.mark.parametrize("shape", [VOLUME, PICTURE], ids=["volume", "picture"])
def test_narrow_stripes_find_all_boundaries_by_chance_and_lose_elsewhere(shape: tuple[int, ...]) -> None:
    """The one layout with a good Rec and MDE: nearly all its voxels are boundary. So the paper adds UE to 1 - Rec."""
    smooth, truth = tissue(shape, np.random.default_rng(0))
    pair = PartitionPair(partition(np.indices(shape)[1] // 2, smooth), partition(truth))
    values = {name: measured(pair, name) or 0.0 for name in ("rec", "mde", "pre", "cd", "co", "ue_np", "ev")}
    assert values["rec"] > 0.95
    assert values["mde"] < 0.1
    assert max(values["pre"], values["co"], values["ev"]) < 0.35
    assert values["cd"] > 0.95
    assert 1 - values["rec"] + values["ue_np"] > 0.6
