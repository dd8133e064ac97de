"""Rounds without prompts, and answers that are missing where play goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.mask import Mask
from intrabench.models.base import Answer, Failure, JointAnswer, JointRequest, Predictor, Request
from intrabench.play.joint import Joint
from intrabench.play.lockstep import play
from intrabench.play.session import Session
from intrabench.prompters.user import Turns, User
from intrabench.prompts import Abilities, Prompts, points
from intrabench.protocols import Protocol, protocol
from intrabench.protocols.joint import JointRules
from intrabench.turns import Click, Turn
from tests.conftest import make_target
from tests.play.test_session import Scripted

VOLUMES = Abilities(3, frozenset({"point", "box3d"}))
KEEP = replace(protocol("overlap@1"), misses="keep")
TRUTH = np.zeros((4, 8, 8), bool)
TRUTH[1:3, 2:6, 2:6] = True
HALF = TRUTH.copy()
HALF[:, :, 4:] = False
NOTHING = Turn(Prompts())
CLICK = Turn(points([(1, 3, 3)]), (Click(),))


class Listed(Predictor):
    """Gives answers from a list; a text is the message of a failure."""

    def __init__(self, *answers: np.ndarray | str) -> None:
        self.answers, self.asked = list(answers), list[Request | JointRequest]()

    def segment(self, requests: Sequence[Request]) -> list[Answer | Failure]:
        self.asked += requests
        return [self._next(request) for request in requests]

    def _next(self, request: Request) -> Answer | Failure:
        given = self.answers.pop(0)
        if isinstance(given, str):
            return Failure("oom", given, 0.5)
        return Answer(Mask.of(given) if given.any() else Mask.empty(), seconds=1.0)

    def segment_jointly(self, requests: Sequence[JointRequest]) -> list[JointAnswer | Failure]:
        self.asked += requests
        given = self.answers.pop(0)
        if isinstance(given, str):
            return [Failure("error", given)]
        return [JointAnswer((0, 0, 0), given.astype(np.uint8), memory=len(self.answers)) for _ in requests]


def session(*turns: Turn, rule: Protocol = KEEP, rounds: int = 3, instance: int = 1) -> Session:
    target = make_target(TRUTH, instance=instance)
    return Session(f"s{instance}", target, Scripted(turns), VOLUMES, rule, rounds=rounds)


def outcome(one: Session) -> list[tuple[str, float, str]]:
    return [(row["status"], round(row["dice"], 4), row["error"]) for row in one.rows]


def test_the_model_is_not_asked_for_nothing() -> None:
    stub, one = Listed(HALF), session(NOTHING, NOTHING, CLICK)
    play([one], stub)
    assert outcome(one) == [("empty", 0, ""), ("empty", 0, ""), ("ok", 0.6667, "")]
    assert [row["interactions"] for row in one.rows] == [0, 0, 1]
    (asked,) = stub.asked
    assert isinstance(asked, Request)
    assert [len(turn.prompts.points) for turn in asked.turns] == [1], "the model does not hear of it"
    assert len(one.turns) == 3, "the log does"


def test_waiting_ends_with_the_rounds() -> None:
    stub, one = Listed(), session(*[NOTHING] * 9, rounds=2)
    play([one], stub)
    assert outcome(one) == [("empty", 0, "")] * 3
    assert stub.asked == []


def test_an_empty_prompt_with_another_action_is_asked() -> None:
    assert not Turn(Prompts(), (Click(),)).waits
    assert not Turn(points([(1, 3, 3)]), (Click(),)).waits


def test_a_missing_answer_ends_a_session_by_default() -> None:
    one = session(CLICK, CLICK, rule=protocol("overlap@1"))
    play([one], Listed("full"))
    assert outcome(one) == [("oom", 0, "full")]


def test_or_it_is_a_failed_row_with_the_scores_of_the_answer_before() -> None:
    stub, one = Listed("full", HALF, "full", TRUTH), session(CLICK, CLICK, CLICK, CLICK)
    play([one], stub)
    assert outcome(one) == [("oom", 0, "full"), ("ok", 0.6667, ""), ("oom", 0.6667, "full"), ("ok", 1, "")]
    assert [row["segment_s"] for row in one.rows] == [0.5, 1, 0.5, 1]
    assert [row["ended"] for row in one.rows] == [False, False, False, True]
    assert [len(request.turns) for request in stub.asked if isinstance(request, Request)] == [1, 2, 3, 4]


def test_so_is_one_that_cannot_be_right(wording: SnapshotAssertion) -> None:
    one = session(CLICK, CLICK)
    play([one], Listed(np.ones((9, 9, 9), bool), HALF))
    (status, dice, error), second = outcome(one)
    assert (status, dice) == ("error", 0)
    assert error == wording
    assert second == ("ok", 0.6667, "")


@pytest.mark.parametrize("whole", [False, True])
def test_joint_sessions_go_on_too(whole: bool) -> None:
    each = [session(NOTHING, CLICK, CLICK, CLICK, instance=number) for number in (1, 2)]
    given: list[np.ndarray | str] = [HALF, "lost", TRUTH]
    stub = Listed(*(given if whole else [one for one in given for _ in range(2)]))
    play([Joint("all", each, each[0]._prompter, JointRules(), whole=whole)], stub)
    status = "error" if whole else "oom"
    first = [("empty", 0, ""), ("ok", 0.6667, ""), (status, 0.6667, "lost"), ("ok", 1, "")]
    assert outcome(each[0]) == first
    if whole:
        assert [request.memory for request in stub.asked if isinstance(request, JointRequest)] == [None, 2, 2]
    else:
        assert outcome(each[1]) == first


def test_what_the_prompter_raises_at_the_end_is_told_beside_scores(wording: SnapshotAssertion) -> None:
    """The row of the round is then another one than that whose scores were begun."""

    class Stubborn(Scripted):
        def interact(self, user: User) -> Turns:
            try:
                yield CLICK
                yield CLICK
            except GeneratorExit as end:
                raise RuntimeError("lost the mouse") from end

    one = Session("s", make_target(TRUTH), Stubborn(), VOLUMES, KEEP, rounds=0)
    play([one], Listed(HALF))
    assert outcome(one) == [("error", 0, wording)]
