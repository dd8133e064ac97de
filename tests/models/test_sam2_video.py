"""SAM 2 through volumes by its wrapper: what of a session reaches the network, and what is made of its answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.models.base import Answer, Failure, Region, Request
from intrabench.models.sam2_video import SAM2Video
from intrabench.prompts import Prompts, boxes, points
from intrabench.turns import Turn
from intrabench.volume import Volume
from tests.models.stub import answers, request


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without torch."""
    global torch, networks, Outcome, Past, SlicePrompt
    import torch

    from intrabench.models.networks import sam2_video as networks
    from intrabench.models.networks.sam2_video import Outcome, Past, SlicePrompt


class Recorder:
    """A network whose embedding of a slice is its mean."""

    def __init__(self) -> None:
        self.encoded = 0

    def encode(self, images: torch.Tensor) -> torch.Tensor:
        assert images.shape == (1, 3, 1024, 1024)
        self.encoded += 1
        return images.mean(dim=(1, 2, 3))[:, None]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Mapping[int, SlicePrompt], Any, dict[str, Any]]]:
    """Prompts, past and settings of all rounds, which here answer z + 1 in the upper half and -9 in the lower.

    In the upper half there is a hole of three pixels.
    """
    seen: list[Any] = []

    def play_round(
        network: Any,
        features: Callable[[int], torch.Tensor],
        frames: int,
        prompts: Mapping[int, SlicePrompt],
        past: Any,
        **settings: Any,
    ) -> Past:
        seen.append((prompts, past, settings))
        outcomes = {}
        for z in range(frames):
            assert features(z).shape == (1,)
            logits = torch.full((1, 256, 256), -9.0)
            logits[:, :128] = z + 1
            logits[:, 64, 5:8] = -2
            outcomes[z] = Outcome(logits, *[torch.zeros(0)] * 2, prompted=z in prompts)
        return Past(outcomes, {})

    monkeypatch.setattr(networks, "play_round", play_round)
    return seen


@pytest.fixture
def opened() -> Iterator[Any]:
    """Three slices of 32 x 64 voxels."""
    model = SAM2Video()
    model.network = Recorder()
    array = np.random.default_rng(0).integers(-1000, 1000, (3, 32, 64)).astype(np.int16)
    with model.open(Volume.from_canonical(array)) as image:
        yield image


def test_a_slice_has_its_points_of_all_turns_and_its_last_box(opened: Any, calls: list[Any]) -> None:
    turns = (
        Prompts(points=[(1, 8, 16, 1)], boxes2d=[(1, 0, 0, 30, 30), (0, 4, 8, 12, 24)]),
        points([(1, 2, 63), (1, 31, 0)], label=0),
        boxes({1: (1, 2, 3, 4)}),
    )
    (answer,) = answers(opened, [request("a", *turns)])
    (first, *_), (second, *_), (third, *_) = calls
    assert sorted(first) == [0, 1]
    assert first[0].points.tolist() == [[128, 128], [384, 384]]  # x by 16, y by 32
    assert first[0].labels.tolist() == [2, 3]
    assert sorted(second) == sorted(third) == [1]  # only slices with new prompts
    assert second[1].points.tolist() == [[0, 0], [480, 960], [256, 256], [1008, 64], [0, 992]]
    assert third[1].points.tolist() == [[32, 32], [64, 96], [256, 256], [1008, 64], [0, 992]]
    assert third[1].labels.tolist() == [2, 3, 1, 0, 0]
    assert answer.valid == Region()


def test_the_answer_covers_the_volume_and_every_slice_is_encoded_once(opened: Any, calls: list[Any]) -> None:
    (answer,) = answers(opened, [request("a", points([(2, 5, 5)]))])
    expected = np.zeros((3, 32, 64), dtype=bool)
    expected[:, :16] = True
    assert np.array_equal(answer.update.to_array(expected.shape), expected)
    answers(opened, [request("b", boxes({0: (0, 0, 5, 5)}))])
    assert opened.model.network.encoded == 3


def test_scores_are_the_logits_in_the_box_of_the_mask(opened: Any, calls: list[Any]) -> None:
    asked = replace(request("a", points([(2, 5, 5)])), scores=True)
    (answer,) = answers(opened, [asked])
    assert answer.scores is not None
    assert answer.scores.shape == answer.update.array.shape == (3, 16, 64)
    assert np.allclose(answer.scores[:, :15], np.arange(1, 4)[:, None, None])  # the last row lies between both halves


def test_a_round_begins_with_what_the_last_one_left(opened: Any, calls: list[Any]) -> None:
    turns = points([(0, 5, 5), (2, 5, 5)]), points([(1, 9, 9)], label=0)
    (first,) = answers(opened, [request("a", turns[0])])
    (second,) = answers(opened, [request("a", *turns, memory=first.memory)])
    assert calls[0][1] is None
    assert calls[1][1] is first.memory
    assert calls[1][2] == {"fill_area": 8, "corrections": "conditioning"}
    answers(opened, [request("a", *turns)])
    assert [sorted(prompts) for prompts, *_ in calls] == [[0, 2], [1], [0, 2], [1]]
    assert isinstance(calls[3][1], Past)
    assert isinstance(second.memory, Past)


def test_a_turn_without_prompts_changes_nothing(opened: Any, calls: list[Any]) -> None:
    (first,) = answers(opened, [request("a", points([(0, 5, 5)]))])
    turns = Turn(points([(0, 5, 5)])), Turn(Prompts(), afresh=True)
    (second,) = answers(opened, [Request("a", turns, first.update, memory=first.memory)])
    assert len(calls) == 1
    assert second.memory is first.memory
    assert second.update is first.update


def test_a_first_turn_without_prompts_has_an_empty_answer(opened: Any, calls: list[Any]) -> None:
    (first,) = answers(opened, [request("a", Prompts())])
    assert not first.update.any()
    answers(opened, [request("a", Prompts(), points([(0, 5, 5)]))])
    ((prompts, past, _),) = calls
    assert sorted(prompts) == [0]
    assert past is None


def test_beginning_afresh_forgets_prompts_but_not_the_last_answer(opened: Any, calls: list[Any]) -> None:
    (first,) = answers(opened, [request("a", points([(0, 5, 5), (1, 5, 5)]))])
    turns = Turn(points([(0, 5, 5), (1, 5, 5)])), Turn(points([(1, 9, 9)], label=0), afresh=True)
    answers(opened, [Request("a", turns, memory=first.memory)])
    prompts, past, _ = calls[-1]
    assert sorted(prompts) == [1]
    assert prompts[1].labels.tolist() == [0]
    assert past is first.memory


def test_parameters(calls: list[Any]) -> None:
    model = SAM2Video(threshold=1.5, fill_holes=2, corrections="overwritten")
    model.network = Recorder()
    with model.open(Volume.from_canonical(np.zeros((3, 256, 256), dtype=np.uint8))) as image:
        (answer,) = answers(image, [request("a", points([(0, 5, 5)]))])
    assert answer.update.box == (1, 0, 0, 3, 128, 256)  # the threshold is on logits
    assert np.argwhere(~answer.update.to_array((3, 256, 256))[2, :128]).tolist() == [[64, 5], [64, 6], [64, 7]]
    assert calls[0][2] == {"fill_area": 2, "corrections": "overwritten"}


@pytest.mark.parametrize("outside", [(3, 5, 5), (1, 32, 5), (1, 5, 64), (1, -1, 5)], ids=str)
def test_prompts_outside_are_refused(
    opened: Any, calls: list[Any], outside: tuple[int, int, int], wording: SnapshotAssertion
) -> None:
    failure, answer = opened.segment([request("a", points([outside])), request("b", points([(1, 5, 5)]))])
    assert isinstance(failure, Failure)
    assert failure.message == wording
    assert isinstance(answer, Answer)


def test_boxes_are_clipped_and_those_without_a_pixel_refused(opened: Any, calls: list[Any]) -> None:
    answers(opened, [request("a", boxes({1: (-4, 8, 40, 8)}))])
    assert calls[-1][0][1].points.tolist() == [[128, 0], [144, 1024]]  # at least one pixel wide
    (failure,) = opened.segment([request("a", boxes({1: (32, 0, 40, 9)}))])
    assert isinstance(failure, Failure)


def test_slices_are_those_of_sam2() -> None:
    array = np.random.default_rng(0).integers(-1000, 1000, (2, 32, 64)).astype(np.int16)
    array[1] += 1500
    image = SAM2Video().prepared(Volume.from_canonical(array))(1)
    low, high = np.percentile(array, (0.5, 99.5))
    assert image.dtype == np.uint8
    assert np.abs(image - np.floor((array[1].clip(low, high) - low) / (high - low) * 255)).max() <= 1
    assert SAM2Video().frame(image).shape == (3, 1024, 1024)
