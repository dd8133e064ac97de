"""What a prompter or a model must not give is an error of its own, whatever it is; the session never raises."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intrabench.mask import Mask, Region
from intrabench.models.base import Answer, Failure
from intrabench.play.lockstep import play
from intrabench.play.session import Session
from intrabench.prompters.base import Prompter, Turns, User
from intrabench.prompts import Click, DrawBox2D, DrawScribble, Lasso, Prompts, Scribble, Turn, box3d, boxes, points
from intrabench.protocols import protocol
from tests.conftest import make_target
from tests.play.test_session import ALL, Scripted, Stub

SHAPE = (4, 8, 9)
VOLUME = "the volume of 4 x 8 x 9 voxels (z, y, x)"
TRUTH = np.zeros(SHAPE, bool)
TRUTH[1:3, 2:6, 3:7] = True
GOOD = Turn(points([(1, 3, 4)]), (Click(),))


def played(prompter: Prompter, answer: Any = None, rounds: int = 0) -> list[dict[str, Any]]:
    session = Session("key", make_target(TRUTH), prompter, ALL, protocol("overlap@1"), rounds=rounds)
    play([session], Stub(lambda request: answer or Answer(Mask.of(TRUTH))))
    return session.rows


WRONG_PROMPTS = {
    "a point (4, 0, 0) lies outside of " + VOLUME: points([(1, 1, 1), (4, 0, 0)]),
    "a point (0, -1, 0) lies outside of " + VOLUME: points([(0, -1, 0)]),
    "a point has the label 2, expected 1 (target) or 0 (background)": points([(1, 1, 1)], label=2),
    "a 2D box (1, 5, 2, 3, 6) has no voxel": boxes({1: (5, 2, 3, 6)}),
    "a 2D box (1, 2, 2, 2, 6) has no voxel": boxes({1: (2, 2, 2, 6)}),
    "a 2D box (1, 2, 2, 9, 6) reaches outside of " + VOLUME: boxes({1: (2, 2, 9, 6)}),
    "a 2D box (-1, 2, 2, 3, 6) reaches outside of " + VOLUME: boxes({-1: (2, 2, 3, 6)}),
    "a 3D box (3, 0, 0, 1, 2, 2) has no voxel": box3d((3, 0, 0, 1, 2, 2)),
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


def test_a_wrong_correction_leaves_the_round_before_valid() -> None:
    rows = played(Scripted((GOOD, Turn(points([(9, 9, 9)]), (Click(),)))), Answer(Mask.of(TRUTH[:2])), rounds=3)
    assert [(row["round"], row["status"]) for row in rows] == [(0, "ok"), (1, "error")]
    assert rows[1]["error"].startswith("prompter: a point (9, 9, 9) lies outside")


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
        ([(1, None, 1)], "1"),
    ],
)
def test_prompts_are_whole_numbers(rows: Any, said: str) -> None:
    with pytest.raises(ValueError, match=r"in whole voxels, but .* was given; round it first") as raised:
        points(rows)
    assert f"but {said} was given" in str(raised.value)


def test_rows_of_another_width_are_not_reshaped() -> None:
    with pytest.raises(ValueError, match="a point is z, y, x, label, but 6 numbers were given"):
        Prompts(points=np.zeros((2, 6), int))


BLOCK = np.ones((1, 2, 2), bool)
WRONG_ANSWERS = {
    "its mask holds float32, expected true or false; apply a threshold first": Answer(
        Mask((0, 0, 0), np.full((1, 2, 2), np.nan, np.float32))  # type: ignore[arg-type]
    ),
    "its mask fills the box 3, 0, 0, 5, 1, 1, outside of " + VOLUME: Answer(Mask((3, 0, 0), np.ones((2, 1, 1), bool))),
    "its mask fills the box -1, 0, 0, 0, 2, 2, outside of " + VOLUME: Answer(Mask((-1, 0, 0), BLOCK)),
    "its mask starts at (0.5, 0, 0), expected three whole numbers": Answer(Mask((0.5, 0, 0), BLOCK)),  # type: ignore[arg-type]
    "its mask is an array of the shape (2, 2), expected": Answer(Mask((0, 0, 0), BLOCK[0])),
    "its mask is list, expected an array with three axes": Answer(Mask((0, 0, 0), [[[True]]])),  # type: ignore[arg-type]
    "it is valid on slice 4, outside of " + VOLUME: Answer(Mask.empty(), Region(slices=(1, 4))),
    "it is valid on the slices (1.5,), expected whole numbers": Answer(Mask.empty(), Region(slices=(1.5,))),  # type: ignore[arg-type]
    "it is valid in the box (0, 0, 0, 5, 1, 1), expected": Answer(Mask.empty(), Region(box=(0, 0, 0, 5, 1, 1))),
    "it is valid in the box (2, 0, 0, 1, 1, 1), expected": Answer(Mask.empty(), Region(box=(2, 0, 0, 1, 1, 1))),
    "its reach is the box 2, 0, 0, 1, 8, 9, whose end lies before": Answer(Mask.empty(), reach=(2, 0, 0, 1, 8, 9)),
}


@pytest.mark.parametrize("sentence", WRONG_ANSWERS)
def test_wrong_answers_are_an_error_of_the_model(sentence: str) -> None:
    (row,) = played(Scripted((GOOD,)), WRONG_ANSWERS[sentence])
    assert (row["status"], row["dice"]) == ("error", 0.0)
    assert row["error"].startswith(f"model: {sentence}")


@pytest.mark.parametrize("value", [0.7, np.nan, -2.0])
def test_probabilities_are_no_mask(value: float) -> None:
    with pytest.raises(ValueError, match=r"apply a threshold first, such as probabilities > 0\.5"):
        Mask.of(np.full((1, 1, 1), value))
    assert Mask.of(np.ones((1, 1, 1))).voxels == 1


@dataclass(frozen=True)
class Endless(Prompter):
    """Gives turns without actions for ever."""

    name = "endless"

    def interact(self, user: User) -> Turns:
        yield GOOD
        while True:
            yield Turn(points([(1, 3, 4)]))


def test_free_turns_end() -> None:
    (row,) = played(Endless())
    assert row["error"] == (
        "prompter: it gave 29 turns without actions in one round and would go on; end it or give actions"
    )


def test_each_round_may_have_its_free_turns() -> None:
    free = (Turn(points([(1, 3, 4)])),) * 28  # two per slice, and 20
    rows = played(Scripted((GOOD, *free, GOOD, *free)), Answer(Mask.empty()), 1)
    assert [(row["round"], row["status"]) for row in rows] == [(0, "empty"), (1, "empty")]


def test_a_prompter_that_will_not_close_ends_all_the_same() -> None:
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
    assert row["error"].startswith("model: its mask fills the box 9, 0, 0")


numbers = st.integers(-2, 11) | st.floats() | st.just(10**30)


def rows(width: int) -> st.SearchStrategy[Any]:
    return st.lists(st.lists(numbers, min_size=width, max_size=width), max_size=3)


@settings(max_examples=150, deadline=None)
@given(
    clicks=rows(4),
    drawn=rows(5),
    box=st.none() | st.lists(numbers, min_size=6, max_size=6),
    stroke=st.none() | rows(3),
    label=st.sampled_from([0, 1, 2, -1]),
)
def test_any_prompts_give_a_row_and_never_raise(clicks: Any, drawn: Any, box: Any, stroke: Any, label: int) -> None:
    @dataclass(frozen=True)
    class Any_(Prompter):
        name = "any"

        def interact(self, user: User) -> Turns:
            strokes = () if stroke is None else (Scribble(stroke or np.zeros((0, 3)), label),)
            empty = np.zeros((0, 4)), np.zeros((0, 5))
            yield Turn(Prompts(clicks or empty[0], drawn or empty[1], box, strokes), (Click(),))

    (row,) = played(Any_())
    values = [*chain(*clicks, *drawn, *(stroke or ())), *(box or ())]
    sound = all(isinstance(v, int) or v == np.rint(v) for v in values) and all(-1 < v < 10 for v in values)
    assert row["status"] in ("ok", "error")
    if row["status"] == "error":
        assert row["error"].startswith("prompter: ")
    else:
        assert sound
        assert all(p[3] in (0, 1) and p[0] < 4 and p[1] < 8 and p[2] < 9 for p in clicks)


@settings(max_examples=150, deadline=None)
@given(
    start=st.tuples(*[st.integers(-3, 10)] * 3),
    size=st.tuples(*[st.integers(0, 5)] * 3),
    dtype=st.sampled_from(["bool", "float32", "uint8", "object"]),
    slices=st.none() | st.lists(st.integers(-1, 5), max_size=3).map(tuple),
)
def test_any_answer_gives_a_row_and_never_raises(start: Any, size: Any, dtype: str, slices: Any) -> None:
    answer = Answer(Mask(start, np.ones(size, dtype)), Region(slices=slices))
    (row,) = played(Scripted((GOOD,)), answer)
    inside = 0 in size or all(s in range(top - n + 1) for s, n, top in zip(start, size, SHAPE, strict=True))
    sound = dtype == "bool" and inside and all(0 <= z < 4 for z in slices or ())
    assert (row["status"] != "error") == sound
    if not sound:
        assert row["error"].startswith("model: ")


@pytest.mark.parametrize("points", [-1, 1e300, np.nan, np.inf, 2.5, True, "3", None, 10**400])
def test_actions_with_absurd_numbers_are_an_error_of_the_prompter(points: Any) -> None:
    (row,) = played(Scripted((Turn(GOOD.prompts, (DrawScribble(points),)),)))
    assert (row["status"], row["dof"]) == ("error", 0.0)
    assert row["error"].startswith(
        f"prompter: a scribble has {repr(points)[:60]} control points, expected a whole number"
    )


ABSURD = [-1.0, np.nan, np.inf, 1e300, True, "3", None, [1], 10**400]


@pytest.mark.parametrize("number", ABSURD)
@pytest.mark.parametrize("name", ["seconds", "encode_seconds", "batch"])
def test_answers_with_absurd_numbers_are_an_error_of_the_model(name: str, number: Any) -> None:
    answer: Any = {name: number}
    (row,) = played(Scripted((GOOD,)), Answer(Mask.of(TRUTH), **answer))
    assert (row["status"], row["dice"]) == ("error", 0.0)
    assert row["error"].startswith(
        f"model: its {name} {'is' if name == 'batch' else 'are'} {repr(number)[:60]}, expected"
    )
    assert all(0 <= row[cost] < 10 for cost in ("segment_s", "encode_s", "batch"))


@pytest.mark.parametrize("number", ABSURD)
def test_failures_with_absurd_numbers_are_an_error_of_the_model(number: Any) -> None:
    (row,) = played(Scripted((GOOD,)), Failure("error", "no", number))
    assert (row["status"], row["segment_s"]) == ("error", 0.0)
    assert row["error"].startswith(f"model: its seconds are {repr(number)[:60]}, expected a number, 0 or more")


@pytest.mark.parametrize("status", ["ok", "empty", "", None, 3, ["error"], "OOM"])
def test_failures_of_an_unknown_status_are_an_error_of_the_model(status: Any) -> None:
    (row,) = played(Scripted((GOOD,)), Failure(status, "no"))
    assert (row["status"], row["dice"]) == ("error", 0.0)
    assert row["error"] == f"model: its Failure has the status {status!r}, expected one of error, oom, timeout"


@pytest.mark.parametrize("message", ["", None, 3])
def test_failures_without_a_sentence_are_an_error_of_the_model(message: Any) -> None:
    (row,) = played(Scripted((GOOD,)), Failure("oom", message))
    assert (row["status"], row["dice"]) == ("error", 0.0)
    assert row["error"] == f"model: its Failure has the message {message!r}, expected a sentence"


def test_numbers_of_numpy_are_numbers() -> None:
    (row,) = played(Scripted((GOOD,)), Answer(Mask.of(TRUTH), seconds=np.float32(0.5), batch=np.int64(2)))  # type: ignore[arg-type]
    assert (row["status"], row["segment_s"], row["batch"]) == ("ok", 0.5, 2)
