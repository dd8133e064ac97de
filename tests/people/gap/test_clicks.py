"""Where clicks land: on the reference at first, then on the errors of the answer before."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from intrabench.mask import Mask
from intrabench.people.gap import clicks
from intrabench.people.playback import StoredSession
from intrabench.prompts import Prompts
from intrabench.target import Target
from intrabench.turns import Click, Turn

SPACING = (2.0, 1.0, 1.0)
CUBE = Mask.of(np.ones((5, 9, 9)), (5, 10, 10))
TARGET = Target("case", "cube", 1, CUBE, (20, 40, 40), SPACING)


def looked_at(*rounds: list[list[int]], answers: tuple[Mask, ...] = (), target: Target = TARGET) -> pl.DataFrame:
    turns = {n: [Turn(Prompts(np.array(points)), (Click(),) * len(points))] for n, points in enumerate(rounds)}
    played = StoredSession({"session": "s"}, turns, target, Path())
    played.__dict__["answers"] = list(answers)
    return clicks([played])


def test_first_clicks_should_hit_the_target() -> None:
    found = looked_at([[7, 14, 14, 1], [7, 12, 14, 1], [7, 8, 14, 1], [7, 14, 14, 0], [7, 8, 14, 0]])
    assert set(found["stage"]) == {"first clicks"}
    assert found["depth"].to_list() == [5.0, 3.0, -2.0, -5.0, 2.0]
    assert found["centre"].to_list() == [0.0, 2.0, None, None, None]
    assert found["wrong"].to_list() == [0, 0, 1, 1, 0]
    assert found["number"].to_list() == [0, 1, 2, 3, 4]
    assert found.select("y", "x", "height", "width").row(1) == (12, 14, 9, 9)


def test_corrections_should_hit_the_errors_of_the_answer_before() -> None:
    answer = Mask.of(np.ones((5, 9, 9)), (5, 10, 14))  # misses x 10 to 13, wrongly includes x 19 to 22
    found = looked_at(
        [[7, 14, 14, 1]],
        [[7, 14, 11, 1], [7, 14, 16, 1], [7, 14, 20, 0], [7, 14, 11, 0]],
        [[7, 14, 14, 1]],
        answers=(answer, CUBE),
    ).filter(stage="corrections")
    assert found["wrong"].to_list() == [0, 1, 0, 1, 1]
    assert found["depth"].to_list() == [2.0, -3.0, 2.0, -8.0, None]  # after the last answer nothing is wrong
    assert found["centre"].is_null().to_list() == [False, True, False, True, True]


def test_the_centre_is_that_of_the_component_that_was_hit() -> None:
    two = np.zeros((5, 9, 30), bool)
    two[:, :, :5] = two[:, :, 10:] = True
    target = Target("case", "two", 1, Mask.of(two, (5, 10, 10)), (20, 40, 60), SPACING)
    found = looked_at([[7, 14, 12, 1], [7, 14, 25, 1]], target=target)
    near, _ = found["centre"].to_list()
    assert near < 3  # the deepest voxel of the larger part is more than 10 mm away
    assert found["wrong"].to_list() == [0, 0]


def test_corrections_without_stored_answers_are_left_out() -> None:
    assert looked_at([[7, 14, 14, 1]], [[7, 14, 11, 1]])["stage"].to_list() == ["first clicks"]


def test_turns_without_clicks_have_none() -> None:
    played = StoredSession(
        {"session": "s"}, {0: [Turn(Prompts(boxes2d=[[7, 10, 10, 19, 19]]), (Click(),))]}, TARGET, Path()
    )
    assert clicks([played]).is_empty()
