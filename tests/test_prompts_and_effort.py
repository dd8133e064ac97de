"""Turns survive storing; effort follows the actions really made (the effort tables of docs/results.md)."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from intrabench.effort import TABLES, cost, effort_of_round, table
from intrabench.errors import IntraBenchError
from intrabench.play.gestures import Gesture, tools, turn_of
from intrabench.prompts import LONGEST_TEXT, STROKES, Lasso, Prompts, Scribble, box3d, boxes, points
from intrabench.turns import (
    Action,
    Click,
    DrawBox2D,
    DrawBox3D,
    DrawScribble,
    MarkExtent,
    Turn,
    TypeText,
    drawing,
    turns_by_round,
)


@pytest.mark.parametrize(
    ("actions", "interactions", "dof", "seconds"),
    [
        ((Click(),) * 3, 3, 9, 1 + 3 * 1.5),
        ((DrawBox2D(),) * 3, 6, 15, 21),
        ((MarkExtent(), MarkExtent(), DrawBox2D()), 4, 7, 12),
        ((*(Click(),) * 5, MarkExtent(), MarkExtent()), 7, 17, 1 + 7.5 + 5),
        ((DrawBox3D(),), 3, 6, 12),
        ((DrawBox2D(),) * 2, 4, 10, 14),
        ((DrawScribble(control_points=4),), 3, 9, 5.5),
        ((TypeText.of("left  kidney"),), 2, 2, 3),
        ((TypeText.of("vertebra"), Click()), 2, 4, 1.5 + 2.5),
        ((), 0, 0, 0),
    ],
)
def test_worked_examples(actions: tuple[Action, ...], interactions: float, dof: float, seconds: float) -> None:
    effort = effort_of_round(actions)
    assert (effort.interactions, effort.dof, effort.seconds) == (interactions, dof, seconds)


def test_every_table_names_its_source_and_knows_every_action() -> None:
    for name in TABLES:
        assert table(name)["source"]
        for action in Action.__subclasses__():
            if action.kind in {"click", "box2d", "box3d", "scribble", "extent", "text"}:
                assert sum(table(name)[action.kind].values()) > 0


def test_an_unknown_action_or_table_is_an_error(wording: SnapshotAssertion) -> None:
    class Wink(Action):
        kind = "wink"

    with pytest.raises(IntraBenchError) as caught:
        cost([Wink()], "dof@1")
    assert caught == wording
    with pytest.raises(IntraBenchError) as caught:
        cost([], "dof@9")
    assert caught == wording


@pytest.mark.parametrize("name", STROKES)
def test_each_kind_of_stroke_has_an_action_costs_a_tool_and_an_example(name: str) -> None:
    stroke = STROKES[name]
    assert stroke.kind in Action.by_kind()
    assert all(sum(table(one)[stroke.kind].values()) > 0 for one in TABLES)
    (tool,) = [tool for tool in tools() if tool.kind == stroke.kind and tool.label == 1]
    drawn = turn_of([Gesture(tool.kind, [(4, 2, 3), (4, 2, 9), (4, 8, 9)])])
    assert drawn.prompts.kinds == {stroke.kind} == {action.kind for action in drawn.actions}
    (made,) = Turn.from_json(drawn.to_json()).prompts.strokes
    assert (type(made), made.points.tolist()) == (stroke, [[4, 2, 3], [4, 2, 9], [4, 8, 9]])
    assert made.extent.tolist() == [4, 2, 3, 5, 9, 10]


@pytest.mark.parametrize("name", STROKES)
def test_a_stroke_of_a_single_voxel_is_a_click_whatever_the_tool(name: str) -> None:
    stroke, voxel = STROKES[name], (4, 2, 3)
    for places, kind in (([voxel], "click"), ([voxel, voxel], "click"), ([voxel, (4, 2, 4)], stroke.kind)):
        (action,) = turn_of([Gesture(stroke.kind, places)]).actions
        assert (action.kind, drawing(stroke(np.array(places))).kind) == (kind, kind)
    both = turn_of(
        [Gesture(stroke.kind, [voxel]), Gesture("box2d", (4, 1, 1, 2, 2)), Gesture(stroke.kind, [voxel] * 2)]
    )
    assert [action.kind for action in both.actions] == ["click", "box2d", "click"]
    assert [one.points.tolist() for one in both.prompts.strokes] == [[[*voxel]], [[*voxel]] * 2]


def test_actions_of_users_take_no_kind_from_ours() -> None:
    class Base(Action):
        """Has no kind of its own."""

    class Other(Action):
        kind = "click"

    assert Action.by_kind()["click"] is Click
    assert turn_of([Gesture("click", (1, 2, 3))]).actions == (Click(),)
    assert {Base, Other} <= set(Action.__subclasses__())


def test_a_turn_survives_json() -> None:
    prompts = Prompts(
        points=[[1, 2, 3, 1], [4, 5, 6, 0]],
        boxes2d=[[7, 0, 1, 2, 3], [8, 0, 1, 2, 3]],
        box3d=[0, 1, 2, 3, 4, 5],
        scribbles=(Scribble(np.array([[1, 1, 1], [1, 2, 2]]), 0),),
        lassos=(Lasso(np.array([[3, 1, 1], [3, 4, 1], [3, 4, 4]])),),
        drawn=[True, False],
        clicked=[False, True],
    )
    turn = Turn(prompts, (Click(), DrawScribble(control_points=5)))
    again = Turn.from_json(json.loads(json.dumps(turn.to_json())))
    assert again.to_json() == turn.to_json()
    assert again.actions == turn.actions
    assert again.prompts.kinds == {"point", "box2d", "box3d", "scribble", "lasso"}
    assert again.prompts.slices() == (1, 3, 4, 7, 8)
    assert again.prompts.drawn_boxes2d.tolist() == [[7, 0, 1, 2, 3]]
    assert again.prompts.clicked_points.tolist() == [[4, 5, 6, 0]]


PRINTABLE = st.text(st.characters(exclude_categories=["C", "Z"]) | st.just(" "), min_size=1, max_size=LONGEST_TEXT)
TYPED = PRINTABLE.filter(lambda text: bool(text.strip()) and text.isprintable())


@given(TYPED)
def test_a_text_survives_json_letter_by_letter(text: str) -> None:
    turn = Turn(Prompts(text=text), (TypeText.of(text),))
    again = Turn.from_json(json.loads(json.dumps(turn.to_json())))
    assert (again.prompts.text, again.actions, again.to_json()) == (text, turn.actions, turn.to_json())
    assert again.prompts.kinds == {"text"}
    assert not again.waits
    assert again.opens
    assert (again.prompts.slices(), again.prompts.extents().shape, again.prompts.derived) == ((), (0, 6), 0)
    assert again.prompts.by_hand.text == text
    assert effort_of_round(again.actions).interactions == len(text.split())


@given(st.text(max_size=40), st.characters(categories=["Cc", "Cf", "Cs", "Zl", "Zp"]), st.text(max_size=40))
def test_a_text_with_what_nobody_can_type_into_a_line_is_refused(before: str, odd: str, after: str) -> None:
    with pytest.raises(ValueError, match=r"^text has .* printed"):
        Prompts(text=f"a{before}{odd}{after}")


def test_other_texts_are_refused(wording: SnapshotAssertion) -> None:
    assert Prompts(text="ü" * LONGEST_TEXT).text == "ü" * LONGEST_TEXT
    with pytest.raises(ValueError) as caught:
        Prompts(text="ü" * (LONGEST_TEXT + 1))
    assert caught == wording
    for blank in ("", " ", "\t"):
        with pytest.raises(ValueError) as caught:
            Prompts(text=blank)
        assert caught == wording
    with pytest.raises(ValueError) as caught:
        Prompts(text=["kidney"])  # type: ignore[arg-type]
    assert caught == wording


def test_the_data_of_prompts_without_a_text_is_as_it_always_was() -> None:
    made = {"points": [[1, 2, 3, 1]], "clicked": [True]}
    assert points([(1, 2, 3)]).to_json() == made
    assert Prompts.from_json(made).text is None
    assert Prompts.from_json(made | {"text": "spleen"}).to_json() == made | {"text": "spleen"}


def test_helpers(wording: SnapshotAssertion) -> None:
    assert points([(1, 2, 3)], label=0).points.tolist() == [[1, 2, 3, 0]]
    made = boxes({4: (0, 1, 2, 3), 5: (1, 1, 2, 2)}, drawn=[4])
    assert made.boxes2d.tolist() == [[4, 0, 1, 2, 3], [5, 1, 1, 2, 2]]
    assert made.drawn is not None
    assert made.drawn.tolist() == [True, False]
    assert box3d((0, 1, 2, 3, 4, 5)).box3d.tolist() == [0, 1, 2, 3, 4, 5]
    with pytest.raises(ValueError) as caught:
        Prompts(boxes2d=[[0, 0, 0, 1, 1]], drawn=[True, True])
    assert caught == wording


def test_stored_turns_come_back_round_by_round_in_their_order() -> None:
    turns = [(0, Turn(points([(1, 2, 3)]), (Click(),))), (0, Turn(boxes({4: (0, 0, 2, 2)}))), (2, Turn(Prompts()))]
    stored = [{"round": number, "given": json.dumps(turn.to_json())} for number, turn in turns]
    found = turns_by_round(stored)
    assert {number: [turn.to_json() for turn in listed] for number, listed in found.items()} == {
        0: [turns[0][1].to_json(), turns[1][1].to_json()],
        2: [turns[2][1].to_json()],
    }


def test_prompts_with_too_few_numbers_are_refused(wording: SnapshotAssertion) -> None:
    with pytest.raises(ValueError) as caught:
        points([(1, 2)])
    assert caught == wording
    with pytest.raises(ValueError) as caught:
        box3d((1, 2, 3, 4))  # type: ignore[arg-type]
    assert caught == wording
    with pytest.raises(ValueError) as caught:
        boxes({3: (1, 2)})
    assert caught == wording
    assert points([]).points.shape == (0, 4)
    assert points((1, 2, 3)).points.tolist() == [[1, 2, 3, 1]]
