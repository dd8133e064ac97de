"""Masks from grid to grid: exact where grids agree, nearest neighbour elsewhere, and no more than the box."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from intrabench.datasets.convert.resample import canonical_mask, onto_grid
from intrabench.mask import Mask
from intrabench.volume import Grid


def on_file(mask: Mask, grid: Grid) -> np.ndarray:
    """The whole mask in the order of the grid's file."""
    shape = grid.to_canonical(np.empty(grid.shape, dtype=bool)).shape
    return grid.from_canonical(mask.to_array(shape))


def affine_of(axes: np.ndarray, origin: tuple[float, float, float] = (0, 0, 0)) -> np.ndarray:
    affine = np.eye(4)
    affine[:3, :3], affine[:3, 3] = axes, origin
    return affine


def turned(degrees: float) -> np.ndarray:
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ np.array([[1, 0, 0], [0, c, -s], [0, s, c]])


def expected(array: np.ndarray, affine: np.ndarray, grid: Grid) -> np.ndarray:
    """Voxel by voxel over the whole grid."""
    result = np.zeros(grid.shape, dtype=bool)
    for index in np.ndindex(grid.shape):
        place = np.linalg.inv(affine) @ grid.affine @ (*index, 1)
        source = np.floor(np.round(place[:3], 3) + 0.5).astype(int)
        if (source >= 0).all() and (source < array.shape).all():
            result[index] = array[tuple(source)]
    return result


@given(arrays(bool, (4, 5, 6)), st.permutations(range(3)), st.tuples(*[st.sampled_from([-1, 1])] * 3))
def test_agreeing_grids_give_the_very_voxels_in_every_orientation(
    array: np.ndarray, order: list[int], signs: tuple[int, ...]
) -> None:
    grid = Grid((4, 5, 6), affine_of(np.eye(3)[order] * signs * (0.7, 1.1, 3.3), (-5.5, 10.2, 7.1)))
    noise = np.random.default_rng(0).normal(0, 1e-7, (4, 4)) * [[1], [1], [1], [0]]
    mask = onto_grid(array, grid.affine + noise, grid)
    assert np.array_equal(on_file(mask, grid), array)


@given(arrays(bool, (4, 5, 6)), st.permutations(range(3)), st.tuples(*[st.sampled_from([-1, 1])] * 3))
def test_axes_in_another_order_are_the_same_voxels(array: np.ndarray, order: list[int], signs: tuple[int, ...]) -> None:
    grid = Grid((4, 5, 6), affine_of(np.diag([-0.7, 1.1, 3.3]), (-5.5, 10.2, 7.1)))
    flips = tuple(slice(None, None, sign) for sign in signs)
    other = array.transpose(order)[flips]
    corner = [0 if sign > 0 else size - 1 for sign, size in zip(signs, other.shape, strict=True)]
    into = np.zeros((3, 3))
    into[order, range(3)] = signs
    start = np.zeros(3)
    start[order] = corner
    assert np.array_equal(on_file(onto_grid(other, grid.affine @ affine_of(into, tuple(start)), grid), grid), array)


def test_a_coarser_array_is_repeated_and_a_finer_one_is_picked_from() -> None:
    coarse = np.random.default_rng(0).random((4, 3, 5)) < 0.5
    fine = coarse.repeat(2, 0).repeat(3, 1)
    # centres of the first voxels: the coarse one lies in the middle of its 2 x 3 fine ones
    grid = Grid((8, 9, 5), affine_of(np.eye(3)))
    affine = affine_of(np.diag([2.0, 3.0, 1.0]), (0.5, 1.0, 0.0))
    assert np.array_equal(on_file(onto_grid(coarse, affine, grid), grid), fine)
    picked = Grid((4, 3, 5), affine)
    # the centre is between two fine voxels along the first axis: the larger index counts
    assert np.array_equal(on_file(onto_grid(fine, grid.affine, picked), picked), fine[1::2, 1::3])


@given(
    arrays(bool, (5, 4, 3)),
    st.sampled_from([0.0, 7.3, 45.0, 120.0]),
    st.tuples(*[st.floats(-4, 4, width=16)] * 3),
    st.sampled_from([0.0, 0.3, -0.8]),
)
def test_oblique_and_sheared_grids_agree_with_brute_force(
    array: np.ndarray, degrees: float, origin: tuple[float, float, float], shear: float
) -> None:
    axes = turned(degrees) * (0.9, 1.3, 2.1)
    axes[:, 2] += shear * axes[:, 0]
    affine = affine_of(axes, origin)
    grid = Grid((6, 7, 5), affine_of(np.diag([-1.0, 1.0, 1.5]), (3, -2, -3)))
    assert np.array_equal(on_file(onto_grid(array, affine, grid), grid), expected(array, affine, grid))


def test_what_lies_beyond_the_grid_is_cut_off() -> None:
    grid = Grid((4, 4, 4), affine_of(np.eye(3)))
    array = np.ones((3, 3, 3), dtype=bool)
    mask = onto_grid(array, affine_of(np.eye(3), (2, -1, 0)), grid)
    assert (mask.box, mask.voxels) == ((0, 0, 2, 3, 2, 4), 3 * 2 * 2)
    for far in (4.0, -3.0, 100.0):
        assert not onto_grid(array, affine_of(np.eye(3), (far, 0, 0)), grid).any()
    assert not onto_grid(np.zeros_like(array), np.eye(4), grid).any()


@pytest.mark.parametrize("degrees", [0.0, 20.0])
def test_the_work_is_as_large_as_the_object(degrees: float) -> None:
    array = np.zeros((400, 400, 400), dtype=bool)
    array[100:140, 200:240, 150:190] = True
    grid = Grid((400, 400, 400), affine_of(turned(degrees)))
    tracemalloc.start()
    assert onto_grid(array, np.eye(4), grid).voxels == pytest.approx(40**3, rel=0.01)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * 40**3 if degrees == 0 else peak < 4 * 400**2 * 8


@given(arrays(bool, (2, 3, 4)), st.permutations(range(3)), st.tuples(*[st.sampled_from([-1, 1])] * 3))
def test_a_box_in_file_order_lands_where_it_is(array: np.ndarray, order: list[int], signs: tuple[int, ...]) -> None:
    grid = Grid((5, 6, 7), affine_of(np.eye(3)[order] * signs))
    whole = np.zeros(grid.shape, dtype=bool)
    whole[2:4, 1:4, 3:7] = array
    assert np.array_equal(on_file(canonical_mask(array, (2, 1, 3), grid), grid), whole)
