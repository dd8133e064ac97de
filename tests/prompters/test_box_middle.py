"""The first box of the CVPR 2025 challenge."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import intrabench
from intrabench.prompters.user import User
from intrabench.target import Target
from intrabench.turns import DrawBox3D, Turn
from tests.conftest import make_target


def bent() -> Target:
    """Four slices, each further along; the third is the middle one."""
    array = np.zeros((8, 60, 512), bool)
    for z in range(1, 5):
        array[z, 10 * z : 10 * z + 5, 100 * z : 100 * z + 7] = True
    return make_target(array)


def turns(target: Target, spec: str, seed: int = 0) -> list[Turn]:
    prompter = intrabench.prompter(spec)
    return list(prompter.interact(User(target, seed=seed, component=prompter.spec)))


def box(target: Target, spec: str, seed: int = 0) -> list[int]:
    (turn,) = turns(target, spec, seed)
    assert turn.actions == (DrawBox3D(),)
    assert turn.prompts.box3d is not None
    return turn.prompts.box3d.tolist()


def test_as_wide_as_the_middle_slice() -> None:
    assert box(bent(), "box_middle:widen=0") == [1, 30, 300, 5, 35, 307]


def test_slices_without_the_target_do_not_count_for_the_middle() -> None:
    array = bent().mask.to_array((8, 60, 512))
    array[3] = False
    assert box(make_target(array), "box_middle:widen=0") == [1, 20, 200, 5, 25, 207]


def test_widened_in_proportion_to_the_image() -> None:
    """0 to 5 pixels of 256: along x of 512 twice as many, along y of 60 a quarter, and none of z."""
    found = {tuple(box(bent(), "box_middle", seed)) for seed in range(40)}
    expected = {(1, 30 - b * 60 // 256, 300 - 2 * b, 5, 35 + b * 60 // 256, 307 + 2 * b) for b in range(6)}
    assert found == expected
    assert box(bent(), "box_middle", 3) == box(bent(), "box_middle", 3)


def test_it_stays_in_the_image() -> None:
    array = np.zeros((3, 300, 300), bool)
    array[1] = True
    for seed in range(9):
        assert box(make_target(array), "box_middle", seed) == [1, 0, 0, 2, 300, 300]


def test_the_box_that_the_data_set_states_is_taken_as_it_is() -> None:
    stated = replace(bent(), boxes=((0, 1, 2, 3, 4, 5), (1, 1, 1, 2, 2, 2)))
    assert [box(stated, "box_middle", seed) for seed in (0, 1, 2)] == [
        [0, 1, 2, 3, 4, 5],
        [1, 1, 1, 2, 2, 2],
        [0, 1, 2, 3, 4, 5],
    ]
    assert box(stated, "box_middle:widen=0,start=target") == [1, 30, 300, 5, 35, 307]


def test_where_there_is_to_be_none_the_user_waits() -> None:
    none = replace(bent(), boxes=())
    (turn,) = turns(none, "box_middle")
    assert turn.waits
    assert turn.actions == ()
    assert Turn.from_json(turn.to_json()).waits
    assert box(none, "box_middle:widen=0,start=target") == [1, 30, 300, 5, 35, 307]


def test_less_than_nothing_is_refused() -> None:
    with pytest.raises(intrabench.IntraBenchError, match="widen=-1 does not fit"):
        intrabench.prompter("box_middle:widen=-1")
