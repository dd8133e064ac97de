"""What all models with an image encoder and a mask decoder promise: few calls, no slice encoded twice, clear errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from intrabench.models.base import Answer, Failure, Request
from intrabench.models.parts import embedding_cache
from intrabench.prompts import boxes, points
from intrabench.registry.registry import make
from intrabench.turns import Click, DrawBox2D, Turn
from intrabench.volume import Volume
from tests.models.stub import SIDE, Stub, answers, item, request, stub

DEPTH = 45
TARGETS = 6
SLICES = range(2, 42)


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without torch."""
    global torch
    import torch


@pytest.fixture(scope="module")
def volume() -> Volume:
    return Volume.from_canonical(np.random.default_rng(0).integers(0, 256, (DEPTH, 24, 30)).astype(np.int16))


def boxed(target: int, slices: Any = SLICES) -> Request:
    """A box on each slice, one that only this target has."""
    return request(f"box {target}", boxes(dict.fromkeys(slices, (target, 2, 20, 9 + target))))


def clicked(target: int, slices: Any = SLICES) -> Request:
    return request(f"point {target}", points([(z, target, 5) for z in slices]))


def same(one: Answer, other: Answer) -> bool:
    """Whether mask and logits are the same to the last bit."""
    logits = one.memory.keys() == other.memory.keys() and all(
        np.array_equal(one.memory[z], other.memory[z]) for z in one.memory
    )
    return logits and one.update.box == other.update.box and np.array_equal(one.update.array, other.update.array)


def test_many_slices_of_many_targets_need_few_calls(volume: Volume) -> None:
    model = stub()
    with model.open(volume) as opened:
        answers(opened, [boxed(target) for target in range(TARGETS)])
    sizes = [call["n"] for call in model.asked]
    assert sizes == [16, 16, 8] * TARGETS  # those of each target by themselves
    assert len(sizes) * 5 <= sum(sizes) == TARGETS * len(SLICES)


def test_answers_are_the_same_in_any_company(volume: Volume) -> None:
    asked = [ask(target) for target in range(TARGETS) for ask in (boxed, clicked)]
    with stub().open(volume) as opened:
        together = answers(opened, asked)
    with stub().open(volume) as opened:
        backwards = answers(opened, asked[::-1])[::-1]
        alone = [answers(opened, [one])[0] for one in asked]
    for one, two, three in zip(together, backwards, alone, strict=True):
        assert same(one, two)
        assert same(one, three)
    assert not same(together[0], together[2])


@pytest.mark.parametrize("batch", ["auto", "7"])
def test_batches_of_other_sizes_hold_several_targets(volume: Volume, batch: str) -> None:
    asked = [boxed(target, range(3)) for target in range(TARGETS)]
    with stub().open(volume) as opened:
        expected = answers(opened, asked)
    model = stub(batch)
    with model.open(volume) as opened:
        found = answers(opened, asked)
    assert [call["n"] for call in model.asked] == ([18] if batch == "auto" else [7] * 3)
    assert all(same(one, two) for one, two in zip(expected, found, strict=True))


def test_every_slice_is_encoded_once_whatever_is_asked(
    volume: Volume, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding_cache, "FILE_S", 0.0)  # this model is too fast to be worth it
    model = stub(embeddings=tmp_path)
    with model.open(volume) as opened:
        for ask in (boxed, clicked):
            first = [ask(target, range(0, 10)) for target in range(TARGETS)]
            rounds = answers(opened, first)
            more = Turn(points([(z, 3, 3) for z in range(5, 15)], label=0))
            again = [
                Request(one.session, (*one.turns, more), memory=answer.memory)
                for one, answer in zip(first, rounds, strict=True)
            ]
            answers(opened, again)
            answers(opened, [Request(one.session, one.turns) for one in again])  # with their memory lost
            answers(opened, [Request(one.session, (*one.turns, Turn(more.prompts, afresh=True))) for one in first])
        assert opened.store.encoded == 15  # type: ignore[attr-defined]
    assert model.encoded == [1] * 15
    restarted = stub(embeddings=tmp_path)
    with restarted.open(volume) as opened:
        answers(opened, [boxed(0, range(20))])
    assert restarted.encoded == [1] * 5
    other = stub(embeddings=tmp_path, intensity="slice")
    with other.open(volume) as opened:
        answers(opened, [boxed(0, range(20))])
    assert len(other.encoded) == 20  # other steps, other embeddings


def test_prompts_reach_the_network_as_x_y_in_its_square() -> None:
    model = stub()
    model.decode([item([(3, 10, 1), (11, 0, 0)], (2, 5, 8, 9), shape=(12, 24))])
    (call,) = model.asked
    coordinates, labels = call["points"]
    assert coordinates.tolist() == [[[pytest.approx(10 * 32 / 24), 4], [0, pytest.approx(11 * 32 / 24)]]]
    assert coordinates.dtype == torch.float32
    assert labels.tolist() == [[1, 0]]
    np.testing.assert_allclose(call["boxes"], np.array([[5, 2, 9, 8]]) * 32 / 24)
    squashed = stub(resize="squash")
    squashed.decode([item([(3, 10, 1)], shape=(12, 24))])
    np.testing.assert_allclose(squashed.asked[0]["points"][0], [[[10 * 32 / 24, 3 * 32 / 12]]])
    assert squashed.asked[0]["boxes"] is None


def test_every_round_feeds_the_last_answer_of_a_slice_back(volume: Volume) -> None:
    model = stub()
    turns = boxes({1: (0, 0, 4, 4), 2: (0, 0, 4, 4)}), points([(1, 5, 5)])
    with model.open(volume) as opened:
        (first,) = answers(opened, [request("a", turns[0])])
        (second,) = answers(opened, [request("a", *turns, memory=first.memory)])
    assert [call["masks"] is None for call in model.asked] == [True, False]
    assert np.array_equal(model.asked[1]["masks"][0, 0], first.memory[1].astype(np.float32))
    assert second.valid.slices == (1,)
    assert np.array_equal(second.memory[2], first.memory[2])


def test_radioactive_answers_for_all_prompted_slices_each_round(volume: Volume) -> None:
    model = stub(policy="radioactive")
    turns = (
        Turn(boxes({1: (0, 0, 4, 4), 2: (0, 0, 4, 4)}), (DrawBox2D(),)),
        Turn(points([(1, 5, 5)]), (Click(),)),
    )
    with model.open(volume) as opened:
        (first,) = answers(opened, [request("a", turns[0])])
        (second,) = answers(opened, [request("a", *turns, memory=first.memory)])
    assert second.valid.slices == (1, 2)
    assert [call["n"] for call in model.asked] == [2, 1, 1]  # a point and a box, a box alone
    assert all(0 <= logits.min() <= logits.max() <= 1 for logits in second.memory.values())


class Broken(Stub):
    """Its network answers with infinite values where there is a box."""

    def decoded(self, embeddings: Any, points: Any, boxes: Any, masks: Any, multimask: bool) -> Any:
        low, iou = super().decoded(embeddings, points, boxes, masks, multimask)
        return (low if boxes is None else low / 0), iou


def test_infinite_answers_fail_alone(volume: Volume) -> None:
    with Broken().open(volume) as opened:
        failure, answer = opened.segment([boxed(0), clicked(1)])
    assert isinstance(answer, Answer)
    assert isinstance(failure, Failure)
    assert failure.status == "error"
    told = "FloatingPointError: stub answered with NaN or infinite values; try --dtype float32"
    assert failure.message == told


def test_masks_have_the_shape_of_the_slice(volume: Volume) -> None:
    with stub().open(volume) as opened:
        (answer,) = answers(opened, [boxed(3, [7])])
    assert answer.update.box == (7, 0, 0, 8, 24, 30)  # all logits are positive


def test_colours_reach_the_network_as_they_are() -> None:
    colours = np.random.default_rng(0).integers(0, 256, (1, SIDE, SIDE, 3)).astype(np.uint8)
    prepared = stub().prepare(stub().slice_images(Volume.from_canonical(colours))(0))
    expected = (colours[0] - [123.675, 116.28, 103.53]) / [58.395, 57.12, 57.375]
    np.testing.assert_allclose(prepared, np.moveaxis(expected, -1, 0), atol=1e-5)


def test_a_cpu_never_encodes_several_slices_at_once() -> None:
    model = make("models", "sam")
    assert (model.auto_batch(encoding=True), model.auto_batch(encoding=False)) == (1, 32)
