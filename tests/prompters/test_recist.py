"""The longest diameter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import intrabench
from intrabench.effort import effort_of_round
from intrabench.mask import Mask
from intrabench.prompters.recist import longest_diameter
from intrabench.prompters.user import User
from intrabench.turns import Click, DrawScribble, Turn
from tests.conftest import make_target


def drawn(array: np.ndarray) -> Turn:
    """The only turn."""
    (turn,) = intrabench.prompter("recist").interact(User(make_target(array)))
    return turn


def line(array: np.ndarray, spacing_mm: tuple[float, float, float] = (1, 1, 1)) -> list[list[int]]:
    return longest_diameter(Mask.of(array), spacing_mm).tolist()


def test_of_a_rectangle_it_is_the_diagonal() -> None:
    array = np.zeros((3, 12, 20), dtype=bool)
    array[1, 2:5, 4:9] = True
    assert line(array) == [[1, 2, 4], [1, 3, 5], [1, 3, 6], [1, 4, 7], [1, 4, 8]]


def test_of_a_disc_it_is_as_long_as_the_disc_is_wide() -> None:
    y, x = np.mgrid[:41, :41]
    array = ((y - 20) ** 2 + (x - 20) ** 2 <= 15**2)[None]
    stroke = line(array)
    assert stroke[0] == [0, 5, 20]  # of all diameters the one with the first end
    assert stroke[-1] == [0, 35, 20]
    assert len(stroke) == 31


def test_length_is_measured_in_mm() -> None:
    array = np.zeros((1, 9, 9), dtype=bool)
    array[0, 4, 1:8] = array[0, 2:7, 4] = True  # a cross, wider than high
    assert (line(array)[0], line(array)[-1]) == ([0, 4, 1], [0, 4, 7])
    high = line(array, (1, 2, 1))
    assert (high[0], high[-1]) == ([0, 2, 4], [0, 6, 4])


def test_it_is_straight_where_the_target_is_bent() -> None:
    array = np.zeros((1, 12, 12), dtype=bool)
    array[0, 1:11, 2] = array[0, 10, 2:12] = True
    stroke = np.array(line(array))
    assert (stroke[0].tolist(), stroke[-1].tolist()) == ([0, 1, 2], [0, 10, 11])
    assert np.array_equal(np.diff(stroke[:, 1:], axis=0), np.ones((9, 2)))
    assert array[tuple(stroke.T)].sum() == 2  # only the ends


def test_the_slice_with_most_voxels_and_its_largest_part() -> None:
    array = np.zeros((5, 10, 30), dtype=bool)
    array[1, 2, 0:12] = True  # long, but only 12 voxels
    array[2, 1:4, 1:5] = array[2, 8, 20:26] = True  # 12 and 6 voxels, apart
    array[3] = array[2]  # as many again: the lower slice counts
    stroke = line(array)
    assert (stroke[0], stroke[-1]) == ([2, 1, 1], [2, 3, 4])


def test_degenerate_targets() -> None:
    array = np.zeros((3, 5, 5), dtype=bool)
    array[1, 2, 3] = True
    turn = drawn(array)
    assert [stroke.points.tolist() for stroke in turn.prompts.scribbles] == [[[1, 2, 3]]]
    assert turn.actions == (Click(),)
    array[1, 2, 4] = True
    turn = drawn(array)
    assert turn.prompts.scribbles[0].points.tolist() == [[1, 2, 3], [1, 2, 4]]
    assert turn.actions == (DrawScribble(control_points=2),)
    array[1, 3, 2] = True
    assert line(array) == [[1, 2, 4], [1, 3, 3], [1, 3, 2]]


def test_effort_is_that_of_a_stroke_of_two_ends(ball: np.ndarray) -> None:
    effort = effort_of_round(drawn(ball).actions)
    assert (effort.interactions, effort.dof, effort.seconds) == (3, 5, 5.5)


@given(st.integers(0, 2**32 - 1), st.sampled_from([(1.0, 1.0, 1.0), (3.0, 0.7, 0.9)]))
def test_no_two_pixels_are_farther_apart(seed: int, spacing_mm: tuple[float, float, float]) -> None:
    random = np.random.default_rng(seed)
    plane = np.ones((4, 4), dtype=bool)
    plane = np.kron(random.random((3, 4)) < 0.7, plane).astype(bool)
    plane[4:8, 4:8] = True
    mask = Mask.of(plane[None])
    stroke = longest_diameter(mask, spacing_mm)
    from scipy import ndimage

    parts, _ = ndimage.label(plane, np.ones((3, 3)))
    ends = stroke[[0, -1], 1:]
    part = np.argwhere(parts == parts[tuple(ends[0])])
    assert parts[tuple(ends[1])] == parts[tuple(ends[0])]
    assert len(part) == np.bincount(parts.ravel())[1:].max()
    scale = np.array(spacing_mm[1:])
    farthest = np.linalg.norm((part[:, None] - part[None]) * scale, axis=-1).max()
    assert np.linalg.norm((ends[1] - ends[0]) * scale) == pytest.approx(farthest, abs=1e-3)
    assert (np.abs(np.diff(stroke[:, 1:], axis=0)).max(axis=1) == 1).all()
