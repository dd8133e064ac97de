"""Label maps of others become partitions: numbers without gaps, connected pieces, none too small."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intrabench.errors import IntraBenchError
from intrabench.superpixels.partitions.annotation import annotation_of
from intrabench.superpixels.partitions.partition import Partition
from intrabench.superpixels.partitions.relabel import connected, merged, relabelled
from tests.conftest import make_target

SHAPE = (1, 2, 3)


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float32])
def test_gaps_are_closed_in_the_order_of_labels(dtype: type) -> None:
    given = np.array([[[7, 0, 7], [90, 3, 3]]], dtype)
    assert relabelled(given, SHAPE, "x").tolist() == [[[2, 0, 2], [3, 1, 1]]]
    assert relabelled(given == 7, SHAPE, "x").tolist() == [[[1, 0, 1], [0, 0, 0]]]


def test_labels_may_exceed_the_number_of_voxels() -> None:
    assert relabelled(np.array([[[2**40, 5, 2**40]]]), (1, 1, 3), "x").tolist() == [[[1, 0, 1]]]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (np.zeros((1, 2, 2), int), r"^map has the shape \(1, 2, 2\), expected \(1, 2, 3\), that of the image$"),
        (np.full(SHAPE, -1), "^map has negative labels, down to -1; every voxel needs a label from 0$"),
        (np.full(SHAPE, 0.5), "^map holds values that are not whole numbers, expected one label per voxel$"),
        (np.full(SHAPE, np.nan), "^map holds values that are not whole numbers"),
        (np.full(SHAPE, "a"), "^map holds <U1, expected whole numbers, one label per voxel$"),
    ],
)
def test_what_is_no_label_map_is_refused(given: np.ndarray, sentence: str) -> None:
    with pytest.raises(IntraBenchError, match=sentence):
        relabelled(given, SHAPE, "map")


def test_diagonal_neighbours_are_apart() -> None:
    labels = np.array([[[0, 1], [1, 0]], [[1, 0], [0, 1]]], np.int32)
    assert connected(labels).max() == 7
    assert connected(np.zeros((3, 1, 1), np.int32)).max() == 0


@given(st.integers(0, 2**32 - 1), st.integers(2, 30))
def test_no_region_stays_too_small(seed: int, least: int) -> None:
    random = np.random.default_rng(seed)
    image, labels = random.integers(0, 255, (2, 6, 7, 3)), connected(random.integers(0, 3, (2, 6, 7)).astype(np.int32))
    found = merged(labels, image, least)
    assert np.bincount(found.ravel()).min() >= least
    assert connected(found).max() == found.max()  # what was joined are neighbours
    assert len(np.unique(np.stack([labels.ravel(), found.ravel()]), axis=1).T) == labels.max() + 1  # none is divided


def test_the_most_similar_neighbour_takes_the_small_one() -> None:
    labels = np.array([[[0, 0, 0, 1, 2, 2, 2]]], np.int32)
    for grey, expected in ((90, [0, 0, 0, 1, 1, 1, 1]), (10, [0, 0, 0, 0, 1, 1, 1])):
        image = np.array([[[0, 0, 0, grey, 100, 100, 100]]])
        assert merged(labels, image, 2).tolist() == [[expected]]
    assert merged(labels, np.zeros((1, 1, 7)), 100).max() == 0


def test_chains_of_small_ones_are_followed() -> None:
    """The published program leaves regions that joined one that joined another below the least size."""
    labels = np.arange(6, dtype=np.int32).reshape(1, 1, 6)
    assert np.bincount(merged(labels, np.arange(6).reshape(1, 1, 6), 3).ravel()).tolist() == [6]


def test_an_annotation_is_made_of_targets_and_what_is_left() -> None:
    large, small = np.zeros((2, 4, 4), bool), np.zeros((2, 4, 4), bool)
    large[:, :3], small[0, 1, 1] = True, True
    found = annotation_of([make_target(small), make_target(large)])
    assert found.sizes.tolist() == [8, 23, 1]  # background, the large one, the small one within it
    assert annotation_of([make_target(np.ones((1, 2, 2), bool))]).count == 1


def test_regions_have_boxes() -> None:
    labels = np.array([[[0, 0, 1], [2, 2, 1]]], np.int32)
    partition = Partition(labels)
    assert partition.boxes == [(0, 0, 0, 1, 1, 2), (0, 0, 2, 1, 2, 3), (0, 1, 0, 1, 2, 2)]
    assert np.array_equal(partition.region(1).to_array((1, 2, 3)), labels == 1)
