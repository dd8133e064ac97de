"""A round without prompts: it costs nothing, and only models that need no prompts are asked."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.mask import Mask
from intrabench.models.base import Answer, Request
from intrabench.play.joint import Joint
from intrabench.play.lockstep import play
from intrabench.play.session import Session
from intrabench.prompters.base import CannotCorrect, Prompter, Refinement
from intrabench.prompters.combined import Combined
from intrabench.prompters.nothing import Nothing
from intrabench.prompters.user import Turns, User
from intrabench.prompts import Abilities, Prompts, points
from intrabench.protocols.joint import JointRules
from intrabench.turns import Click, Turn
from tests.conftest import make_target
from tests.play.test_session import OVERLAP, Scripted, Stub, click, free

NEEDS = Abilities(3, frozenset({"point", "scribble"}))
ALONE = replace(NEEDS, unprompted=True)
WAIT = Turn(Prompts())


def played(prompter: Prompter, array: np.ndarray, abilities: Abilities, rounds: int = 3) -> tuple[Session, Stub]:
    """Answers grow by a voxel with each turn that the model was told of."""

    def answer(request: Request) -> Answer:
        found = np.zeros(array.shape, bool)
        found[9, 12, 10 : 10 + len(request.turns)] = True
        return Answer(Mask.of(found), seconds=1.0)

    one, model = Session("key", make_target(array), prompter, abilities, OVERLAP, rounds=rounds), Stub(answer)
    play([one], model)
    return one, model


def test_a_model_that_needs_prompts_is_not_asked(ball: np.ndarray) -> None:
    one, model = played(Scripted((WAIT, click(9), click(8))), ball, NEEDS)
    assert [row["pred_voxels"] for row in one.rows] == [0, 1, 2]
    assert [row["status"] for row in one.rows] == ["empty", "ok", "ok"]
    assert [row["interactions"] for row in one.rows] == [0, 1, 2]
    assert [row["seconds_human"] for row in one.rows] == [0, 2.5, 5.0]
    assert [row["segment_s"] for row in one.rows] == [0, 1, 1]
    assert [[len(request.turns) for request in batch] for batch in model.batches] == [[1], [2]]
    assert (one.turns[0]["round"], one.turns[0]["given"]) == (0, '{"prompts":{},"actions":[]}')


def test_one_that_needs_none_answers_in_round_0(ball: np.ndarray) -> None:
    one, model = played(Scripted((WAIT, click(9))), ball, ALONE)
    assert [row["pred_voxels"] for row in one.rows] == [1, 2]
    assert [row["interactions"] for row in one.rows] == [0, 1]
    assert [row["adapted"] for row in one.rows] == ["", ""]
    first, second = (batch[0].turns for batch in model.batches)
    assert [turn.waits for turn in first] == [True]
    assert [turn.waits for turn in second] == [True, False]


def test_waiting_later_is_a_round_too_and_keeps_the_answer_of_a_model_that_needs_prompts(ball: np.ndarray) -> None:
    script = Scripted((click(9), WAIT, WAIT, click(8)))
    one, model = played(script, ball, NEEDS)
    assert [row["pred_voxels"] for row in one.rows] == [1, 1, 1, 2]
    assert [row["round"] for row in one.rows] == [0, 1, 2, 3]
    assert len(model.batches) == 2
    one, model = played(script, ball, ALONE)
    assert [row["pred_voxels"] for row in one.rows] == [1, 2, 3, 4]


def test_who_only_waits_ends_with_the_rounds(ball: np.ndarray) -> None:
    for abilities, voxels in ((NEEDS, [0] * 4), (ALONE, [1, 2, 3, 4])):
        one, _ = played(Scripted((WAIT,) * 50), ball, abilities)
        assert [row["pred_voxels"] for row in one.rows] == voxels


def test_a_first_turn_of_derived_prompts_is_still_refused(ball: np.ndarray, wording: SnapshotAssertion) -> None:
    one, _ = played(Scripted((free(9),)), ball, ALONE)
    assert [row["status"] for row in one.rows] == ["error"]
    assert one.rows[0]["error"] == wording


@pytest.mark.parametrize("refinement", ["scribble", "click_volume", "click_deepest", "davis_slices"])
def test_any_refinement_may_follow(ball: np.ndarray, refinement: str) -> None:
    prompter = intrabench.prompter(f"nothing+{refinement}")
    assert prompter.spec.startswith("nothing+")
    one, _ = played(prompter, ball, ALONE, rounds=2)
    assert [row["round"] for row in one.rows] == [0, 1, 2]
    assert one.rows[0]["interactions"] == 0 < one.rows[1]["interactions"]


def test_a_target_without_voxels_is_played_only_if_prompter_and_refinement_can(ball: np.ndarray) -> None:
    empty = np.zeros_like(ball)
    for spec in ("nothing+scribble", "points_volume", "points_volume+autopet"):
        one, _ = played(intrabench.prompter(spec), empty, ALONE)
        assert [row["status"] for row in one.rows] == ["not_applicable"], spec
    one, model = played(intrabench.prompter("nothing+autopet"), empty, ALONE)
    assert [row["dice"] for row in one.rows] == [0.0] * 4
    assert len(model.batches) == 4
    one, _ = played(intrabench.prompter("nothing"), empty, NEEDS)
    assert [(row["dice"], row["status"]) for row in one.rows] == [(1.0, "empty")]


@dataclass(frozen=True)
class Unable(Refinement):
    name = "unable"
    error: type[Exception] = CannotCorrect

    def correct(self, user: User, mask: Mask) -> Turn | None:
        if user.round < 2:
            return click(8)
        raise self.error("cannot")


@pytest.mark.parametrize(
    ("rounds", "statuses"), [(1, ["ok", "ok"]), (2, ["ok", "ok", "error"]), (3, ["ok", "ok", "error"])]
)
def test_who_cannot_correct_fails_the_next_round_if_there_is_one(
    ball: np.ndarray, rounds: int, statuses: list[str]
) -> None:
    one, _ = played(Combined(Scripted((click(9),)), Unable()), ball, NEEDS, rounds)
    assert [row["status"] for row in one.rows] == statuses


def test_another_error_fails_the_last_round_because_a_free_turn_may_be_missing(ball: np.ndarray) -> None:
    one, _ = played(Combined(Scripted((click(9),)), Unable(error=RuntimeError)), ball, NEEDS, 1)
    assert [row["status"] for row in one.rows] == ["ok", "error"]


def test_targets_of_a_joint_session_wait_together(ball: np.ndarray) -> None:
    @dataclass(frozen=True)
    class Waits(Prompter):
        name = "waits"

        def interact(self, user: User) -> Turns:
            yield WAIT
            yield Turn(points([(9, 12, 15)]), (Click(),))

    sessions = [Session(str(n), make_target(ball, instance=n), Waits(), NEEDS, OVERLAP, rounds=2) for n in (1, 2)]
    model = Stub(lambda request: Answer(Mask.of(ball)))
    play([Joint("key", sessions, Waits(), JointRules())], model)
    for one in sessions:
        assert [(row["round"], row["dice"], row["interactions"]) for row in one.rows] == [(0, 0.0, 0), (1, 1.0, 1)]
    assert [len(batch) for batch in model.batches] == [2]


def test_the_first_turn_shows_nothing(ball: np.ndarray) -> None:
    assert Nothing().preview(ball).kinds == frozenset()
