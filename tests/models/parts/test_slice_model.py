"""A small slice model in numpy shows what the base promises: one encoding per slice, order, isolation, memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.mask import Region, box_slices
from intrabench.models.base import Answer, Failure, Request, Runtime
from intrabench.models.parts import embedding_cache
from intrabench.models.parts.slice_model import SliceItem, SliceModel, SliceResult, _by_box
from intrabench.prompts import Prompts, boxes, points
from intrabench.turns import Turn
from intrabench.volume import Volume

BRIGHT = 100


@dataclass(eq=False)
class Threshold(SliceModel):
    """Bright voxels in the box or in the rows of positive points; logits count how often a slice was answered.

    A point with the label 0 makes the network break; the previous logits widen the mask by one column each time.
    """

    name = "threshold"
    accepts = frozenset({"point", "box2d"})
    feeds_back = True
    encode_batch = 2
    decode_batch = 3

    encoded: list[int] = field(default_factory=list)
    decoded: list[int] = field(default_factory=list)

    def slice_images(self, volume: Volume) -> Callable[[int], np.ndarray[Any, Any]]:
        return lambda z: volume.array[z]

    def encode(self, images: Sequence[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
        self.encoded.append(len(images))
        if any((image == -1).any() for image in images):
            raise RuntimeError("broken slice")
        return [image.astype(np.float32) for image in images]

    def decode(self, items: Sequence[SliceItem]) -> list[SliceResult]:
        self.decoded.append(len(items))
        return [self._one(item) for item in items]

    def _one(self, item: SliceItem) -> SliceResult:
        if (item.points[:, 2] == 0).any():
            raise MemoryError("too many")
        where = np.zeros(item.shape, dtype=bool)
        if item.box is not None:
            y0, x0, y1, x1 = item.box
            where[y0:y1, x0:x1] = True
        where[item.points[:, 0]] = True
        times = 0 if item.previous is None else int(item.previous[0, 0])
        mask = where & (item.embedding >= BRIGHT)
        mask[0, :times] = True
        scores = item.embedding if item.scores else None
        return SliceResult(mask, np.full((2, 2), times + 1, dtype=np.float32), scores)


def model(batch: str = "fixed", **others: Any) -> Threshold:
    made = Threshold()
    made.runtime = Runtime(batch=batch, **others)
    return made


def request(name: str, *turns: Prompts, **others: Any) -> Request:
    return Request(name, tuple(Turn(prompts) for prompts in turns), **others)


@pytest.fixture
def volume() -> Volume:
    """Six slices of 8 x 10 voxels; those of slice 4 are broken."""
    array = np.random.default_rng(0).integers(0, 200, (6, 8, 10)).astype(np.int16)
    array[4] = -1
    return Volume.from_canonical(array)


def answers(opened: Any, requests: Sequence[Request]) -> list[Answer]:
    given = opened.segment(requests)
    assert all(isinstance(answer, Answer) for answer in given), given
    return given  # type: ignore[return-value]


def encodings(opened: Any) -> int:
    count: int = opened.store.encoded
    return count


def test_masks_come_from_the_boxes_of_the_slices(volume: Volume) -> None:
    with model().open(volume) as opened:
        (answer,) = answers(opened, [request("a", boxes({1: (2, 3, 6, 9), 3: (0, 0, 4, 4)}))])
    expected = np.zeros(volume.shape, dtype=bool)
    expected[1, 2:6, 3:9] = volume.array[1, 2:6, 3:9] >= BRIGHT
    expected[3, :4, :4] = volume.array[3, :4, :4] >= BRIGHT
    assert np.array_equal(answer.update.to_array(volume.shape), expected)
    assert answer.valid == Region(slices=(1, 3))
    z, y, x = (np.flatnonzero(expected.any(axis=axes)) for axes in ((1, 2), (0, 2), (0, 1)))
    assert answer.update.box == (z[0], y[0], x[0], z[-1] + 1, y[-1] + 1, x[-1] + 1)


def test_every_slice_is_encoded_once_in_padded_batches(volume: Volume) -> None:
    made = model()
    with made.open(volume) as opened:
        first = answers(opened, [request(str(z), boxes({z: (0, 0, 8, 10), 5: (1, 1, 3, 3)})) for z in (0, 1)])
        answers(opened, [request("c", boxes({0: (0, 0, 2, 2), 5: (0, 0, 2, 2)}))])
        assert encodings(opened) == 3
    assert made.encoded == [2, 2]
    assert made.decoded == [2, 2, 2]  # those of each request by themselves
    assert [answer.batch for answer in first] == [2, 2]
    assert all(answer.encode_seconds > 0 and answer.seconds > 0 for answer in first)


@pytest.mark.parametrize(
    ("batch", "encoded", "decoded"), [("auto", [5], [5]), ("1", [1] * 5, [1] * 5), ("4", [4, 1], [4, 4])]
)
def test_the_runtime_sets_the_batches(volume: Volume, batch: str, encoded: list[int], decoded: list[int]) -> None:
    made = model(batch)
    with made.open(volume) as opened:
        answers(opened, [request("a", boxes(dict.fromkeys((0, 1, 2, 3, 5), (0, 0, 8, 10))))])
    assert (made.encoded, made.decoded) == (encoded, decoded)


def test_a_gpu_decodes_all_sessions_of_a_wave_in_few_calls() -> None:
    """678 slices with a box of 30 sessions, two clicks on a slice of each of 5: 688 are decoded for 683."""
    deep = Volume.from_canonical(np.random.default_rng(0).integers(0, 200, (23, 8, 10)).astype(np.int16))
    depths = [23] * 18 + [22] * 12
    boxed = [request(f"box {n}", boxes(dict.fromkeys(range(z), (0, n % 4, 8, 10)))) for n, z in enumerate(depths)]
    clicked = [request(f"points {n}", points([(n, 1, 1), (n, 2, 3)])) for n in range(5)]
    made = model(device="cuda")
    with made.open(deep) as opened:
        together = answers(opened, [*boxed, *clicked])
        assert sorted(made.decoded) == [*[8] * 26, *[16] * 30]  # 18 times 16 and 7, 12 times 16 and 6, and the clicks
        alone = [answers(opened, [one])[0] for one in (*clicked[::-1], *boxed[::-1])][::-1]
    assert made.decoded[56:] == [8] * 5 + [16, 8] * 30  # an answer has batches of the same size in any company
    for one, two in zip(together, alone, strict=True):
        assert np.array_equal(one.update.to_array(deep.shape), two.update.to_array(deep.shape))


def test_order_and_company_change_nothing(volume: Volume) -> None:
    asked = [request(str(z), boxes({z: (1, 1, 7, 8), (z + 1) % 4: (0, 2, 5, 9)})) for z in range(4)]
    with model().open(volume) as opened:
        together = answers(opened, asked)
        backwards = answers(opened, asked[::-1])[::-1]
        alone = [answers(opened, [one])[0] for one in asked]
    for one, two, three in zip(together, backwards, alone, strict=True):
        assert one.update.start == two.update.start == three.update.start
        assert np.array_equal(one.update.array, two.update.array)
        assert np.array_equal(one.update.array, three.update.array)


def test_a_box_that_rounding_closed_is_one_pixel(volume: Volume) -> None:
    with model().open(volume) as opened:
        closed, open_ = answers(
            opened, [request("a", boxes({2: (3, 4, 3, 4)})), request("b", boxes({2: (3, 4, 4, 5)}))]
        )
    assert closed.update.box == open_.update.box == (2, 3, 4, 3, 4, 5)


@pytest.mark.parametrize(
    ("bad", "status"),
    [
        (boxes({6: (0, 0, 2, 2)}), "error"),
        (boxes({2: (0, 10, 2, 12)}), "error"),
        (points([(2, 8, 0)]), "error"),
        (boxes({4: (0, 0, 2, 2)}), "error"),
        (points([(2, 1, 1)], label=0), "oom"),
        (Prompts(box3d=np.array([0, 0, 0, 2, 2, 2])), "error"),
    ],
)
def test_a_bad_request_fails_alone(volume: Volume, bad: Prompts, status: str, wording: SnapshotAssertion) -> None:
    good = [request(str(z), boxes({z: (0, 0, 8, 10), 2: (0, 0, 8, 10)})) for z in (1, 3)]
    with model().open(volume) as opened:
        expected = answers(opened, good)
    with model().open(volume) as opened:
        first, failed, last = opened.segment([good[0], request("bad", bad), good[1]])
    assert isinstance(failed, Failure)
    assert failed.status == status
    assert failed.message == wording
    for answer, right in zip((first, last), expected, strict=True):
        assert isinstance(answer, Answer)
        assert np.array_equal(answer.update.array, right.update.array)


def test_boxes_are_clipped_and_the_last_one_counts(volume: Volume) -> None:
    with model().open(volume) as opened:
        (clipped,) = answers(opened, [request("a", boxes({1: (-3, -3, 4, 20)}))])
        asked = request("b", boxes({1: (0, 0, 8, 10)}), boxes({1: (0, 0, 4, 10)}), memory={})
        (later,) = answers(opened, [asked])
    expected = np.zeros(volume.shape, dtype=bool)
    expected[1, :4] = volume.array[1, :4] >= BRIGHT
    assert np.array_equal(clipped.update.to_array(volume.shape), expected)
    assert np.array_equal(later.update.to_array(volume.shape), expected)


def test_boxes_given_at_once_on_a_slice_are_parts_whose_answers_are_joined(volume: Volume) -> None:
    def two(left: int, right: int) -> Prompts:
        return Prompts(boxes2d=np.array([(1, 2, 0, 6, left), (1, 2, right, 6, 10), (2, 0, 0, 4, 4)]))

    with model().open(volume) as opened:
        (first,) = answers(opened, [request("a", two(3, 7), scores=True)])
        (alone,) = answers(opened, [request("b", boxes({1: (2, 0, 6, 3), 2: (0, 0, 4, 4)}))])
        (later,) = answers(opened, [request("c", two(9, 9), two(3, 7), memory={})])
        (clicked,) = answers(opened, [request("d", two(3, 7), points([(1, 7, 8)]), memory={})])
    expected = np.zeros(volume.shape, dtype=bool)
    expected[1, 2:6, :3] = expected[1, 2:6, 7:] = expected[2, :4, :4] = True
    expected &= volume.array >= BRIGHT
    for answer in (first, later):
        assert np.array_equal(answer.update.to_array(volume.shape), expected)
        assert answer.valid == Region(slices=(1, 2))
    assert first.scores is not None
    array = first.update.array
    assert (first.scores[array] == volume.array[box_slices(first.update.box)][array]).all()
    assert alone.update.voxels < first.update.voxels
    assert set(first.memory) == {1, 2}
    expected[2] = False
    expected[1, 7] = volume.array[1, 7] >= BRIGHT
    assert np.array_equal(clicked.update.to_array(volume.shape), expected)


def test_a_positive_point_goes_with_the_nearest_of_several_boxes_and_a_negative_one_with_all() -> None:
    points = np.array([(1, 1, 1), (0, 8, 1), (5, 4, 0), (2, 6, 1)])
    (left, near_left), (right, near_right) = _by_box(points, [(0, 0, 4, 4), (0, 7, 4, 9)])
    assert (left, right) == ((0, 0, 4, 4), (0, 7, 4, 9))
    assert near_left.tolist() == [[1, 1, 1], [5, 4, 0]]
    assert near_right.tolist() == [[0, 8, 1], [5, 4, 0], [2, 6, 1]]


def test_only_new_slices_are_answered_with_all_their_prompts(volume: Volume) -> None:
    turns = (boxes({1: (0, 0, 2, 10), 2: (0, 0, 2, 10)}), points([(1, 5, 0)]))
    with model().open(volume) as opened:
        (answer,) = answers(opened, [request("a", *turns, memory={})])
        (nothing,) = answers(opened, [request("a", turns[0], Prompts(), memory={})])
    expected = np.zeros(volume.shape, dtype=bool)
    expected[1, [0, 1, 5]] = volume.array[1, [0, 1, 5]] >= BRIGHT
    assert answer.valid == Region(slices=(1,))
    assert np.array_equal(answer.update.to_array(volume.shape), expected)
    assert (nothing.valid, nothing.update.any()) == (Region(slices=()), False)


def test_memory_holds_each_slices_logits_and_is_replayed_when_lost(volume: Volume) -> None:
    turns = [boxes({1: (1, 0, 8, 10), 2: (1, 0, 8, 10)}), boxes({1: (2, 0, 8, 10)}), boxes({1: (3, 0, 8, 10)})]
    with model().open(volume) as opened:
        memory, kept = None, []
        for count in (1, 2, 3):
            (answer,) = answers(opened, [request("a", *turns[:count], memory=memory)])
            memory = answer.memory
            kept.append({z: float(logits[0, 0]) for z, logits in answer.memory.items()})
        (replayed,) = answers(opened, [request("a", *turns)])
    assert kept == [{1: 1, 2: 1}, {1: 2, 2: 1}, {1: 3, 2: 1}]  # earlier memories stay as they were
    assert all(logits.dtype == np.float16 for logits in answer.memory.values())
    assert answer.update.to_array(volume.shape)[1, 0].sum() == 2  # two feedbacks widened the first row twice
    assert np.array_equal(replayed.update.array, answer.update.array)
    assert {z: logits.tolist() for z, logits in replayed.memory.items()} == {
        z: logits.tolist() for z, logits in answer.memory.items()
    }


def test_embeddings_without_memory_are_still_encoded_once(volume: Volume) -> None:
    asked = [request(str(z), boxes({z: (1, 1, 7, 8), 5: (0, 2, 5, 9)})) for z in range(4)]
    with model().open(volume) as opened:
        expected = answers(opened, asked)
    made = model(memory_mb=0)
    with made.open(volume) as opened:
        for _ in range(2):
            for answer, right in zip(answers(opened, asked), expected, strict=True):
                assert np.array_equal(answer.update.array, right.update.array)
        assert encodings(opened) == 5
    assert sum(made.encoded) == 6  # one of them is padding


def test_kept_embeddings_serve_the_next_open_of_the_same_image(
    volume: Volume, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding_cache, "FILE_S", 0.0)  # this model is too fast to be worth it
    asked = [request("a", boxes({0: (1, 1, 7, 8), 5: (0, 2, 5, 9)}))]
    other = Volume.from_canonical(volume.array + 1)
    counts = []
    for image in (volume, volume, other):
        with model(embeddings=tmp_path).open(image) as opened:
            answers(opened, asked)
            counts.append(encodings(opened))
    assert counts == [2, 0, 2]


ODD: list[tuple[str, Callable[..., Any], str]] = [
    ("encode", lambda images: [], "encode returned list of 0 for 2 slices, expected one for each"),
    ("encode", lambda images: iter(images), "encode returned list_iterator for 2 slices, expected one for each"),
    ("decode", lambda items: [], "decode returned list of 0 for 1 slices, expected one for each"),
    (
        "decode",
        lambda items: [np.ones(item.shape, bool) for item in items],
        "decode returned ndarray for a slice, expected a SliceResult",
    ),
    (
        "decode",
        lambda items: [SliceResult([True]) for _ in items],  # type: ignore[arg-type]
        "decode returned list as the mask of a slice, expected an array",
    ),
    (
        "decode",
        lambda items: [SliceResult(np.ones((2, 3), bool)) for _ in items],
        "decode returned a mask of shape (2, 3) for a slice of (8, 9)",
    ),
]


@pytest.mark.parametrize(("method", "given", "sentence"), ODD, ids=[words[2] for words in ODD])
def test_what_is_not_one_result_for_each_slice_fails_in_words(
    monkeypatch: pytest.MonkeyPatch, method: str, given: Callable[..., Any], sentence: str
) -> None:
    model = Threshold()
    monkeypatch.setattr(model, method, given)
    with model.open(Volume.from_canonical(np.zeros((4, 8, 9), np.float32))) as image:
        (answer,) = image.segment([Request("one", (Turn(points([(1, 2, 3)])),))])
    assert isinstance(answer, Failure)
    assert (answer.status, answer.message) == ("error", f"threshold.{sentence}")


def test_what_a_model_assumes_about_the_scan_is_in_every_answer(volume: Volume) -> None:
    made = model()
    made.notes = lambda seen: ("assumed CT",) if seen is volume else ()  # type: ignore[method-assign]
    with made.open(volume) as opened:
        assert answers(opened, [request("a", boxes({0: (0, 0, 4, 4)}))])[0].notes == ("assumed CT",)
    with model().open(volume) as opened:
        assert answers(opened, [request("a", boxes({0: (0, 0, 4, 4)}))])[0].notes == ()


@pytest.mark.parametrize("batch", ["fixed", "auto", "8"])
def test_slices_with_gaps_between_them_and_those_of_several_requests_keep_to_themselves(
    volume: Volume, batch: str
) -> None:
    wanted: list[dict[int, tuple[int, int, int, int]]] = [
        {0: (0, 0, 8, 10), 1: (2, 2, 6, 6), 3: (1, 1, 7, 9)},
        {1: (0, 0, 3, 3), 2: (4, 4, 8, 8)},
        {5: (0, 0, 8, 5)},
    ]
    with model(batch).open(volume) as opened:
        found = answers(opened, [request(str(number), boxes(given)) for number, given in enumerate(wanted)])
    for answer, given in zip(found, wanted, strict=True):
        expected = np.zeros(volume.shape, dtype=bool)
        for z, (y0, x0, y1, x1) in given.items():
            expected[z, y0:y1, x0:x1] = volume.array[z, y0:y1, x0:x1] >= BRIGHT
        assert np.array_equal(answer.update.to_array(volume.shape), expected)


def test_a_mask_that_hides_pixels_fails_its_request_alone(volume: Volume, wording: SnapshotAssertion) -> None:
    class Hiding(Threshold):
        def _one(self, item: SliceItem) -> SliceResult:
            found = super()._one(item)
            hides = item.box is not None and item.box[0] == 1
            return SliceResult(np.ma.array(found.mask, mask=found.mask)) if hides else found  # type: ignore[no-untyped-call]

    hiding = Hiding()
    hiding.runtime = Runtime(batch="auto")
    with hiding.open(volume) as opened:
        bad, good = opened.segment(
            [request("a", boxes({0: (0, 0, 8, 10), 1: (1, 1, 7, 9)})), request("b", boxes({2: (0, 0, 8, 10)}))]
        )
    assert isinstance(bad, Failure)
    assert bad.message == wording
    assert isinstance(good, Answer)


def test_scores_of_slices_lie_in_the_box_of_the_mask() -> None:
    array = np.random.default_rng(0).integers(0, 2 * BRIGHT, (6, 8, 9)).astype(np.int16)
    prompts = boxes({1: (1, 1, 7, 8), 2: (2, 2, 6, 6), 4: (0, 3, 8, 9)})
    made = model()
    with made.open(Volume.from_canonical(array)) as image:
        plain_one, scored = answers(image, [request("a", prompts), replace(request("b", prompts), scores=True)])
    assert plain_one.scores is None
    assert np.array_equal(plain_one.update.array, scored.update.array)
    assert scored.scores.shape == scored.update.array.shape
    expected = array[box_slices(scored.update.box)]
    assert np.array_equal(scored.scores[scored.update.array], expected[scored.update.array])
    assert np.isneginf(scored.scores[3 - scored.update.start[0]]).all()  # no answer there
