"""Sessions, turns, rounds, rows (docs/results.md), played against stub models."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.errors import WrongType
from intrabench.mask import Mask, Region
from intrabench.models.base import Answer, Failure, Predictor, Request, checked
from intrabench.play.lockstep import LARGEST_BATCH, LAST_BATCH, batches, play
from intrabench.play.session import Session
from intrabench.prompters.base import Prompter
from intrabench.prompters.box_slice import BoxSlice
from intrabench.prompters.user import Turns, User
from intrabench.prompts import Abilities, Prompts, boxes, points
from intrabench.protocols import Protocol, Stop, protocol
from intrabench.turns import Action, Click, DrawBox2D, Turn, Undo, turns_by_round
from intrabench.volume import Volume
from tests.conftest import make_target
from tests.models.parts.test_slice_model import Threshold

ALL = Abilities(2, frozenset({"point", "box2d", "box3d", "scribble", "lasso"}))
OVERLAP = protocol("overlap@1")


class Stub(Predictor):
    """Answers each request by a function, and remembers the batches it was asked."""

    def __init__(self, answer: Callable[[Request], Answer | Failure]) -> None:
        self.answer, self.batches = answer, list[Sequence[Request]]()

    def segment(self, requests: Sequence[Request]) -> list[Answer | Failure]:
        self.batches.append(requests)
        return [self.answer(request) for request in requests]


@dataclass(frozen=True)
class Scripted(Prompter):
    """Gives the turns that the test wrote, and remembers the masks that it was sent."""

    name = "scripted"
    turns: tuple[Turn, ...] = ()
    fail_after: int = -1

    def interact(self, user: User) -> Turns:
        for number, turn in enumerate(self.turns):
            if number == self.fail_after:
                raise RuntimeError("lost the mouse")
            mask = yield turn
            SEEN.append((user.round, mask.voxels))


SEEN: list[tuple[int, int]] = []


@pytest.fixture(autouse=True)
def _clean() -> None:
    SEEN.clear()


def session(prompter: Prompter, array: np.ndarray, *, rounds: int = 0, rule: Protocol = OVERLAP, **more) -> Session:  # type: ignore[no-untyped-def]
    return Session("key", make_target(array), prompter, more.pop("abilities", ALL), rule, rounds=rounds, **more)


def click(z: int = 9) -> Turn:
    return Turn(points([(z, 12, 15)]), (Click(),))


def free(z: int) -> Turn:
    return Turn(boxes({z: (1, 1, 3, 3)}))


def one_slice(request: Request) -> Answer:
    """One voxel on each slice of the new turn."""
    z = request.turns[-1].prompts.slices()
    voxels = [Mask((plane, 12, 15), np.ones((1, 1, 1), bool)) for plane in z]
    update = Mask.of(sum((voxel.to_array((20, 24, 28)) for voxel in voxels), np.zeros((20, 24, 28), bool)))
    return Answer(update, Region(slices=z), seconds=0.5, encode_seconds=0.25, batch=3)


def test_a_static_prompter_gives_one_row(ball: np.ndarray) -> None:
    found = session(BoxSlice(), ball)
    play([found], Stub(lambda request: Answer(Mask.of(ball))))
    (row,) = found.rows
    assert (row["round"], row["status"], row["dice"], row["ended"]) == (0, "ok", 1.0, True)
    assert (row["interactions"], row["dof"], row["seconds_human"]) == (26, 65, 91)
    assert (row["fp_voxels"], row["fn_voxels"], row["pred_voxels"]) == (0, 0, ball.sum())


def test_free_turns_belong_to_the_round_before_them_and_cost_nothing(ball: np.ndarray) -> None:
    script = Scripted((click(9), free(10), free(8), click(7), free(6)))
    found = session(script, ball, rounds=5)
    play([found], Stub(one_slice))
    assert [row["round"] for row in found.rows] == [0, 1]
    assert [row["interactions"] for row in found.rows] == [1, 2]
    assert [row["pred_voxels"] for row in found.rows] == [3, 5]
    assert [row["segment_s"] for row in found.rows] == [1.5, 1.0]
    assert [row["encode_s"] for row in found.rows] == [0.75, 0.5]
    assert found.rows[0]["batch"] == 3
    assert [turn["round"] for turn in found.turns] == [0, 0, 0, 1, 1]
    assert SEEN == [(1, 1), (1, 2), (1, 3), (2, 4), (2, 5)]  # round to be prepared, mask of the whole target so far


def test_rounds_bound_corrections_and_the_session_could_go_on(ball: np.ndarray) -> None:
    found = session(Scripted(tuple(click(z) for z in range(5, 12))), ball, rounds=2)
    stub = Stub(one_slice)
    play([found], stub)
    assert [row["round"] for row in found.rows] == [0, 1, 2]
    assert [row["ended"] for row in found.rows] == [False, False, False]
    assert len(stub.batches) == 3


def test_no_rows_are_invented_after_an_early_end(ball: np.ndarray) -> None:
    found = session(Scripted((click(), click())), ball, rounds=9)
    play([found], Stub(one_slice))
    assert [(row["round"], row["ended"]) for row in found.rows] == [(0, False), (1, True)]


def test_a_perfect_answer_stops_before_the_next_correction(ball: np.ndarray) -> None:
    found = session(Scripted((click(), click(), click())), ball, rounds=5)
    stub = Stub(lambda request: Answer(Mask.of(ball)))
    play([found], stub)
    assert [(row["round"], row["status"], row["ended"]) for row in found.rows] == [(0, "stopped", True)]
    assert len(stub.batches) == 1


def test_the_answer_overwrites_where_it_is_valid_even_by_empty(ball: np.ndarray) -> None:
    answers = iter(
        [
            Answer(Mask.of(ball)),
            Answer(Mask.empty(), Region(slices=(9,))),
        ]
    )
    found = session(
        Scripted((click(), click())), ball, rounds=1, rule=Protocol("p@1", "", ("dice@1",), stop=Stop(dice=2.0))
    )
    play([found], Stub(lambda request: next(answers)))
    assert found.rows[1]["fn_voxels"] == ball[9].sum()
    assert found.rows[1]["fp_voxels"] == 0


def test_requests_carry_the_history_the_mask_and_the_memory(ball: np.ndarray) -> None:
    found = session(Scripted((click(8), free(9), click(10))), ball, rounds=1)

    def answer(request: Request) -> Answer:
        given = one_slice(request)
        return Answer(given.update, given.valid, memory=(request.memory or 0) + 1)

    stub = Stub(answer)
    play([found], stub)
    requests = [batch[0] for batch in stub.batches]
    assert [len(request.turns) for request in requests] == [1, 2, 3]
    assert [request.memory for request in requests] == [None, 1, 2]
    assert [request.mask.voxels for request in requests] == [0, 1, 2]


@pytest.mark.parametrize(
    ("rounds", "corrects", "propagates", "last"),
    [
        (1, True, False, [False, True]),
        (0, True, False, [True]),
        (1, False, False, [True, True]),
        (0, False, True, [False]),
    ],
)
def test_the_request_after_which_a_prompter_says_no_more_needs_no_memory(
    ball: np.ndarray, rounds: int, corrects: bool, propagates: bool, last: list[bool]
) -> None:
    cls = type("Other", (Scripted,), {"corrects": corrects, "propagates": propagates})
    stub = Stub(one_slice)
    play([session(cls((click(8), click(10))), ball, rounds=rounds)], stub)
    assert [request.last for (request,) in stub.batches] == last


UNDO = Turn(Prompts(), (Undo(),))


def test_what_is_taken_back_has_never_been_given_but_was_paid_for(ball: np.ndarray) -> None:
    found = session(Scripted((click(8), click(9), UNDO, click(10))), ball, rounds=3, keep_masks=True)

    def answer(request: Request) -> Answer:
        given = one_slice(request)
        return Answer(given.update, given.valid, memory=len(request.turns), seconds=0.5)

    stub = Stub(answer)
    play([found], stub)
    requests = [batch[0] for batch in stub.batches]
    assert [[one.prompts.points[0, 0] for one in request.turns] for request in requests] == [[8], [8, 9], [8, 10]]
    assert [request.memory for request in requests] == [None, 1, None]  # after that the model has to rebuild it
    assert [request.mask.voxels for request in requests] == [0, 1, 1]
    assert [row["pred_voxels"] for row in found.rows] == [1, 2, 1, 2]
    assert found.rows[2]["dice"] == found.rows[0]["dice"]
    assert [row["interactions"] for row in found.rows] == [1, 2, 3, 4]
    assert [row["dof"] for row in found.rows] == [3, 6, 7, 10]
    assert [row["seconds_human"] for row in found.rows] == pytest.approx([2.5, 5.0, 6.9, 9.4])
    assert [row["segment_s"] for row in found.rows] == [0.5, 0.5, 0.0, 0.5]
    again = [turn for number, turns in sorted(turns_by_round(found.turns).items()) for turn in turns]
    replayed = session(Scripted(tuple(again)), ball, rounds=3, keep_masks=True)
    play([replayed], Stub(answer))
    assert [mask.voxels for mask in replayed.masks] == [mask.voxels for mask in found.masks]
    assert replayed.rows[-1]["prompts_hash"] == found.rows[-1]["prompts_hash"]


def test_a_model_with_a_memory_goes_on_as_if_it_had_never_been_asked(ball: np.ndarray) -> None:
    volume = Volume.from_canonical((200 * ball).astype(np.int16))
    masks = []
    for script in ((click(8), click(9), UNDO, click(8)), (click(8), click(8))):
        model = Threshold()  # its answers depend on how often a slice was answered
        found = session(Scripted(script), ball, rounds=3, abilities=model.abilities, keep_masks=True)
        with model.open(volume) as image:
            play([found], image)
        masks.append(found.masks[-1].to_array(ball.shape))
    assert np.array_equal(*masks)


@pytest.mark.parametrize(
    "script",
    [(UNDO,), (click(), UNDO), (click(), click(), UNDO, UNDO), (click(), click(), replace(click(), actions=(Undo(),)))],
)
def test_only_a_correction_can_be_taken_back_and_only_once(
    ball: np.ndarray, script: tuple[Turn, ...], wording: SnapshotAssertion
) -> None:
    found = session(Scripted(script), ball, rounds=9)
    play([found], Stub(one_slice))
    assert found.rows[-1]["status"] == "error"
    assert found.rows[-1]["error"] == wording


def test_statuses(ball: np.ndarray) -> None:
    empty = session(BoxSlice(), ball)
    play([empty], Stub(lambda request: Answer(Mask.empty())))
    assert [(r["status"], r["dice"]) for r in empty.rows] == [("empty", 0.0)]

    failed = session(Scripted((click(), click())), ball, rounds=3)
    answers = iter([one_slice(Request("k", (click(),))), Failure("oom", "no memory", 1.0)])
    play([failed], Stub(lambda request: next(answers)))
    assert [(r["round"], r["status"], r["dice"], r["error"]) for r in failed.rows][1] == (1, "oom", 0.0, "no memory")

    refused = session(Scripted((click(),)), ball, abilities=Abilities(2, frozenset({"box2d"})))
    play([refused], Stub(one_slice))
    (row,) = refused.rows
    assert (row["status"], row["dice"], row["interactions"]) == ("not_applicable", None, 1)
    assert "initial point" in row["error"]

    nothing = session(BoxSlice(), np.zeros((3, 3, 3), bool))
    assert nothing.rows[0]["status"] == "not_applicable"
    assert "no voxels" in nothing.rows[0]["error"]


def test_a_prompter_that_fails_or_cheats_is_an_error_row(ball: np.ndarray) -> None:
    failing = session(Scripted((click(), click()), fail_after=1), ball, rounds=3)
    play([failing], Stub(one_slice))
    assert [(row["round"], row["status"]) for row in failing.rows] == [(0, "ok"), (1, "error")]
    assert failing.rows[0]["dice"] > 0
    assert "lost the mouse" in failing.rows[1]["error"]
    at_the_end = session(Scripted((click(), click()), fail_after=1), ball)
    play([at_the_end], Stub(one_slice))
    assert [row["status"] for row in at_the_end.rows] == ["error"]  # a free turn may be missing
    cheating = session(Scripted((free(3),)), ball)
    cheating.begin()
    assert cheating.rows[0]["status"] == "error"
    assert "never free" in cheating.rows[0]["error"]


@dataclass(frozen=True)
class Odd(Prompter):
    """Breaks the contract in the way that the test names."""

    name = "odd"
    way: str = ""

    def interact(self, user: User) -> Turns:
        if self.way == "list":
            return [click()]  # type: ignore[return-value]
        if self.way == "raise":
            raise KeyError("before the first turn")
        return self._turns()

    def _turns(self) -> Turns:
        if self.way == "prompts":
            yield points([(1, 1, 1)])  # type: ignore[misc]
        if self.way == "action":
            yield Turn(points([(1, 1, 1)]), (Wink(),))


class Wink(Action):
    kind = "wink"


@pytest.mark.parametrize(
    "way",
    [
        "list",
        "raise",
        "prompts",
        "action",
    ],
)
def test_a_prompter_that_breaks_the_contract_is_an_error_row(
    ball: np.ndarray, way: str, wording: SnapshotAssertion
) -> None:
    breaking = session(Odd(way), ball)
    breaking.begin()
    (row,) = breaking.rows
    assert row["status"] == "error"
    assert row["error"] == wording


@pytest.mark.parametrize(
    "answer",
    [
        None,
        "mask",
        Answer(np.ones((2, 2, 2))),
        Answer(Mask.empty(), 3),
    ],
)
def test_a_model_that_breaks_the_contract_is_an_error_row(
    ball: np.ndarray, answer: object, wording: SnapshotAssertion
) -> None:
    found = session(BoxSlice(), ball)
    play([found], Stub(lambda request: answer))  # type: ignore[arg-type, return-value]
    assert [row["status"] for row in found.rows] == ["error"]
    assert found.rows[0]["error"] == wording


def test_every_round_has_its_own_random_stream(ball: np.ndarray) -> None:
    @dataclass(frozen=True)
    class Drawing(Prompter):
        name = "drawing"

        def interact(self, user: User) -> Turns:
            while True:
                DRAWN.append((user.round, int(user.rng("one").integers(10**9))))
                yield click()

    DRAWN.clear()
    play([session(Drawing(), ball, rounds=3)], Stub(one_slice))
    assert [number for number, _ in DRAWN] == [0, 1, 2, 3, 4]  # the last is not played
    assert len({value for _, value in DRAWN}) == 5


DRAWN: list[tuple[int, int]] = []


def test_a_model_that_raises_fails_the_sessions_of_the_step_not_the_run(ball: np.ndarray) -> None:
    class Broken(Predictor):
        def segment(self, requests: Sequence[Request]) -> list[Answer | Failure]:
            raise MemoryError("too much")

    class Short(Predictor):
        def segment(self, requests: Sequence[Request]) -> list[Answer | Failure]:
            return []

    for image, status in ((Broken(), "oom"), (Short(), "error")):
        both = [session(BoxSlice(), ball), session(BoxSlice(), ball)]
        play(both, image)
        assert [one.rows[0]["status"] for one in both] == [status, status]


def test_sessions_advance_in_lockstep(ball: np.ndarray) -> None:
    lengths = (1, 3, 2)
    sessions = [session(Scripted(tuple(click(9) for _ in range(n))), ball, rounds=9) for n in lengths]
    stub = Stub(lambda request: Answer(Mask.of(ball[:10])))
    play(sessions, stub)
    assert [len(batch) for batch in stub.batches] == [3, 2, 1]
    assert [len(one.rows) for one in sessions] == list(lengths)


def test_turns_are_stored_and_hashed(ball: np.ndarray) -> None:
    first, second, other = (session(Scripted((click(z),)), ball) for z in (9, 9, 8))
    play([first, second, other], Stub(one_slice))
    assert Turn.from_json(json.loads(first.turns[0]["given"])).to_json() == click(9).to_json()
    assert first.rows[0]["prompts_hash"] == second.rows[0]["prompts_hash"] != other.rows[0]["prompts_hash"]


def test_notes_come_in_the_order_of_letters_whatever_the_order_of_sets(ball: np.ndarray) -> None:
    words = [f"note {letter}" for letter in "hcbgaefdjilk"]
    found = session(Scripted((click(),)), ball)
    play([found], Stub(lambda request: Answer(Mask.of(ball), notes=tuple(words))))
    assert found.rows[0]["adapted"] == ",".join(sorted(words))


def test_adaptation_is_recorded_and_effort_unchanged(ball: np.ndarray) -> None:
    found = session(BoxSlice(), ball, abilities=Abilities(3, frozenset({"box3d"})))
    stub = Stub(lambda request: Answer(Mask.of(ball)))
    play([found], stub)
    assert found.rows[0]["adapted"] == "box2d->box3d"
    assert found.rows[0]["interactions"] == 26
    assert stub.batches[0][0].turns[0].prompts.kinds == {"box3d"}
    strict = session(BoxSlice(), ball, abilities=Abilities(3, frozenset({"box3d"})), strict=True)
    strict.begin()
    assert strict.rows[0]["status"] == "not_applicable"


def test_a_model_without_feedback_gets_no_corrections_alone(ball: np.ndarray, wording: SnapshotAssertion) -> None:
    prompter = intrabench.prompter("points_volume:n=1+click_volume:previous=drop")
    points_3d = Abilities(3, frozenset({"point"}))
    found = session(prompter, ball, rounds=2, abilities=points_3d)
    play([found], Stub(one_slice))
    assert [(row["status"], row["dice"] is None) for row in found.rows] == [("ok", False), ("not_applicable", True)]
    assert found.rows[1]["error"] == wording
    fed = session(prompter, ball, rounds=2, abilities=replace(points_3d, feeds_back=True))
    play([fed], stub := Stub(one_slice))
    assert [row["status"] for row in fed.rows] == ["ok"] * 3
    assert len(stub.batches[2][0].given) == 1


def test_masks_are_kept_on_request(ball: np.ndarray) -> None:
    found = session(
        Scripted((click(9), Turn(boxes({8: (1, 1, 2, 2)}), (DrawBox2D(),)))), ball, rounds=1, keep_masks=True
    )
    play([found], Stub(one_slice))
    assert [mask.voxels for mask in found.masks] == [1, 2]


def sizes(weights: list[float], seconds: list[float], last: int = LAST_BATCH) -> list[int]:
    """Sizes of the waves of items that weigh and take so much."""
    now, found = [0.0], []
    for wave in batches(range(len(weights)), weights, clock=lambda: now[0], last=last):
        found.append(len(wave))
        now[0] += sum(seconds[item] for item in wave)
    return found


def test_waves_learn_from_the_time_they_take() -> None:
    assert sizes([10.0] * 30, [2.5] * 30) == [1, 3, 9, 8, 8, 1]
    assert sizes([10.0] * 4, [60.0] * 4) == [1, 1, 1, 1]
    assert sizes([], []) == []


def test_the_last_waves_are_small() -> None:
    assert sizes([10.0] * 200, [0.01] * 200) == [1, 3, 9, 27, 64, 48, 24, 12, 8, 4]
    assert sizes([10.0] * 200, [0.01] * 200, last=LARGEST_BATCH) == [1, 3, 9, 27, 64, 64, 32]


def test_waves_hold_no_more_than_the_memory_for_sessions_has_room_for() -> None:
    found: list[int] = []
    for wave in batches(range(60), [10.0] * 60, clock=lambda: 0.0, fullness=lambda: 0.12 * found[-1]):
        found.append(len(wave))
    assert found == [1, 3, 8, 8, 8, 8, 8, 8, 8]
    alone: list[int] = []
    for wave in batches(range(3), [10.0] * 3, clock=lambda: 0.0, fullness=lambda: 5.0):
        alone.append(len(wave))
    assert alone == [1, 1, 1]  # a session is never too large


def test_waves_follow_the_weights() -> None:
    assert sizes([1.0, 1.0, 1.0, 100.0, 1.0], [1.0, 1.0, 1.0, 100.0, 1.0]) == [1, 2, 1, 1]


def test_slow_items_after_cheap_ones_soon_make_small_waves() -> None:
    slow = sizes([1.0] * 60, [0.01] * 4 + [20.0] * 56)
    assert slow[:3] == [1, 3, 9]
    assert max(slow[3:]) == 1


@pytest.mark.parametrize(("strict", "expected"), [(False, ("ok", "assumed CT")), (True, ("not_applicable", ""))])
def test_what_a_model_assumed_is_in_the_row_and_strict_refuses_it(
    ball: np.ndarray, strict: bool, expected: tuple[str, str]
) -> None:
    played = session(Scripted((Turn(boxes({9: (5, 5, 9, 9)}), (DrawBox2D(),)),)), ball, strict=strict)
    play([played], Stub(lambda request: replace(one_slice(request), notes=("assumed CT",))))
    assert [(row["status"], row["adapted"]) for row in played.rows] == [expected]
    assert ("--strict forbids the adaptation assumed CT" in played.rows[0]["error"]) == strict


@pytest.mark.parametrize("notes", ["assumed CT", (1,)])
def test_notes_of_an_answer_are_texts(notes: object, wording: SnapshotAssertion) -> None:
    with pytest.raises(WrongType) as caught:
        checked(Answer(Mask.empty(), notes=notes), "mine.segment_one")  # type: ignore[arg-type]
    assert caught == wording
