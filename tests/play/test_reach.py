"""Where a model can answer: prompts outside are noted, and corrections keep to it if they are told to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.errors import WrongType
from intrabench.mask import Box, Mask
from intrabench.models.base import Answer, Failure, Predictor, Request, checked
from intrabench.play.adapt import outside
from intrabench.play.lockstep import play
from intrabench.play.session import Session
from intrabench.prompters.user import User
from intrabench.prompts import Abilities, Lasso, Prompts, Scribble, box3d, boxes, points
from intrabench.protocols import protocol
from intrabench.turns import Action, Click, DrawScribble, Turn
from tests.conftest import make_target

SHAPE = (12, 30, 30)
CROP = (2, 3, 4, 10, 20, 21)
TAKES = Abilities(3, frozenset({"point", "scribble"}), feeds_back=True)
BEGINS = "points_volume:n=1,placement=random"


class Cropped(Predictor):
    """Misses the upper half of what it sees of the target, answers a block beside it, and nothing outside its crop."""

    def __init__(self, truth: np.ndarray, reach: Box | None = CROP) -> None:
        self.truth, self.reach = truth, reach

    def segment(self, requests: Sequence[Request]) -> list[Answer | Failure]:
        seen = self.truth.copy()
        seen[:, ::2] = False
        seen[5, 14:19, 14:20] = True
        return [Answer(Mask.of(seen).within(CROP), reach=self.reach) for _ in requests]


@pytest.fixture
def truth() -> np.ndarray:
    """A target that the crop cuts off."""
    array = np.zeros(SHAPE, dtype=bool)
    array[3:9, 5:28, 6:14] = True
    return array


def played(truth: np.ndarray, spec: str, reach: Box | None = CROP, rounds: int = 6, **more: Any) -> Session:
    session = Session(
        "k", make_target(truth), intrabench.prompter(spec), TAKES, protocol("overlap@1"), rounds=rounds, **more
    )
    play([session], Cropped(truth, reach))
    return session


def corrections(session: Session) -> list[Turn]:
    return session._state.history[1:]


@pytest.mark.parametrize(
    ("prompts", "told"),
    [
        (points([(2, 3, 4), (9, 19, 20)]), False),
        (points([(2, 3, 4), (9, 20, 20)]), True),
        (points([(1, 3, 4)], label=0), True),
        (boxes({2: (3, 4, 20, 21)}), False),
        (boxes({2: (3, 4, 20, 22)}), True),
        (boxes({10: (3, 4, 20, 21)}), True),
        (box3d(CROP), False),
        (box3d((2, 3, 3, 10, 20, 21)), True),
        (Prompts(scribbles=(Scribble(np.array([(5, 5, 5), (5, 5, 21)])),)), True),
        (Prompts(lassos=(Lasso(np.array([(5, 5, 5), (5, 9, 5), (5, 9, 20)])),)), False),
        (Prompts(lassos=(Lasso(np.array([(5, 5, 5), (5, 9, 5), (5, 9, 21)])),)), True),
        (Prompts(), False),
    ],
)
def test_any_part_of_a_prompt_outside_counts(prompts: Prompts, told: bool) -> None:
    assert outside(Turn(prompts), CROP) == (["outside crop"] if told else [])
    assert outside(Turn(prompts), None) == []


def test_extents_are_half_open_and_strokes_may_be_empty() -> None:
    empty = Scribble(np.zeros((0, 3), dtype=np.int64))
    both = Prompts(points=[[1, 2, 3, 0]], boxes2d=[[4, 5, 6, 7, 8]], scribbles=(empty,))
    assert both.extents().tolist() == [[1, 2, 3, 2, 3, 4], [4, 5, 6, 5, 7, 8]]


def test_corrections_outside_are_noted_and_given_all_the_same(truth: np.ndarray) -> None:
    session = played(truth, f"{BEGINS}+click_volume", seed=1)
    clicked = [outside(turn, CROP) != [] for turn in corrections(session)]
    assert len(session.rows) == 7
    assert 0 < sum(clicked) < 6
    assert [row["adapted"] == "outside crop" for row in session.rows[1:]] == clicked
    assert [row["interactions"] for row in session.rows] == [1, 2, 3, 4, 5, 6, 7]
    anywhere = played(truth, f"{BEGINS}+click_volume", reach=None, seed=1)
    assert [turn.to_json() for turn in corrections(anywhere)] == [turn.to_json() for turn in corrections(session)]
    assert {row["adapted"] for row in anywhere.rows} == {""}


def test_what_counts_is_what_the_model_takes(truth: np.ndarray) -> None:
    """The boxes reach out of the crop, but their centres, which this model gets, do not."""
    assert outside(next(intrabench.prompter("box_interp:n=3").interact(User(make_target(truth)))), CROP)
    assert played(truth, "box_interp:n=3").rows[0]["adapted"] == "box2d->point"


def test_strict_refuses_prompts_outside(truth: np.ndarray, wording: SnapshotAssertion) -> None:
    last = played(truth, f"{BEGINS}+click_volume", seed=1, strict=True).rows[-1]
    assert (last["status"], last["adapted"]) == ("not_applicable", "")
    assert last["error"] == wording


@pytest.mark.parametrize(
    ("spec", "action"),
    [
        ("click_volume", Click),
        ("click_center", Click),
        ("click_deepest", Click),
        ("scribble", DrawScribble),
        ("clickability:model=uniform", Click),
        ("click_volume:previous=drop", Click),
    ],
)
def test_reachable_corrections_lie_where_the_model_can_answer(
    truth: np.ndarray, spec: str, action: type[Action]
) -> None:
    told = f"{spec}{',' if ':' in spec else ':'}reachable=true"
    session = played(truth, f"{BEGINS}+{told}", seed=1)
    free = played(truth, f"{BEGINS}+{told}", reach=None, seed=1)  # a model that can answer anywhere
    given = corrections(session)
    assert [row["interactions"] for row in session.rows] == [row["interactions"] for row in free.rows]
    assert len(given) == 6
    for turn in given:
        assert outside(turn, CROP) == []
        z, y, x, label = turn.prompts.points[0] if len(turn.prompts.points) else (*_first(turn), _label(turn))
        assert truth[z, y, x] == label
    assert any(isinstance(one, action) for turn in given for one in turn.actions)
    assert not any("outside crop" in row["adapted"] for row in session.rows)
    assert any(outside(turn, CROP) for turn in corrections(free))


def _first(turn: Turn) -> tuple[int, ...]:
    return tuple(turn.prompts.scribbles[0].points[0].tolist())


def _label(turn: Turn) -> int:
    return turn.prompts.scribbles[0].label


def test_a_session_ends_when_no_error_can_be_reached(truth: np.ndarray) -> None:
    class Perfect(Cropped):
        def segment(self, requests: Sequence[Request]) -> list[Answer | Failure]:
            return [Answer(Mask.of(self.truth).within(CROP), reach=CROP) for _ in requests]

    for spec, rows in (("click_volume:reachable=true", 1), ("click_volume", 4)):
        prompter = intrabench.prompter(f"{BEGINS}+{spec}")
        session = Session("k", make_target(truth), prompter, TAKES, protocol("overlap@1"), rounds=3)
        play([session], Perfect(truth))
        assert [row["round"] for row in session.rows] == list(range(rows))
        assert session.rows[-1]["interactions"] == rows
        assert (session.rows[-1]["status"], session.rows[-1]["ended"]) == ("ok", spec.endswith("=true"))
        assert 0.7 < session.rows[-1]["dice"] < 1


@pytest.mark.parametrize("spec", ["click_volume", "click_slice", "click_center", "click_deepest", "scribble"])
def test_of_a_target_that_cannot_be_reached_only_wrong_voxels_are_corrected(truth: np.ndarray, spec: str) -> None:
    beside: Box = (5, 14, 15, 6, 19, 20)  # the block that the model answers there is wrong, and out of the target

    class Beside(Cropped):
        def segment(self, requests: Sequence[Request]) -> list[Answer | Failure]:
            return [Answer(answer.update.within(beside), reach=beside) for answer in super().segment(requests)]

    prompter = intrabench.prompter(f"box_interp:n=3+{spec}:reachable=true")
    session = Session("k", make_target(truth), prompter, TAKES, protocol("overlap@1"), rounds=3)
    play([session], Beside(truth))
    assert len(corrections(session)) == 3
    for turn in corrections(session):
        assert outside(turn, beside) == []
        assert {_label(turn) if turn.prompts.scribbles else int(turn.prompts.points[0, 3])} == {0}


def test_alone_a_reachable_correction_begins_anywhere(truth: np.ndarray) -> None:
    sessions = [played(truth, "click_volume:reachable=true", seed=seed) for seed in range(6)]
    firsts = [session._state.history[0] for session in sessions]
    assert all(truth[tuple(turn.prompts.points[0, :3])] for turn in firsts)
    assert {bool(outside(turn, CROP)) for turn in firsts} == {True, False}
    assert not any(outside(turn, CROP) for session in sessions for turn in corrections(session))


@pytest.mark.parametrize("reach", [(1, 2, 3), "crop", [0, 0, 0, 1, 1, 1], (0, 0, 0, 1, 1, 1.5)])
def test_a_reach_is_a_box(reach: Any) -> None:
    with pytest.raises(WrongType, match="expected a half-open box"):
        checked(Answer(Mask.empty(), reach=reach), "mine.segment_one")


def test_a_reach_may_be_of_numbers_of_numpy() -> None:
    low = np.argmax(np.ones(3))
    answer = Answer(Mask.empty(), reach=(low, 0, 0, low + 5, 9, 9))  # type: ignore[arg-type]
    taken = checked(answer, "mine.segment_one")
    assert taken.reach == (0, 0, 0, 5, 9, 9)
    turns = [Turn(Prompts(points=[[z, 8, 8, 1]]), (Click(),)) for z in (4, 5)]
    assert [outside(turn, taken.reach) for turn in turns] == [[], ["outside crop"]]
