"""Axes are those that nibabel finds, and arrays are turned as it does."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from nibabel.orientations import (
    apply_orientation,
    axcodes2ornt,
    inv_ornt_aff,
    io_orientation,
    ornt_transform,
)

from intrabench.axes import axes_of


def affine(seed: int, rounded: bool) -> np.ndarray:
    """Any affine that is not singular; with whole numbers, some axes are equally close to two of the patient's."""
    made, rng = np.eye(4), np.random.default_rng(seed)
    while True:
        made[:3] = rng.integers(-2, 3, (3, 4)) if rounded else rng.normal(0, 3, (3, 4))
        if abs(np.linalg.det(made[:3, :3])) > 1e-3:
            return made


@given(st.integers(0, 2**32), st.booleans(), st.booleans())
def test_they_are_those_of_nibabel(seed: int, rounded: bool, channels: bool) -> None:
    found, shape = axes_of(affine(seed, rounded)), (3, 4, 5)
    expected = ornt_transform(io_orientation(affine(seed, rounded)), axcodes2ornt(("S", "A", "R")))
    array = np.arange(120).reshape(*shape, 2) if channels else np.arange(60).reshape(shape)
    turned = found.canonical(array)
    assert np.array_equal(turned, apply_orientation(array, expected))
    assert np.array_equal(found.index(shape), inv_ornt_aff(expected, shape))
    assert np.array_equal(found.filed(turned), array)
