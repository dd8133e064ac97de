"""Packed frames: the same as with one boolean per pixel."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage

from intrabench.davis.packed import counts, dilated, outlines, pack, parts_of


def masks(seed: int, shape: tuple[int, int, int], share: float) -> np.ndarray:
    return np.asarray(np.random.default_rng(seed).random(shape) < share)


SHAPES = st.tuples(st.integers(1, 3), st.integers(1, 40), st.sampled_from([1, 2, 63, 64, 65, 120, 200]))


@given(st.integers(0, 99), SHAPES, st.sampled_from([0.01, 0.3, 0.9]))
def test_outlines(seed: int, shape: tuple[int, int, int], share: float) -> None:
    frames = masks(seed, shape, share)
    edge = np.pad(frames, ((0, 0), (0, 1), (0, 1)), mode="edge")
    right, below, both = edge[:, :-1, 1:], edge[:, 1:, :-1], edge[:, 1:, 1:]
    expected = (frames != right) | (frames != below) | (frames != both)
    found = outlines(pack(frames, 0), shape[2])
    assert np.array_equal(found, pack(expected, 0))
    assert counts(found).tolist() == expected.sum(axis=(1, 2)).tolist()


@given(st.integers(0, 99), SHAPES, st.sampled_from([0, 1, 1.5, 3, 8, 20.3, 70, 150]))
def test_dilated(seed: int, shape: tuple[int, int, int], radius: float) -> None:
    frames, room = masks(seed, shape, 0.01), math.floor(radius)
    expected = [
        ndimage.distance_transform_edt(~frame) <= radius if frame.any() else np.zeros_like(frame) for frame in frames
    ]
    inside = pack(np.ones(shape, bool), room)
    assert np.array_equal(dilated(pack(frames, room), radius) & inside, pack(np.array(expected), room))


def test_parts_hold_each_frame_once() -> None:
    for height in (1, 700, 10**6):
        parts = parts_of(range(5, 47), height, 100)
        assert [z for part in parts for z in range(part.start, part.stop)] == list(range(5, 47))
