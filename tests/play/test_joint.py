"""Joint sessions (docs/results.md), played against stub models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.mask import Mask, Region
from intrabench.models.base import Answer, Failure, JointAnswer, JointRequest, Predictor, Request
from intrabench.play.joint import Joint
from intrabench.play.lockstep import play
from intrabench.play.session import Session
from intrabench.prompters.base import Prompter
from intrabench.prompters.joint import JointPrompter
from intrabench.prompters.user import JointTurns, Turns, User, Users
from intrabench.prompts import Abilities, Prompts, Scribble, boxes, points
from intrabench.protocols import Protocol, protocol, stopping
from intrabench.protocols.joint import JointRules
from intrabench.turns import Click, DrawBox2D, DrawScribble, Turn
from tests.conftest import make_target

SHAPE = (6, 12, 14)
OVERLAP = protocol("overlap@1")
SLICES = Abilities(2, frozenset({"point", "box2d", "scribble"}))
VOLUMES = Abilities(3, frozenset({"point", "box3d", "scribble"}))


def block(z: int, y: int, x: int, side: int = 3) -> np.ndarray:
    array = np.zeros(SHAPE, bool)
    array[z : z + 2, y : y + side, x : x + side] = True
    return array


APART = JointRules()
LEFT, RIGHT = block(1, 2, 2), block(1, 2, 8)


class Stub(Predictor):
    """Answers each request by a function of its target's number, and remembers what it was asked."""

    def __init__(self, answer: Callable[[Request], Answer | Failure]) -> None:
        self.answer, self.asked = answer, list[list[Request]]()

    def segment(self, requests: Sequence[Request]) -> list[Answer | Failure]:
        self.asked.append(list(requests))
        return [self.answer(request) for request in requests]


@dataclass(frozen=True)
class Scripted(Prompter):
    """Gives each target the turns that the test wrote for it."""

    name = "scripted"
    turns: tuple[tuple[Turn | Exception, ...], ...] = ()

    def interact(self, user: User) -> Turns:
        for turn in self.turns[user.target.instance - 1]:
            if isinstance(turn, Exception):
                raise turn
            yield turn


def click(z: int, y: int, x: int) -> Turn:
    return Turn(points([(z, y, x)]), (Click(),))


def joint(
    prompter: Prompter,
    truths: Sequence[np.ndarray],
    *,
    rules: JointRules = APART,
    abilities: Abilities = VOLUMES,
    rounds: int = 1,
    rule: Protocol = OVERLAP,
    whole: bool = False,
) -> Joint:
    sessions = [
        Session(f"s{number}", make_target(truth, instance=number), prompter, abilities, rule, rounds=rounds)
        for number, truth in enumerate(truths, 1)
    ]
    return Joint("all", sessions, prompter, rules, whole=whole)


def whole(array: np.ndarray) -> Answer:
    return Answer(Mask.of(array), seconds=0.5)


def by_target(*arrays: np.ndarray) -> Callable[[Request], Answer]:
    return lambda request: whole(arrays[int(request.session[1:]) - 1])


def rows(one: Joint) -> list[list[tuple[int, str, float]]]:
    return [[(row["round"], row["status"], row["dice"]) for row in session.rows] for session in one.sessions]


def shifted(array: np.ndarray, by: int = 1) -> np.ndarray:
    return np.roll(array, by, axis=2)


@pytest.mark.parametrize("spec", ["box_interp:n=3+scribble", "point_prop", "box_slice", "click_center"])
def test_independent_targets_have_the_rows_that_they_have_alone(spec: str) -> None:
    truths, prompter = [block(0, 1, 1, 5), block(2, 6, 7, 4), block(1, 6, 1, 3)], intrabench.prompter(spec)
    answered = by_target(*(shifted(truth) for truth in truths))
    together = joint(prompter, truths, abilities=SLICES, rounds=2)
    play([together], Stub(answered))
    for number, (truth, session) in enumerate(zip(truths, together.sessions, strict=True), 1):
        target = make_target(truth, instance=number)
        alone = Session(f"s{number}", target, prompter, SLICES, OVERLAP, rounds=2)
        play([alone], Stub(answered))
        ours = [{**row, "prompt_s": 0, "ended": 0} for row in session.rows]
        assert ours[: len(alone.rows)] == [{**row, "prompt_s": 0, "ended": 0} for row in alone.rows]
        assert session.turns == alone.turns


def test_one_call_of_the_model_serves_all_targets_in_each_round() -> None:
    stub = Stub(by_target(shifted(LEFT), shifted(RIGHT)))
    one = joint(Scripted(((click(1, 3, 3), click(1, 3, 4)), (click(1, 3, 9), click(1, 3, 8)))), [LEFT, RIGHT])
    play([one], stub)
    assert [[request.session for request in asked] for asked in stub.asked] == [["s1", "s2"], ["s1", "s2"]]
    assert [len(each) for each in rows(one)] == [2, 2]


def test_positive_prompts_of_the_others_are_negative_ones_if_the_rules_say_so() -> None:
    stroke = Turn(Prompts(scribbles=(Scribble(np.array([(1, 3, 3), (1, 3, 4)])),)), (DrawScribble(),))
    turns = ((click(1, 3, 3), stroke), (click(2, 3, 9), click(2, 4, 9)))
    stub = Stub(by_target(shifted(LEFT), shifted(RIGHT)))
    one = joint(Scripted(turns), [LEFT, RIGHT], rules=JointRules(others="negative"))
    play([one], stub)
    first, second = stub.asked
    assert first[0].turns[0].prompts.points.tolist() == [[1, 3, 3, 1], [2, 3, 9, 0]]
    assert first[1].turns[0].prompts.points.tolist() == [[2, 3, 9, 1], [1, 3, 3, 0]]
    assert second[0].turns[1].prompts.points.tolist() == [[2, 4, 9, 0]]
    assert second[1].turns[1].prompts.points.tolist() == [[2, 4, 9, 1]]
    (line,) = second[1].turns[1].prompts.scribbles
    assert (line.label, line.points.tolist()) == (0, [[1, 3, 3], [1, 3, 4]])
    effort = [session.rows[-1]["interactions"] for session in one.sessions]
    assert effort == [4, 2]  # what others gave costs nothing here
    assert "0]" not in one.sessions[0].turns[0]["given"].partition("clicked")[0]  # as the user gave it


def test_slice_models_get_negative_prompts_of_others_only_on_slices_with_a_prompt_of_their_own() -> None:
    stub = Stub(lambda request: Answer(Mask.empty(), Region(slices=request.turns[-1].prompts.slices())))
    turns = (
        (Turn(points([(1, 3, 3), (3, 3, 3)]), (Click(),) * 2),),
        (Turn(points([(1, 3, 9), (4, 3, 9)]), (Click(),) * 2),),
    )
    play([joint(Scripted(turns), [LEFT, RIGHT], rules=JointRules(others="negative"), abilities=SLICES)], stub)
    assert stub.asked[0][0].turns[0].prompts.points.tolist() == [[1, 3, 3, 1], [3, 3, 3, 1], [1, 3, 9, 0]]


def test_boxes_and_negative_points_of_others_mean_nothing() -> None:
    box = Turn(boxes({1: (2, 8, 5, 11)}), (DrawBox2D(),))
    stub = Stub(by_target(LEFT, shifted(RIGHT)))
    turns = ((click(1, 3, 3),), (box, Turn(points([(1, 3, 5)], label=0), (Click(),))))
    one = joint(Scripted(turns), [shifted(LEFT), RIGHT], rules=JointRules(others="negative"), abilities=SLICES)
    play([one], stub)
    assert stub.asked[0][0].turns[0].prompts.points.tolist() == [[1, 3, 3, 1]]


@pytest.mark.parametrize(
    ("overlap", "left", "right"),
    [("keep", 1.0, 2 * 18 / (18 + 30)), ("first", 1.0, 1.0), ("score", 2 * 12 / (12 + 18), 2 * 18 / (18 + 24))],
)
def test_a_voxel_that_two_answers_claim_belongs_to(overlap: Any, left: float, right: float) -> None:
    """The left one claims its block of 18 voxels. The right one also claims two of its three columns, 12 voxels, and is
    surer of one of these columns, 6 voxels."""
    answers = [LEFT, RIGHT | (LEFT & (np.arange(14) >= 3))]
    scores = [np.full(SHAPE, 0.5, np.float32), np.where(np.arange(14) == 3, 0.6, np.float32(0.4)) * np.ones(SHAPE)]

    def answer(request: Request) -> Answer:
        number = int(request.session[1:]) - 1
        assert request.scores == (overlap == "score")
        return Answer(Mask((0, 0, 0), answers[number]), scores=scores[number] if request.scores else None)

    one = joint(Scripted(((click(1, 3, 3),), (click(1, 3, 9),))), [LEFT, RIGHT], rules=JointRules(overlap=overlap))
    play([one], Stub(answer))
    assert [each[0][2] for each in rows(one)] == pytest.approx([left, right])


def test_a_voxel_that_its_owner_gives_up_goes_to_the_next_one() -> None:
    both = LEFT | RIGHT
    said = {"s1": [both, LEFT], "s2": [both]}
    one = joint(
        Scripted(((click(1, 3, 3), click(1, 3, 8)), (click(1, 3, 9),))), [LEFT, both], rules=JointRules(overlap="first")
    )
    play([one], Stub(lambda request: whole(said[request.session].pop(0))))
    assert rows(one)[1] == [(0, "empty", 0.0), (1, "ok", pytest.approx(2 * 18 / (18 + 36)))]


def test_rounds_and_budget_are_shared() -> None:
    turns = ((click(1, 3, 3), click(1, 3, 4), click(1, 3, 4)), (click(1, 3, 9), click(1, 3, 8)))
    for limit, count in (("interactions=3", 1), ("interactions=4", 2), ("interactions=5", 3)):
        one = joint(Scripted(turns), [LEFT, RIGHT], rounds=5, rule=stopping(OVERLAP, limit))
        play([one], Stub(by_target(shifted(LEFT), shifted(RIGHT))))
        assert [len(each) for each in rows(one)] == [count, count], limit
        assert {each[-1][1] for each in rows(one)} == ({"stopped"} if count < 3 else {"ok"})


def test_all_targets_must_be_good_enough_to_stop() -> None:
    said = {"s1": [LEFT], "s2": [shifted(RIGHT), RIGHT]}
    one = joint(
        Scripted(((click(1, 3, 3),), (click(1, 3, 9), click(1, 3, 8), click(1, 3, 8)))), [LEFT, RIGHT], rounds=5
    )
    play([one], Stub(lambda request: whole(said[request.session].pop(0))))
    assert rows(one) == [
        [(0, "ok", 1.0), (1, "stopped", 1.0)],
        [(0, "ok", pytest.approx(2 / 3)), (1, "stopped", 1.0)],
    ]


def test_a_target_that_fails_ends_alone_and_its_prompts_still_count() -> None:
    turns = ((click(1, 3, 3), RuntimeError("lost the mouse")), (click(1, 3, 9), click(1, 4, 9)))
    stub = Stub(by_target(shifted(LEFT), shifted(RIGHT)))
    one = joint(Scripted(turns), [LEFT, RIGHT], rules=JointRules(others="negative"))
    play([one], stub)
    left, right = rows(one)
    assert [(number, status) for number, status, _ in left] == [(0, "ok"), (1, "error")]
    assert "lost the mouse" in one.sessions[0].rows[1]["error"]
    assert [(number, status) for number, status, _ in right] == [(0, "ok"), (1, "ok")]
    assert stub.asked[1][0].turns[1].prompts.points.tolist() == [[1, 4, 9, 1]]  # the other's click is known already


def test_a_model_that_fails_for_one_target_answers_for_the_others() -> None:
    def answer(request: Request) -> Answer | Failure:
        return Failure("oom", "no memory") if request.session == "s1" else whole(shifted(RIGHT))

    one = joint(Scripted(((click(1, 3, 3),), (click(1, 3, 9), click(1, 4, 9)))), [LEFT, RIGHT])
    play([one], Stub(answer))
    assert [[status for _, status, _ in each] for each in rows(one)] == [["oom"], ["ok", "ok"]]


def test_free_turns_come_before_the_next_round_of_the_others() -> None:
    free = Turn(points([(2, 3, 3)]))
    turns = ((click(1, 3, 3), free, click(1, 3, 4)), (click(1, 3, 9), click(1, 4, 9)))
    stub = Stub(by_target(shifted(LEFT), shifted(RIGHT)))
    one = joint(Scripted(turns), [LEFT, RIGHT], abilities=SLICES)
    play([one], stub)
    assert [[request.session for request in asked] for asked in stub.asked] == [["s1", "s2"], ["s1"], ["s1", "s2"]]
    assert [len(each) for each in rows(one)] == [2, 2]


class Both(Stub):
    """Answers a joint session by a label map."""

    def __init__(self, *maps: Any, start: Any = (0, 0, 0)) -> None:
        super().__init__(lambda request: Failure("error", "asked alone"))
        self.maps, self.start, self.joint = list(maps), start, list[JointRequest]()

    def segment_jointly(self, requests: Sequence[JointRequest]) -> list[JointAnswer | Failure]:
        self.joint += requests
        return [JointAnswer(self.start, self.maps.pop(0), memory=len(self.joint), seconds=3.0) for _ in requests]


def test_a_model_may_answer_for_all_targets_at_once() -> None:
    labels = LEFT.astype(np.int16) + 2 * RIGHT
    model = Both(np.roll(labels, 1, axis=2), labels)
    one = joint(Scripted(((click(1, 3, 3), click(1, 3, 4)), (click(1, 3, 9),))), [LEFT, RIGHT], whole=True)
    play([one], model)
    assert rows(one) == [[(0, "ok", pytest.approx(2 / 3)), (1, "ok", 1.0)]] * 2  # the right one without a click
    assert [(asked.new, asked.memory) for asked in model.joint] == [((True, True), None), ((True, False), 1)]
    assert [session.rows[0]["segment_s"] for session in one.sessions] == [1.5, 1.5]


@pytest.mark.parametrize(
    "labels",
    [
        LEFT * 3,
        LEFT * -1,
        LEFT.astype(float),
        "labels",
    ],
)
def test_a_label_map_that_cannot_be_right_fails_all_targets(labels: Any, wording: SnapshotAssertion) -> None:
    one = joint(Scripted(((click(1, 3, 3),), (click(1, 3, 9),))), [LEFT, RIGHT], whole=True)
    play([one], Both(labels))
    assert [[status for _, status, _ in each] for each in rows(one)] == [["error"], ["error"]]
    assert one.sessions[1].rows[0]["error"] == wording


@pytest.mark.parametrize("start", [(0, 2, 1), (np.uint8(0), np.int8(2), np.uint8(1))])
def test_a_label_map_may_be_a_part_of_the_volume(start: Any) -> None:
    labels = LEFT.astype(np.int16) + 2 * RIGHT
    one = joint(Scripted(((click(1, 3, 3),), (click(1, 3, 9),))), [LEFT, RIGHT], whole=True)
    play([one], Both(labels[:, 2:, 1:], start=start))
    assert [[round(dice, 3) for _, _, dice in each] for each in rows(one)] == [[1.0], [1.0]]


@pytest.mark.parametrize("start", [(0.5, 1, 1), None, (0, 0), "abc"])
def test_a_label_map_that_begins_nowhere_fails_all_targets(start: Any, wording: SnapshotAssertion) -> None:
    one = joint(Scripted(((click(1, 3, 3),), (click(1, 3, 9),))), [LEFT, RIGHT], whole=True)
    play([one], Both(LEFT.astype(np.int16), start=start))
    assert [[status for _, status, _ in each] for each in rows(one)] == [["error"], ["error"]]
    assert one.sessions[1].rows[0]["error"] == wording


@dataclass(frozen=True)
class WorstFirst(JointPrompter):
    """Clicks into all targets, and then into the one with fewer right voxels."""

    name = "worst_first"
    fails: bool = False

    def interact_jointly(self, users: Users) -> JointTurns:
        first = [tuple(target.mask.coordinates()[0]) for target in users.targets]
        masks = yield [click(*map(int, place)) for place in first]
        while True:
            if self.fails:
                raise RuntimeError("lost the mouse")
            worst = int(np.argmin([mask.voxels for mask in masks]))
            assert users.rng("place").random() != users.each[0].rng("place").random()
            masks = yield [click(*map(int, first[worst])) if n == worst else None for n in range(len(masks))]


def test_a_prompter_that_sees_all_targets_and_answers() -> None:
    said = {"s1": [LEFT & (np.arange(14) > 3), LEFT], "s2": [shifted(RIGHT)]}
    one = joint(WorstFirst(), [LEFT, RIGHT], rounds=1)
    play([one], Stub(lambda request: whole(said[request.session].pop(0))))
    assert rows(one) == [
        [(0, "ok", pytest.approx(2 * 6 / (6 + 18))), (1, "ok", 1.0)],
        [(0, "ok", pytest.approx(2 / 3))] * 1 + [(1, "ok", pytest.approx(2 / 3))],
    ]
    assert [session.rows[1]["interactions"] for session in one.sessions] == [2, 1]


def test_a_prompter_of_all_targets_that_fails(wording: SnapshotAssertion) -> None:
    one = joint(WorstFirst(fails=True), [LEFT, RIGHT], rounds=2)
    play([one], Stub(by_target(shifted(LEFT), shifted(RIGHT))))
    assert [[status for _, status, _ in each] for each in rows(one)] == [["ok", "error"]] * 2
    assert one.sessions[1].rows[1]["error"] == wording


def test_the_same_prompter_with_one_target_alone() -> None:
    session = Session("s1", make_target(LEFT, instance=1), WorstFirst(), VOLUMES, OVERLAP, rounds=1)
    play([session], Stub(by_target(shifted(LEFT))))
    assert [row["interactions"] for row in session.rows] == [1, 2]


def test_a_target_without_voxels_does_not_apply_and_the_others_are_played() -> None:
    one = joint(Scripted(((), (click(1, 3, 9),))), [np.zeros(SHAPE, bool), RIGHT], rounds=0)
    play([one], Stub(by_target(LEFT, RIGHT)))
    assert [[status for _, status, _ in each] for each in rows(one)] == [["not_applicable"], ["ok"]]
