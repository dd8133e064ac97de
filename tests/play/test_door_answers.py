"""What a model must not give is an error of its own, whatever it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import in_words
from intrabench.mask import Mask, Region
from intrabench.models.base import Answer, Failure, Predictor, Request
from intrabench.play.lockstep import play
from intrabench.play.session import Session
from intrabench.prompts import points
from intrabench.turns import Click, Turn
from tests.conftest import make_target
from tests.play.at_the_door import BLOCK, GOOD, SHAPE, TRUTH, VOLUME, played
from tests.play.test_session import ALL, OVERLAP, Scripted, Stub

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


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without torch."""
    global torch
    import torch


@pytest.mark.parametrize("sentence", WRONG_ANSWERS)
def test_wrong_answers_are_an_error_of_the_model(sentence: str) -> None:
    (row,) = played(Scripted((GOOD,)), WRONG_ANSWERS[sentence])
    assert (row["status"], row["dice"]) == ("error", 0.0)
    assert row["error"].startswith(f"model: {sentence}")


class Own(np.ndarray):
    """An array that says that it is empty."""

    def any(self, *args: Any, **kwargs: Any) -> Any:
        return np.False_


def test_masks_of_any_library_are_taken(wording: SnapshotAssertion) -> None:
    flipped = np.ascontiguousarray(TRUTH[::-1, ::-1])[::-1, ::-1]
    same = Mask.of(TRUTH)
    for given_ in (torch.from_numpy(TRUTH), torch.from_numpy(TRUTH).float(), TRUTH.tolist(), TRUTH.astype(">i4")):
        assert np.array_equal(Mask.of(given_).to_array(SHAPE), TRUTH)  # type: ignore[arg-type]
    for array in (np.asfortranarray(TRUTH), flipped, TRUTH.view(Own)):
        (row,) = played(Scripted((GOOD,)), Answer(Mask((0, 0, 0), array)))
        assert (row["status"], row["dice"], row["pred_voxels"]) == ("ok", 1.0, same.voxels)
    for wrong in (TRUTH.astype(complex), TRUTH.astype("U5"), np.zeros(SHAPE, [("a", "f4")])):
        with pytest.raises(ValueError) as caught:
            Mask.of(wrong)
        assert caught == wording


def test_where_a_mask_starts_is_never_rounded_nor_overflows(wording: SnapshotAssertion) -> None:
    for start in ((0.5, 0, 0), (np.nan, 0, 0), (0, 0)):
        with pytest.raises(ValueError) as caught:
            Mask.of(BLOCK, start)
        assert caught == wording
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


def test_a_model_does_not_reorder_its_requests(wording: SnapshotAssertion) -> None:
    class Emptying(Predictor):
        def segment(self, requests: Sequence[Request]) -> list[Answer | Failure]:
            requests.clear()  # type: ignore[attr-defined]
            return []

    session = Session("key", make_target(TRUTH), Scripted((GOOD,)), ALL, OVERLAP)
    play([session], Emptying())
    assert session.rows[0]["error"] == wording


@pytest.mark.parametrize("value", [0.7, np.nan, -2.0])
def test_probabilities_are_no_mask(value: float, wording: SnapshotAssertion) -> None:
    with pytest.raises(ValueError) as caught:
        Mask.of(np.full((1, 1, 1), value))
    assert caught == wording
    assert Mask.of(np.ones((1, 1, 1))).voxels == 1


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
def test_failures_with_absurd_numbers_are_an_error_of_the_model(number: Any, wording: SnapshotAssertion) -> None:
    (row,) = played(Scripted((GOOD,)), Failure("error", "no", number))
    assert (row["status"], row["segment_s"]) == ("error", 0.0)
    assert f"are {repr(number)[:60]}" in row["error"]
    assert row["error"] == wording


@pytest.mark.parametrize("status", ["ok", "empty", "", None, 3, ["error"], "OOM"])
def test_failures_of_an_unknown_status_are_an_error_of_the_model(status: Any, wording: SnapshotAssertion) -> None:
    (row,) = played(Scripted((GOOD,)), Failure(status, "no"))
    assert (row["status"], row["dice"]) == ("error", 0.0)
    assert row["error"] == wording


@pytest.mark.parametrize("message", ["", None, 3])
def test_failures_without_a_sentence_are_an_error_of_the_model(message: Any, wording: SnapshotAssertion) -> None:
    (row,) = played(Scripted((GOOD,)), Failure("oom", message))
    assert (row["status"], row["dice"]) == ("error", 0.0)
    assert row["error"] == wording


def test_numbers_of_numpy_are_numbers() -> None:
    (row,) = played(Scripted((GOOD,)), Answer(Mask.of(TRUTH), seconds=np.float32(0.5), batch=np.int64(2)))  # type: ignore[arg-type]
    assert (row["status"], row["segment_s"], row["batch"]) == ("ok", 0.5, 2)
