"""Boxed masks behave as the dense arrays that they stand for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from syrupy.assertion import SnapshotAssertion

from intrabench.mask import Mask, Region, grow, intersection, joint_box
from intrabench.target import targets_of

SHAPE = (4, 5, 6)
dense = arrays(bool, SHAPE, elements=st.booleans()) | st.just(np.zeros(SHAPE, dtype=bool))


def test_a_whole_volume_cuts_off_what_lies_outside() -> None:
    mask = Mask((1, 2, 3), np.ones((2, 2, 2), bool))
    assert np.argwhere(mask.to_array((2, 3, 9))).tolist() == [[1, 2, 3], [1, 2, 4]]
    assert not mask.to_array((1, 9, 9)).any()


@given(dense)
def test_there_and_back(array: np.ndarray) -> None:
    mask = Mask.of(array)
    assert np.array_equal(mask.to_array(SHAPE), array)
    assert mask.voxels == array.sum()
    assert np.array_equal(mask.coordinates(), np.argwhere(array))
    assert mask.occupied_slices.tolist() == np.flatnonzero(array.any(axis=(1, 2))).tolist()
    unpacked = Mask.unpack(mask.start, mask.array.shape, mask.pack())
    assert np.array_equal(unpacked.to_array(SHAPE), array)


@given(dense)
def test_the_box_is_tight(array: np.ndarray) -> None:
    mask = Mask.of(array)
    if array.any():
        found = np.argwhere(array)
        assert mask.box == (*found.min(axis=0), *(found.max(axis=0) + 1))
    else:
        assert mask.array.size == 0


@given(dense, st.integers(0, 9))
def test_stacked_slices_are_their_stack(array: np.ndarray, z: int) -> None:
    before = array.copy()
    stacked, whole = Mask.stacked(list(array), z), Mask.of(array, (z, 0, 0))
    assert stacked.start == whole.start
    assert np.array_equal(stacked.array, whole.array)
    assert np.array_equal(array, before)


def test_stacked_slices_may_be_of_any_type_but_not_probabilities() -> None:
    slices = [np.array([[0, 2]], np.uint8), np.array([[1.0, 0.0]])]
    assert Mask.stacked(slices, 3).coordinates().tolist() == [[3, 0, 1], [4, 0, 0]]
    with pytest.raises(ValueError, match="holds other float64"):
        Mask.stacked([*slices, np.array([[0.5, 0.0]])], 3)


@given(dense, st.integers(-1, 4))
def test_a_slice_is_that_slice(array: np.ndarray, z: int) -> None:
    expected = np.zeros_like(array)
    if 0 <= z < SHAPE[0]:
        expected[z] = array[z]
    assert np.array_equal(Mask.of(array).slice(z).to_array(SHAPE), expected)


@given(dense, dense, st.sets(st.integers(0, 3)), st.booleans())
def test_overwrite_replaces_valid_slices_even_by_empty(
    old: np.ndarray, new: np.ndarray, slices: set[int], whole: bool
) -> None:
    region = Region() if whole else Region(slices=tuple(slices))
    update = new.copy()
    update[[z for z in range(4) if not whole and z not in slices]] = False
    expected = old.copy()
    for z in range(4):
        if whole or z in slices:
            expected[z] = new[z]
    assert np.array_equal(Mask.of(old).overwrite(Mask.of(update), region).to_array(SHAPE), expected)


@given(dense, dense)
def test_overwrite_in_a_box(old: np.ndarray, new: np.ndarray) -> None:
    inside = np.zeros(SHAPE, dtype=bool)
    inside[1:3, 0:4, 2:6] = True
    expected = np.where(inside, new, old)
    merged = Mask.of(old).overwrite(Mask.of(new & inside), Region(box=(1, 0, 2, 3, 4, 6)))
    assert np.array_equal(merged.to_array(SHAPE), expected)


@given(dense, dense)
def test_without(a: np.ndarray, b: np.ndarray) -> None:
    assert np.array_equal(Mask.of(a).without(Mask.of(b)).to_array(SHAPE), a & ~b)


def test_boxes() -> None:
    assert intersection((0, 0, 0, 4, 4, 4), (2, 3, 1, 9, 9, 9)) == (2, 3, 1, 4, 4, 4)
    assert intersection((0, 0, 0, 2, 2, 2), (2, 0, 0, 4, 2, 2)) is None
    a, b = Mask((1, 1, 1), np.ones((1, 2, 3), bool)), Mask((0, 4, 0), np.ones((1, 1, 1), bool))
    assert joint_box(a, b) == (0, 1, 0, 2, 5, 4)
    assert joint_box(Mask.empty(), b) == b.box
    assert joint_box(Mask.empty(), Mask.empty()) is None
    assert grow((1, 1, 1, 2, 2, 2), (3, 1, 0), (4, 4, 4)) == (0, 0, 1, 4, 3, 2)


def test_a_mask_within_a_box() -> None:
    array = np.zeros((3, 4, 5), dtype=bool)
    array[0, 0, 0] = array[1, 1:3, 2:4] = True
    mask = Mask.of(array, (10, 20, 30))
    part = mask.within((11, 22, 0, 99, 99, 33))
    assert (part.box, part.voxels) == ((11, 22, 32, 12, 23, 33), 1)
    assert mask.within((0, 0, 0, 99, 99, 99)).box == mask.box
    assert not mask.within((12, 0, 0, 99, 99, 99)).array.size
    assert mask.within((0, 0, 0, 9, 9, 9)).box == (0, 0, 0, 0, 0, 0)


def test_targets_of_a_label_map_with_holes_in_its_numbering() -> None:
    labels = np.zeros((4, 5, 6), dtype=np.int16)
    labels[0, 0, 0], labels[1:3, 2:4, 5], labels[3, 4, 1] = 2, 7, 9
    names = {2: ("dot", 1), 7: ("bar", 1), 8: ("absent", 1)}
    targets = targets_of(labels, names, "c", (2.0, 1.0, 0.5))
    assert [(t.id, t.mask.box, t.mask.voxels) for t in targets] == [
        ("dot.1", (0, 0, 0, 1, 1, 1), 1),
        ("bar.1", (1, 2, 5, 3, 4, 6), 4),
    ]
    assert targets[1].volume_ml == 4 / 1000
    assert targets[0].info().content_hash != targets[1].info().content_hash
    crop, box = targets[0].crop(margin=1)
    assert (crop.shape, box) == ((2, 2, 2), (0, 0, 0, 2, 2, 2))


def test_a_mask_of_a_picture_is_refused(wording: SnapshotAssertion) -> None:
    with pytest.raises(ValueError) as caught:
        Mask.of(np.ones((5, 6)))
    assert caught == wording
