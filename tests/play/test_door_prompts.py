"""What a prompter must not give is an error of its own, whatever it is, and its turns without actions end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.mask import Mask
from intrabench.models.base import Answer, Request
from intrabench.play.lockstep import play
from intrabench.play.session import Session
from intrabench.prompters.base import Prompter
from intrabench.prompters.user import Turns, User
from intrabench.prompts import Lasso, Prompts, Scribble, box3d, boxes, points
from intrabench.protocols import protocol
from intrabench.turns import Click, DrawBox2D, DrawScribble, Turn
from tests.conftest import make_target
from tests.play.at_the_door import BLOCK, GOOD, TRUTH, VOLUME, played
from tests.play.test_session import ALL, Scripted, Stub

WRONG_PROMPTS = {
    "a point (4, 0, 0) lies outside of " + VOLUME: points([(1, 1, 1), (4, 0, 0)]),
    "a point (0, -1, 0) lies outside of " + VOLUME: points([(0, -1, 0)]),
    "a point has the label 2, expected 1 (target) or 0 (background)": points([(1, 1, 1)], label=2),
    "a 2D box (1, 5, 2, 3, 6) has no voxel": boxes({1: (5, 2, 3, 6)}),
    "a 2D box (1, 2, 2, 2, 6) has no voxel": boxes({1: (2, 2, 2, 6)}),
    "a 2D box (1, 2, 2, 9, 6) reaches outside of " + VOLUME: boxes({1: (2, 2, 9, 6)}),
    "a 2D box (-1, 2, 2, 3, 6) reaches outside of " + VOLUME: boxes({-1: (2, 2, 3, 6)}),
    "a 3D box (3, 0, 0, 1, 2, 2) has no voxel": box3d((3, 0, 0, 1, 2, 2)),
    "a 3D box (0, 1, 0, 2, 1, 2) has no voxel": box3d((0, 1, 0, 2, 1, 2)),
    "a 3D box (0, 0, 0, 5, 2, 2) reaches outside of " + VOLUME: box3d((0, 0, 0, 5, 2, 2)),
    "a scribble has no points; leave it out": Prompts(scribbles=(Scribble(np.zeros((0, 3))),)),
    "a scribble with the point (0, 0, 9) lies outside of " + VOLUME: Prompts(scribbles=(Scribble([(0, 0, 9)]),)),
    "a scribble has the label 3, expected": Prompts(scribbles=(Scribble([(0, 0, 0)], 3),)),
    "a lasso has corners on the slices 0, 1, expected one": Prompts(lassos=(Lasso([(0, 0, 0), (1, 0, 5), (0, 5, 0)]),)),
}


@pytest.mark.parametrize("sentence", WRONG_PROMPTS)
def test_wrong_prompts_are_an_error_of_the_prompter(sentence: str) -> None:
    (row,) = played(Scripted((Turn(WRONG_PROMPTS[sentence], (Click(),)),)))
    assert (row["status"], row["dice"], row["round"]) == ("error", 0.0, 0)
    assert row["error"].startswith(f"prompter: {sentence}")


def test_a_wrong_correction_leaves_the_round_before_valid(wording: SnapshotAssertion) -> None:
    rows = played(Scripted((GOOD, Turn(points([(9, 9, 9)]), (Click(),)))), Answer(Mask.of(TRUTH[:2])), rounds=3)
    assert [(row["round"], row["status"]) for row in rows] == [(0, "ok"), (1, "error")]
    assert rows[1]["error"] == wording


def test_interpolation_may_close_a_derived_box_but_no_hand_draws_one() -> None:
    (row,) = played(Scripted((Turn(boxes({1: (2, 2, 5, 5), 2: (3, 3, 3, 4)}, drawn=[1]), (DrawBox2D(),)),)))
    assert row["status"] == "ok"


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([(np.nan, 1, 1)], "nan"),
        ([(1, np.inf, 1)], "inf"),
        ([(1, 2.5, 1)], "2.5"),
        ([(1, 1e300, 1)], "1e+300"),
        ([(1, None, 1)], "None"),
        ([(1, "1", 1)], "'1'"),
        ([(True, True, True)], "np.True_"),
        ([(1j, 0, 0)], "1j"),
        ([(10**30, 0, 0)], "1" + "0" * 30),
    ],
)
def test_prompts_are_whole_numbers(rows: Any, said: str, wording: SnapshotAssertion) -> None:
    with pytest.raises(ValueError) as raised:
        points(rows)
    assert raised == wording
    assert f"but {said} was given" in str(raised.value)


def test_rows_of_another_width_are_not_reshaped(wording: SnapshotAssertion) -> None:
    with pytest.raises(ValueError) as caught:
        Prompts(points=np.zeros((2, 6), int))
    assert caught == wording


def test_whole_numbers_of_any_type_are_taken() -> None:
    same = points([(1, 2, 3)]).points
    for dtype in ("int8", "uint64", ">i4", "float32", "object"):
        assert np.array_equal(points(np.array([(1, 2, 3)], dtype)).points, same)
    for label in (True, 1.0, np.int8(1), np.True_, [1]):
        assert points([(1, 2, 3)], label=label).points[0, 3] == 1  # type: ignore[arg-type]
        stroke = Scribble([(1, 2, 3)], label)  # type: ignore[arg-type]
        assert label == [1] or (type(stroke.label), stroke.label) == (int, 1)


@pytest.mark.parametrize("label", [0.5, np.nan, "1", None, 2, np.array([1, 1])])
def test_labels_are_never_rounded(label: Any, wording: SnapshotAssertion) -> None:
    @dataclass(frozen=True)
    class Labels(Prompter):
        name = "labels"

        def interact(self, user: User) -> Turns:
            yield Turn(points([(1, 1, 1)], label=label), (Click(),))

    (row,) = played(Labels())
    (stroke,) = played(Scripted((Turn(Prompts(scribbles=(Scribble([(1, 1, 1)], label),)), (Click(),)),)))
    for one in (row, stroke):
        assert one["status"] == "error"
        assert one["error"].startswith("prompter: ")
    assert stroke["error"] == wording


def test_one_box_is_one_box(wording: SnapshotAssertion) -> None:
    for make in (box3d, lambda rows: Prompts(box3d=rows)):
        with pytest.raises(ValueError) as caught:
            make([(0, 0, 0, 1, 1, 1), (1, 1, 1, 2, 2, 2)])  # type: ignore[operator]
        assert caught == wording
    with pytest.raises(ValueError) as caught:
        boxes({1: [(0, 0, 1, 1), (1, 1, 2, 2)]})  # type: ignore[list-item]
    assert caught == wording


def test_strokes_are_strokes_of_their_kind(wording: SnapshotAssertion) -> None:
    for wrong in (np.zeros((1, 3)), Lasso([(0, 0, 0)]), None):
        with pytest.raises(ValueError) as caught:
            Prompts(scribbles=(wrong,))  # type: ignore[arg-type]
        assert caught == wording
    one = Scribble([(1, 1, 1)])
    for given_ in (one, [one], iter([one])):
        assert Prompts(scribbles=given_).scribbles == (one,)  # type: ignore[arg-type]


@pytest.mark.parametrize("flags", [["False"], [np.nan], [2]])
def test_flags_are_true_or_false(flags: Any, wording: SnapshotAssertion) -> None:
    with pytest.raises(ValueError) as caught:
        points([(1, 1, 1)], clicked=flags)
    assert caught == wording


def test_what_a_prompter_keeps_is_no_longer_the_turn() -> None:
    rows, flags, strokes, actions = np.array([(1, 3, 4)]), np.array([True]), [Scribble([(1, 3, 4)])], [Click()]

    @dataclass(frozen=True)
    class Keeping(Prompter):
        name = "keeping"

        def interact(self, user: User) -> Turns:
            given = points(rows, clicked=flags)
            yield Turn(Prompts(given.points, clicked=flags, scribbles=strokes), actions)  # type: ignore[arg-type]
            rows[:], flags[:] = 99, False
            strokes.append(Scribble([(99, 99, 99)]))
            actions.append(Click())
            user.given.clear()  # type: ignore[attr-defined]
            yield GOOD

    session = Session("key", make_target(TRUTH), Keeping(), ALL, protocol("overlap@1"), rounds=1)
    asked: list[Request] = []

    def answer(request: Request) -> Answer:
        asked.append(request)
        return Answer(Mask.of(TRUTH[:2]))

    play([session], Stub(answer))
    assert [row["status"] for row in session.rows] == ["ok", "ok"]
    first = asked[1].turns[0]
    assert first.prompts.points.tolist() == [[1, 3, 4, 1]]
    assert (first.prompts.derived, len(first.prompts.scribbles), len(first.actions)) == (0, 1, 1)
    assert [turn["turn"] for turn in session.turns] == [0, 1]


def test_numbers_of_control_points_may_be_numpys() -> None:
    (row,) = played(Scripted((Turn(points([(1, 3, 4)]), (DrawScribble(np.int64(3)),)),)))  # type: ignore[arg-type]
    assert (row["status"], row["dof"]) == ("ok", played(Scripted((Turn(GOOD.prompts, (DrawScribble(3),)),)))[0]["dof"])


def test_afresh_is_a_switch(wording: SnapshotAssertion) -> None:
    (row,) = played(Scripted((Turn(points([(1, 3, 4)]), (Click(),), "no"),)))  # type: ignore[arg-type]
    assert row["error"] == wording
    (row,) = played(Scripted((Turn(points([(1, 3, 4)]), (Click(),), np.True_),)))  # type: ignore[arg-type]
    assert row["status"] == "ok"


@dataclass(frozen=True)
class Endless(Prompter):
    """Gives turns without actions for ever."""

    name = "endless"

    def interact(self, user: User) -> Turns:
        yield GOOD
        while True:
            yield Turn(points([(1, 3, 4)]))


def test_free_turns_end(wording: SnapshotAssertion) -> None:
    (row,) = played(Endless())
    assert row["error"] == wording


def test_each_round_may_have_its_free_turns() -> None:
    free = (Turn(points([(1, 3, 4)])),) * 28  # two per slice, and 20
    rows = played(Scripted((GOOD, *free, GOOD, *free)), Answer(Mask.empty()), 1)
    assert [(row["round"], row["status"]) for row in rows] == [(0, "empty"), (1, "empty")]


def test_a_prompter_that_will_not_close_ends_all_the_same(wording: SnapshotAssertion) -> None:
    @dataclass(frozen=True)
    class Clinging(Prompter):
        name = "clinging"

        def interact(self, user: User) -> Turns:
            try:
                yield GOOD
                yield GOOD
            finally:
                raise RuntimeError("never")

    (row,) = played(Clinging(), Answer(Mask((9, 0, 0), BLOCK)))
    assert row["error"] == wording


@pytest.mark.parametrize("points", [-1, 1e300, np.nan, np.inf, 2.5, True, "3", None, 10**400])
def test_actions_with_absurd_numbers_are_an_error_of_the_prompter(points: Any, wording: SnapshotAssertion) -> None:
    (row,) = played(Scripted((Turn(GOOD.prompts, (DrawScribble(points),)),)))
    assert (row["status"], row["dof"]) == ("error", 0.0)
    assert row["error"] == wording
