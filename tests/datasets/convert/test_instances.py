"""Connected components as instances: neighbourhoods, gaps, small ones, order."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets.convert.instances import Instances
from intrabench.datasets.convert.segments import targets_from
from intrabench.mask import Mask
from intrabench.volume import Volume


def cells() -> np.ndarray:
    inside = np.zeros((5, 8, 8), dtype=bool)
    inside[0, 0, 0] = inside[1, 1, 1] = True  # joined at a corner
    inside[4, 0, 0:2] = True  # of the same size, later
    inside[2:4, 4:7, 4:7] = True
    return inside


def test_components_are_numbered_by_size() -> None:
    volume = Volume.from_canonical(np.arange(320).reshape(5, 8, 8), (3.0, 1.0, 1.0))
    found = targets_from([("cell", Mask.of(cells()))], "one", volume, Instances())
    assert [(t.id, t.mask.start, t.mask.voxels, t.spacing_mm) for t in found] == [
        ("cell.1", (2, 4, 4), 18, (3.0, 1.0, 1.0)),
        ("cell.2", (0, 0, 0), 2, (3.0, 1.0, 1.0)),
        ("cell.3", (4, 0, 0), 2, (3.0, 1.0, 1.0)),
    ]
    assert targets_from([("cell", Mask.empty())], "one", volume, Instances()) == []


def test_masks_of_one_label_are_its_instances_and_may_overlap() -> None:
    volume = Volume.from_canonical(np.arange(320).reshape(5, 8, 8))
    first, second = Mask.of(cells()), Mask.of(cells()[:3])
    found = targets_from([("a", first), ("b", second), ("a", Mask.empty()), ("a", second)], "one", volume)
    assert [(t.id, t.mask.voxels) for t in found] == [("a.1", 22), ("b.1", 11), ("a.2", 11)]


@pytest.mark.parametrize(("connectivity", "parts"), [(6, 3), (18, 2), (26, 1)])
def test_connectivity(connectivity: Literal[6, 18, 26], parts: int) -> None:
    inside = np.zeros((4, 4, 4), dtype=bool)
    inside[0, 0, 0] = inside[0, 1, 1] = True  # share an edge
    inside[1, 2, 2] = True  # shares a corner with the last
    assert len(Instances(connectivity).split(Mask.of(inside))) == parts


@pytest.mark.parametrize(("gap", "parts"), [(1, 1), (2, 1), (3, 2)])
def test_dilation_joins_over_a_gap_without_growing_what_it_joins(gap: int, parts: int) -> None:
    inside = np.zeros((3, 3, 12), dtype=bool)
    inside[1, 1, :2] = inside[1, 1, 2 + gap : 4 + gap] = True
    found = Instances(dilation=1).split(Mask.of(inside))
    assert len(found) == parts
    assert np.array_equal(Mask.union(found).to_array(inside.shape), inside)


def test_small_instances_are_left_out() -> None:
    assert [part.voxels for part in Instances(min_voxels=3).split(Mask.of(cells()))] == [18]


@given(arrays(bool, (4, 5, 6)), st.sampled_from([6, 18, 26]), st.integers(0, 2))
def test_instances_are_a_partition_of_the_mask(
    inside: np.ndarray, connectivity: Literal[6, 18, 26], dilation: int
) -> None:
    found = Instances(connectivity, dilation).split(Mask.of(inside))
    total = sum((part.to_array(inside.shape).astype(int) for part in found), np.zeros(inside.shape, int))
    assert np.array_equal(total, inside.astype(int))
    assert [part.voxels for part in found] == sorted((part.voxels for part in found), reverse=True)


@pytest.mark.parametrize("wrong", [{"connectivity": 8}, {"connectivity": 1}, {"dilation": -1}])
def test_a_rule_that_means_nothing_is_refused_when_it_is_made(
    wrong: dict[str, Any], wording: SnapshotAssertion
) -> None:
    with pytest.raises(ValueError) as caught:
        Instances(**wrong)
    assert caught == wording


def test_a_rule_tells_itself_in_words(wording: SnapshotAssertion) -> None:
    assert Instances().describe() == "26-connected components, largest first"
    assert Instances(26, 1, 30).describe() == wording
