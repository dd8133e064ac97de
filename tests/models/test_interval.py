"""The window threshold: where its handles stand, and what they cost."""

from __future__ import annotations

import numpy as np
import pytest

import intrabench
from intrabench.models.interval import handles
from intrabench.play.lockstep import play
from intrabench.play.session import Session
from intrabench.protocols import protocol
from intrabench.turns import Click, SetHandle, Turn, Undo
from tests.models.parts.test_seeds import mass


@pytest.mark.parametrize(
    ("target", "background", "expected"),
    [
        ([10, 11, 12], [], (10, 12)),
        ([10, 11, 12], [9, 13], (10, 12)),
        ([10, 11, 12, 40], [20, 25, 40, 40], (10, 12)),  # 40 is twice as often background
        ([5, 6, 30], [6, 31, 32, 33], (5, 30)),  # a third of the target at 30, a quarter of the background at 6
    ],
)
def test_handles_take_most_of_the_target_and_least_of_the_background(
    target: list[int], background: list[int], expected: tuple[int, int]
) -> None:
    assert handles(np.array(target, np.int64), np.array(background, np.int64)) == expected


def test_each_round_costs_two_handles_but_not_an_undo() -> None:
    volume, target = mass()
    model, prompter = intrabench.model("interval"), intrabench.prompter("box_volume+click_center")
    session = Session("key", target, prompter, model.abilities, protocol("overlap@1"), image=volume, rounds=2)
    with model.open(volume) as image:
        play([session], image)
    assert [row["interactions"] for row in session.rows] == [3 + 2, 8, 11]
    assert [row["seconds_human"] for row in session.rows] == [12 + 5, 24.5, 32]
    assert [row["dof"] for row in session.rows] == [6 + 2, 13, 18]


def test_handles_are_set_once() -> None:
    turn = Turn(intrabench.points([(1, 2, 3)]), (Click(),))
    assert turn.with_handles(0) is turn
    once = turn.with_handles(2)
    assert once.actions == (Click(), SetHandle(), SetHandle())
    assert once.with_handles(2) is once  # a recorded turn has them already
    undone = Turn(intrabench.Prompts(), (Undo(),))
    assert undone.with_handles(2) is undone
