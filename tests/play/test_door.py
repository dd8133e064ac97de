"""What a prompter or a model must not give is an error of its own, whatever it is; the session never raises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from intrabench.errors import in_words
from intrabench.mask import Mask, Region
from intrabench.models.base import Answer, Failure, Predictor, Request
from intrabench.play.lockstep import play
from intrabench.play.session import Session
from intrabench.prompters.base import Prompter, Turns, User
from intrabench.prompts import Click, DrawBox2D, DrawScribble, Lasso, Prompts, Scribble, Turn, box3d, boxes, points
from intrabench.protocols import protocol
from tests.conftest import make_target
from tests.play.test_session import ALL, OVERLAP, Scripted, Stub

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
        ([(1, None, 1)], "None"),
        ([(1, "1", 1)], "'1'"),
        ([(True, True, True)], "np.True_"),
        ([(1j, 0, 0)], "1j"),
        ([(10**30, 0, 0)], "1" + "0" * 30),
    ],
)
def test_prompts_are_whole_numbers(rows: Any, said: str) -> None:
    with pytest.raises(
        ValueError, match=r"in whole voxels, but .* was given; (round it first|give integers)"
    ) as raised:
        points(rows)
    assert f"but {said} was given" in str(raised.value)


def test_rows_of_another_width_are_not_reshaped() -> None:
    with pytest.raises(ValueError, match="a point is z, y, x, label, but 6 numbers were given"):
        Prompts(points=np.zeros((2, 6), int))


def test_whole_numbers_of_any_type_are_taken() -> None:
    same = points([(1, 2, 3)]).points
    for dtype in ("int8", "uint64", ">i4", "float32", "object"):
        assert np.array_equal(points(np.array([(1, 2, 3)], dtype)).points, same)
    for label in (True, 1.0, np.int8(1), np.True_, [1]):
        assert points([(1, 2, 3)], label=label).points[0, 3] == 1  # type: ignore[arg-type]
        stroke = Scribble([(1, 2, 3)], label)  # type: ignore[arg-type]
        assert label == [1] or (type(stroke.label), stroke.label) == (int, 1)


@pytest.mark.parametrize("label", [0.5, np.nan, "1", None, 2, np.array([1, 1])])
def test_labels_are_never_rounded(label: Any) -> None:
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
    assert f"a scribble has the label {label!r}, expected 1 (target) or 0 (background)" in stroke["error"]


def test_one_box_is_one_box() -> None:
    for make in (box3d, lambda rows: Prompts(box3d=rows)):
        with pytest.raises(ValueError, match="2 of them were given, expected one"):
            make([(0, 0, 0, 1, 1, 1), (1, 1, 1, 2, 2, 2)])  # type: ignore[operator]
    with pytest.raises(ValueError, match="a 2D box is y0, x0, y1, x1, but 2 of them were given, expected one"):
        boxes({1: [(0, 0, 1, 1), (1, 1, 2, 2)]})  # type: ignore[list-item]


def test_strokes_are_strokes_of_their_kind() -> None:
    for wrong in (np.zeros((1, 3)), Lasso([(0, 0, 0)]), None):
        with pytest.raises(ValueError, match=r"scribbles hold .*, expected a Scribble, as in \(Scribble\(points\),\)"):
            Prompts(scribbles=(wrong,))  # type: ignore[arg-type]
    one = Scribble([(1, 1, 1)])
    for given_ in (one, [one], iter([one])):
        assert Prompts(scribbles=given_).scribbles == (one,)  # type: ignore[arg-type]


@pytest.mark.parametrize("flags", [["False"], [np.nan], [2]])
def test_flags_are_true_or_false(flags: Any) -> None:
    with pytest.raises(ValueError, match="clicked has other values than true and false; give one flag per point"):
        points([(1, 1, 1)], clicked=flags)


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


def test_afresh_is_a_switch() -> None:
    (row,) = played(Scripted((Turn(points([(1, 3, 4)]), (Click(),), "no"),)))  # type: ignore[arg-type]
    assert row["error"] == "scripted.interact gave a Turn whose afresh is str, expected true or false"
    (row,) = played(Scripted((Turn(points([(1, 3, 4)]), (Click(),), np.True_),)))  # type: ignore[arg-type]
    assert row["status"] == "ok"


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
    "it is valid on the slices 3, expected whole numbers": Answer(Mask.empty(), Region(slices=3)),  # type: ignore[arg-type]
    "it is valid on the slices {1}, expected whole numbers": Answer(Mask.empty(), Region(slices={1})),  # type: ignore[arg-type]
    "it is valid in the box (0, 0, 0, 1, 1), expected": Answer(Mask.empty(), Region(box=(0, 0, 0, 1, 1))),  # type: ignore[arg-type]
    "it is valid in the box (0, 0, 0, 5, 1, 1), expected": Answer(Mask.empty(), Region(box=(0, 0, 0, 5, 1, 1))),
    "it is valid in the box (2, 0, 0, 1, 1, 1), expected": Answer(Mask.empty(), Region(box=(2, 0, 0, 1, 1, 1))),
    "it is valid on slices and in a box; give one of them": Answer(Mask.empty(), Region((1,), (0, 0, 0, 1, 1, 1))),
    "its reach is the box 2, 0, 0, 1, 8, 9, whose end lies before": Answer(Mask.empty(), reach=(2, 0, 0, 1, 8, 9)),
}


@pytest.mark.parametrize("sentence", WRONG_ANSWERS)
def test_wrong_answers_are_an_error_of_the_model(sentence: str) -> None:
    (row,) = played(Scripted((GOOD,)), WRONG_ANSWERS[sentence])
    assert (row["status"], row["dice"]) == ("error", 0.0)
    assert row["error"].startswith(f"model: {sentence}")


class Own(np.ndarray):
    """An array that says that it is empty."""

    def any(self, *args: Any, **kwargs: Any) -> Any:
        return np.False_


def test_masks_of_any_library_are_taken() -> None:
    flipped = np.ascontiguousarray(TRUTH[::-1, ::-1])[::-1, ::-1]
    same = Mask.of(TRUTH)
    for given_ in (torch.from_numpy(TRUTH), torch.from_numpy(TRUTH).float(), TRUTH.tolist(), TRUTH.astype(">i4")):
        assert np.array_equal(Mask.of(given_).to_array(SHAPE), TRUTH)  # type: ignore[arg-type]
    for array in (np.asfortranarray(TRUTH), flipped, TRUTH.view(Own)):
        (row,) = played(Scripted((GOOD,)), Answer(Mask((0, 0, 0), array)))
        assert (row["status"], row["dice"], row["pred_voxels"]) == ("ok", 1.0, same.voxels)
    for wrong in (TRUTH.astype(complex), TRUTH.astype("U5"), np.zeros(SHAPE, [("a", "f4")])):
        with pytest.raises(ValueError, match="a mask is true or false, but the array holds other"):
            Mask.of(wrong)


def test_where_a_mask_starts_is_never_rounded_nor_overflows() -> None:
    for start in ((0.5, 0, 0), (np.nan, 0, 0), (0, 0)):
        with pytest.raises(ValueError, match="a mask starts at three whole numbers"):
            Mask.of(BLOCK, start)
    tall = np.zeros((300, 2, 2), bool)
    tall[255:, 0, 0] = True
    session = Session("key", make_target(tall), Scripted((Turn(points([(256, 0, 0)]), (Click(),)),)), ALL, OVERLAP)
    small = (np.uint8(255), np.uint8(0), np.uint8(0))
    play([session], Stub(lambda request: Answer(Mask(small, tall[255:]), Region(slices=tuple(range(300))))))  # type: ignore[arg-type]
    assert (session.rows[0]["status"], session.rows[0]["dice"]) == ("ok", 1.0)


@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")
def test_a_model_may_go_on_with_its_array() -> None:
    array = TRUTH.copy()
    session = Session("key", make_target(TRUTH), Scripted((GOOD, GOOD)), ALL, OVERLAP, rounds=1, keep_masks=True)

    def answer(request: Request) -> Answer:
        array[...] = len(request.turns) == 1
        if request.mask.array.size:
            np.asarray(torch.from_numpy(request.mask.array))[...] = False  # nor is the mask so far anything but a copy
        return Answer(Mask((0, 0, 0), array))

    play([session], Stub(answer))
    assert [mask.array.sum() for mask in session.masks] == [TRUTH.size, 0]
    assert [row["pred_voxels"] for row in session.rows] == [TRUTH.size, 0]


@pytest.mark.parametrize("note", ["\ud800", "a,b", "a\nb", ""])
def test_notes_are_words(note: str) -> None:
    (row,) = played(Scripted((GOOD,)), Answer(Mask.of(TRUTH), notes=("assumed CT", note)))
    said = f"Stub.segment returned an Answer with the note {note!a}, expected words without a comma"
    assert (row["status"], row["error"]) == ("error", said)


def test_what_is_not_utf8_is_written_as_python_writes_it() -> None:
    (row,) = played(Scripted((GOOD,)), Failure("error", "\ud800 went\nwrong"))
    assert (row["status"], row["error"]) == ("error", r"\ud800 went wrong")
    assert in_words(ValueError("\ud800")) == r"ValueError: \ud800"


def test_a_model_does_not_reorder_its_requests() -> None:
    class Emptying(Predictor):
        def segment(self, requests: Sequence[Request]) -> list[Answer | Failure]:
            requests.clear()  # type: ignore[attr-defined]
            return []

    session = Session("key", make_target(TRUTH), Scripted((GOOD,)), ALL, OVERLAP)
    play([session], Emptying())
    assert session.rows[0]["error"].startswith("AttributeError: 'tuple' object has no attribute 'clear'")


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
