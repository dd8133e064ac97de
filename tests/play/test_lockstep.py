"""While the model answers one half of the sessions, the users of the other half go on; nothing else changes."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from intrabench.mask import Mask, Region
from intrabench.metrics.lookup import of_protocol
from intrabench.models.base import Answer, Failure, Predictor, Request
from intrabench.play.lockstep import play
from intrabench.play.scorer import Scorer
from intrabench.play.session import Session
from intrabench.prompters.base import Prompter
from intrabench.prompters.combined import Combined, make_prompter
from intrabench.prompters.scribble import ScribbleRefinement
from intrabench.prompters.user import Turns, User
from intrabench.prompts import Abilities
from intrabench.protocols import protocol
from tests.conftest import make_target

TAKES = Abilities(2, frozenset({"point", "box2d", "scribble"}))
COUNT = 8
BASIC = protocol("basic@1")


class Drawn(Predictor):
    """Answers each slice of the new turn with squares around its points, and remembers who was asked."""

    def __init__(self) -> None:
        self.asked = list[list[str]]()

    def segment(self, requests: Sequence[Request]) -> list[Answer | Failure]:
        self.asked.append([request.session for request in requests])
        return [self._drawn(request) for request in requests]

    def _drawn(self, request: Request) -> Answer:
        array = np.zeros((20, 24, 28), bool)
        for turn in request.turns:
            for z, y, x, label in np.vstack([turn.prompts.points, *map(_with_label, turn.prompts.scribbles)]).tolist():
                array[z, max(y - 2, 0) : y + 3, max(x - 2, 0) : x + 3] = label
        return Answer(Mask.of(array), Region(slices=request.turns[-1].prompts.slices()))


def _with_label(stroke: Any) -> np.ndarray:
    return np.column_stack([stroke.points, np.full(len(stroke.points), stroke.label)])


def many(ball: np.ndarray, prompter: Prompter, scores: Scorer | None, count: int = COUNT) -> list[Session]:
    sessions = []
    for number in range(count):
        truth = make_target(np.roll(ball, number % 3, axis=2), instance=number + 1)
        more: dict[str, Any] = {"rounds": 3, "metrics": of_protocol(BASIC.metrics), "scorer": scores}
        sessions.append(Session(f"s{number}", truth, prompter, TAKES, BASIC, seed=number, **more))
    return sessions


def lasting(sessions: Sequence[Session]) -> list[Any]:
    rows = [[{name: value for name, value in row.items() if name != "prompt_s"} for row in s.rows] for s in sessions]
    return [rows, [session.turns for session in sessions]]


@pytest.mark.parametrize("spec", ["point_interp:n=3+scribble", "box_slice+click_slice+hand:jitter_mm=2", "point_prop"])
def test_rows_and_turns_are_those_of_one_group(ball: np.ndarray, spec: str) -> None:
    plain, scores, model = many(ball, make_prompter(spec), None), Scorer(), Drawn()
    play(plain, Drawn())
    groups = many(ball, make_prompter(spec), scores)
    play(groups, model, scores)
    assert lasting(groups) == lasting(plain)
    assert model.asked[:2] == [["s0", "s1", "s2", "s3"], ["s4", "s5", "s6", "s7"]]


def test_users_go_on_in_another_thread_while_the_model_answers_the_others(
    ball: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, prompted = ScribbleRefinement.correct, list[threading.Thread]()

    def correct(self: ScribbleRefinement, user: User, mask: Mask) -> Any:
        prompted.append(threading.current_thread())
        return real(self, user, mask)

    class Waiting(Drawn):
        def segment(self, requests: Sequence[Request]) -> list[Answer | Failure]:
            if len(self.asked) == 1:  # the second group, while the users of the first go on
                end = threading.Event()
                while len(prompted) < COUNT // 2 and not end.wait(0.01):
                    pass
            return super().segment(requests)

    monkeypatch.setattr(ScribbleRefinement, "correct", correct)
    scores = Scorer()
    play(many(ball, make_prompter("point_interp:n=3+scribble"), scores), Waiting(), scores)
    assert threading.current_thread() not in prompted
    assert len(prompted) >= COUNT


def test_the_users_of_the_second_group_begin_while_the_model_answers_the_first(
    ball: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, begun, all_have = Session.begin, dict[str, threading.Thread](), threading.Event()

    def begin(self: Session) -> None:
        real(self)
        begun[self.key] = threading.current_thread()
        if len(begun) == COUNT:
            all_have.set()

    class Waiting(Drawn):
        def segment(self, requests: Sequence[Request]) -> list[Answer | Failure]:
            assert all_have.wait(60)
            return super().segment(requests)

    monkeypatch.setattr(Session, "begin", begin)
    scores, model = Scorer(), Waiting()
    sessions = many(ball, make_prompter("point_interp:n=3"), scores)
    play(sessions, model, scores)
    assert [len(asked) for asked in model.asked] == [COUNT // 2] * 2
    here = [begun[session.key] is threading.current_thread() for session in sessions]
    assert here == [True] * (COUNT // 2) + [False] * (COUNT // 2)


@dataclass(frozen=True)
class Own(Prompter):
    """Notes its thread."""

    name = "own"
    threads: ClassVar[set[threading.Thread]] = set()

    def interact(self, user: User) -> Turns:
        for turn in iter(make_prompter("box_slice").interact(user)):
            self.threads.add(threading.current_thread())
            yield turn


@pytest.mark.parametrize("prompter", [Own(), Combined(Own(), ScribbleRefinement())])
def test_prompters_of_the_user_stay_in_the_calling_thread(ball: np.ndarray, prompter: Prompter) -> None:
    scores, model = Scorer(), Drawn()
    play(many(ball, prompter, scores), model, scores)
    assert Own.threads == {threading.current_thread()}
    assert len(model.asked[0]) == COUNT


@pytest.mark.parametrize(("count", "groups"), [(1, [["s0"]]), (2, [["s0"], ["s1"]]), (3, [["s0"], ["s1", "s2"]])])
def test_each_group_is_asked_at_once(ball: np.ndarray, count: int, groups: list[list[str]]) -> None:
    scores, model = Scorer(), Drawn()
    play(many(ball, make_prompter("point_interp:n=3"), scores, count), model, scores)
    assert model.asked == groups


def test_a_model_with_costly_calls_is_asked_once_for_all(ball: np.ndarray) -> None:
    class Program(Drawn):
        costly_calls = True

    scores, model = Scorer(), Program()
    play(many(ball, make_prompter("point_interp:n=3"), scores), model, scores)
    assert [len(asked) for asked in model.asked] == [COUNT]


def test_a_model_that_raises_fails_its_group_and_an_interruption_waits_for_the_users(ball: np.ndarray) -> None:
    class Broken(Drawn):
        def segment(self, requests: Sequence[Request]) -> list[Answer | Failure]:
            found = super().segment(requests)
            if len(self.asked) == 1:
                raise ValueError("no")
            if len(self.asked) == 4:
                raise KeyboardInterrupt
            return found

    scores = Scorer()
    sessions = many(ball, make_prompter("point_interp:n=3+scribble"), scores)
    with pytest.raises(KeyboardInterrupt):
        play(sessions, Broken(), scores)
    assert [session.rows[0]["status"] for session in sessions[:4]] == ["error"] * 4
    assert all(session.request is not None and len(session.turns) > 1 for session in sessions[4:])
