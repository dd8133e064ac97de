"""Voxels as bits, and the boundaries and windows made of them, against plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage

from intrabench.superpixels.partitions.bits import counted, moved, packed, unpacked
from intrabench.superpixels.partitions.boundary import boundary_of, near

LENGTHS = (1, 7, 63, 64, 65, 128, 130)
seeds = st.integers(0, 2**32 - 1)


def some(seed: int, shape: tuple[int, ...], share: float = 0.3) -> np.ndarray:
    return np.random.default_rng(seed).random(shape) < share


@given(seeds, st.sampled_from(LENGTHS))
def test_bits_are_the_voxels(seed: int, length: int) -> None:
    mask = some(seed, (2, 3, length))
    words = packed(mask, length)
    assert words.shape == (2, 3, -(-length // 64))
    assert counted(words) == mask.sum()
    assert np.array_equal(unpacked(words, length), mask)


def test_the_lowest_bit_comes_first() -> None:
    mask = np.zeros((1, 1, 70), bool)
    mask[..., [0, 3, 63, 64, 69]] = True
    assert packed(mask, 70).tolist() == [[[1 + 8 + 2**63, 1 + 2**5]]]


@given(seeds, st.sampled_from(LENGTHS), st.integers(-140, 140))
def test_voxels_move_along_x(seed: int, length: int, step: int) -> None:
    mask = some(seed, (2, 2, length))
    expected = np.zeros_like(mask)
    for x in range(length):
        if 0 <= x - step < length:
            expected[..., x] = mask[..., x - step]
    assert np.array_equal(unpacked(moved(packed(mask, length), step), length), expected)


def differing(labels: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Voxels that differ from a neighbour, each compared with all of its neighbours."""
    found = np.zeros(labels.shape, bool)
    for axis in axes:
        padded = np.pad(labels, [(1, 1) if one == axis else (0, 0) for one in range(3)], mode="edge")
        for first in (0, 2):
            found |= labels != padded.take(np.arange(first, first + labels.shape[axis]), axis)
    return found


@given(seeds, st.sampled_from(LENGTHS), st.sampled_from([(0, 1, 2), (1, 2), (0, 2), (0, 1)]), st.integers(1, 5))
def test_a_boundary_is_where_neighbours_differ(seed: int, length: int, axes: tuple[int, ...], top: int) -> None:
    labels = np.random.default_rng(seed).integers(0, top, (3, 4, length), dtype=np.int32)
    assert np.array_equal(unpacked(boundary_of(labels, axes), length), differing(labels, axes))


@pytest.mark.parametrize("shape", [(3, 600, 1000), (9, 300, 500)])
def test_a_boundary_of_more_than_one_slab(shape: tuple[int, ...]) -> None:
    labels = (np.random.default_rng(0).random(shape) < 0.02).astype(np.int32)
    assert np.array_equal(unpacked(boundary_of(labels, (0, 1, 2)), shape[2]), differing(labels, (0, 1, 2)))


REACHES = [(0, 0, 0), (1, 0, 2), (0, 3, 1), (2, 2, 2), (9, 9, 0), (0, 0, 70), (1, 1, 200)]


@given(seeds, st.sampled_from(LENGTHS), st.sampled_from(REACHES))
def test_near_is_a_window_to_each_side(seed: int, length: int, reach: tuple[int, ...]) -> None:
    mask = some(seed, (3, 5, length), 0.02)
    found = unpacked(near(packed(mask, length), reach), length)
    assert np.array_equal(found, ndimage.maximum_filter(mask, [2 * most + 1 for most in reach], mode="constant"))
