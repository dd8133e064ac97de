"""A scan is known again in any of its 48 orders and directions of axes, and what was drawn on it moves along."""

from __future__ import annotations

from itertools import permutations, product
from typing import Any

import numpy as np
import pytest

from intrabench.mask import Mask
from intrabench.people.recording.orientation import Placing, placing, profiles, profiles_of
from intrabench.play.gestures import Gesture
from intrabench.volume import Volume

OURS = np.random.default_rng(0).normal(100, 50, (7, 9, 9)).astype(np.float32)
TURNS = [(order, flips) for order in permutations(range(3)) for flips in product((False, True), repeat=3)]


def turned(order: Any, flips: Any, array: np.ndarray = OURS) -> np.ndarray:
    return np.flip(array.transpose(order), [axis for axis in range(3) if flips[axis]])


@pytest.mark.parametrize(("order", "flips"), TURNS)
def test_masks_and_gestures_are_where_they_were(order: Any, flips: Any) -> None:
    theirs = turned(order, flips)
    found = placing(profiles(theirs.astype(np.float64)), profiles_of(Volume.from_canonical(OURS)))
    assert found == Placing(theirs.shape, order, flips)

    inside = np.zeros(OURS.shape, bool)
    inside[2:4, 3:8, 1:3] = True
    box = Mask.of(turned(order, flips, inside)).box
    assert found.mask(Mask.of(turned(order, flips, inside))).box == (2, 3, 1, 4, 8, 3)
    moved = found.gesture(Gesture("box3d", box, seconds=2.0, at=5.0))
    assert moved == Gesture("box3d", (2, 3, 1, 4, 8, 3), 1, 2.0, 5.0)

    dot = np.zeros(OURS.shape, bool)
    dot[2, 3, 1] = True
    (voxel,) = np.argwhere(turned(order, flips, dot)).tolist()
    assert found.gesture(Gesture("click", voxel, 0)) == Gesture("click", [2, 3, 1], 0)
    assert OURS[2, 3, 1] == theirs[tuple(voxel)]


def test_planes_turn_with_the_axes() -> None:
    """Their first axis is our x."""
    across = Placing((9, 9, 7), (2, 1, 0), (True, False, False))
    assert across.gesture(Gesture("box2d", (8, 2, 3, 5, 6))) == Gesture("box3d", (3, 2, 0, 6, 5, 1))
    assert across.gesture(Gesture("box3d", (1, 2, 3, 4, 5, 4))) == Gesture("box2d", (3, 2, 5, 5, 8))
    outline = [[8, 2, 3], [8, 5, 3], [8, 2, 5]]
    assert across.gesture(Gesture("lasso", outline)) == Gesture("scribble", [[3, 2, 0], [3, 5, 0], [5, 2, 0]])
    flat = [[8, 2, 3], [5, 2, 3], [8, 4, 3]]
    assert across.gesture(Gesture("lasso", flat)) == Gesture("lasso", [[3, 2, 0], [3, 2, 3], [3, 4, 0]])


def test_another_scan_is_not_taken_for_it() -> None:
    ours = profiles(OURS)
    assert placing(profiles(OURS[:6]), ours) is None
    changed = OURS.copy()
    changed[3, 4, 5] += 5
    assert placing(profiles(changed), ours) is None
    assert placing(profiles(OURS * 1.001), ours) is None
    assert placing(profiles(np.zeros((7, 9, 9))), ours) is None


def test_an_image_that_is_its_own_mirror_image_stays_as_it_is() -> None:
    assert placing(profiles(np.ones((3, 4, 4))), profiles(np.ones((3, 4, 4)))) == Placing(
        (3, 4, 4), (0, 1, 2), (False, False, False)
    )


def test_colours_are_one_grey() -> None:
    colour = np.random.default_rng(1).integers(0, 255, (1, 5, 6, 3)).astype(np.uint8)
    assert profiles(colour)[1] == pytest.approx(colour.mean(axis=(0, 2, 3)).tolist())
