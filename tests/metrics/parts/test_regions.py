"""Regions of lesions: as distances to each lesion say, by either way, also where keys nearly overflow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from intrabench.mask import Mask
from intrabench.metrics.parts import regions
from intrabench.metrics.parts.components import Components
from intrabench.metrics.parts.transform import Spacing


@given(st.integers(0, 10**6))
def test_envelopes_are_the_least_of_all_parabolas(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count, weight = int(rng.integers(1, 12)), int(rng.choice([1, 3, 1000]))
    low = int(rng.integers(-9, count + 9))
    keys = rng.integers(0, 60 * weight, (count, 3, 2))
    keys[rng.random(keys.shape) < rng.random()] = regions.NONE
    places = np.arange(low, low + int(rng.integers(1, 20)))
    high = low + len(places)
    every = keys + weight * ((places[:, None] - np.arange(count)) ** 2)[..., None, None]
    wanted = np.where(keys < regions.NONE, every, regions.NONE).min(axis=1)
    assert (regions.lower_envelope(keys, weight, low, high) == wanted).all()


@pytest.mark.parametrize("mm", [(1.0, 1.0, 1.0), (1 / 3, 0.1, 1e4), (1e-4, 1e4, np.pi)])
def test_far_away_and_with_many_lesions(mm: tuple[float, float, float]) -> None:
    """A thousand lesions in a row, and parts that are far beside them; none is farther than 3000 voxels."""
    rng = np.random.default_rng(3)
    truth = np.zeros((1, 1, 2000), bool)
    truth[..., ::2] = True
    answer = rng.random((40, 30, 50)) < 0.02
    lesions = Components.of(Mask.of(truth, (5, 7, 100)), 6)
    parts = Components.of(Mask.of(answer, (2000, 1000, 700)), 6)
    x = 700 + np.nonzero(answer)[2]
    wanted = np.bincount((x - 100) // 2, minlength=1000)  # of two that are equally near the first
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(regions, "BOX_PER_VOXEL", np.inf)
        found = regions.regions_of(lesions, parts, mm)
    assert ((found > 0) == answer).all()
    assert (np.bincount(found[answer] - 1, minlength=1000) == wanted).all()


def test_few_voxels_in_a_large_box_ask_a_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    """The box has 27 million voxels, of which two ask."""
    array = np.zeros((300, 300, 300), bool)
    array[0, 0, 0] = array[-1, -1, -1] = True
    called: list[int] = []
    find = regions._by_tree

    def counted(found: NDArray[Any], lesions: Components, parts: Components, mm: Spacing) -> None:
        called.append(1)
        find(found, lesions, parts, mm)

    monkeypatch.setattr(regions, "_by_tree", counted)
    lesions = Components.of(Mask.of(array[:, :, :1], (0, 0, 0)), 6)
    assert regions.regions_of(lesions, Components.of(Mask.of(array), 6), (1.0, 1.0, 1.0)).sum() == 2
    assert called == [1]
    assert regions.regions_of(lesions, Components.of(Mask.of(~array[:3, :3, :3]), 6), (1.0, 1.0, 1.0)).sum() == 26
    assert called == [1]
