"""SAM 2 through volumes by its wrapper: the official video, and which prompts of a session reach the network."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest
import torch

from intrabench.models import sam2_video
from intrabench.models.base import Answer, Failure, Region, Request, Runtime
from intrabench.models.networks.sam2 import prepare
from intrabench.models.networks.sam2_video import SlicePrompt, Tracked
from intrabench.models.sam2_video import SAM2Video
from intrabench.prompts import Prompts, Turn, boxes, points
from intrabench.volume import Volume
from tests.models.networks.parity import close, fixture
from tests.models.stub import answers, request

GOLDEN = fixture("sam2.1_hiera_t_video")
FRAMES = GOLDEN["frames_u8"][:2]  # a frame takes seconds; tests of the network look at all three


@pytest.fixture(scope="module")
def video() -> Iterator[Any]:
    """The fixture's frames as a volume in colours, which no intensity policy changes."""
    pytest.importorskip("sam2")
    model = SAM2Video()
    model.runtime = Runtime(random=True)
    with model.open(Volume.from_canonical(np.stack([FRAMES] * 3, axis=-1))) as image:
        yield image


@pytest.fixture(scope="module")
def clicked(video: Any) -> Request:
    """The fixture's click, with the memory of its answer, and that answer as the mask."""
    ((x, y),) = GOLDEN["click_xy"].astype(int).tolist()
    (answer,) = answers(video, [request("a", points([(0, y, x)]))])
    return request("a", points([(0, y, x)]), mask=answer.update, memory=answer.memory)


def test_the_official_video(clicked: Request) -> None:
    found = [int(np.count_nonzero(plane)) for plane in clicked.mask.to_array(FRAMES.shape)]
    assert found == pytest.approx([int(GOLDEN[f"frame{z}_fg"]) for z in range(2)], rel=1e-3)
    assert list(clicked.memory) == [0]
    close(clicked.memory[0][None, :, ::2, ::2], GOLDEN["frame0_logits_s"], atol=1e-2)  # kept in half the precision


@pytest.mark.slow
def test_a_correction_of_the_official_video(video: Any, clicked: Request) -> None:
    turns = (*clicked.turns, Turn(points([(1, 40, 200)], label=0)))
    (answer,) = answers(video, [Request("a", turns, memory=clicked.memory)])
    (forgetful,) = answers(video, [Request("a", turns, memory={})])
    assert sorted(answer.memory) == [0, 1]
    assert not np.array_equal(answer.memory[0], forgetful.memory[0])  # its own logits came back
    assert video.store.encoded == 2


class Recorder:
    """A network whose embedding of a slice is its mean."""

    def __init__(self) -> None:
        self.encoded = 0

    def encode(self, images: torch.Tensor) -> torch.Tensor:
        assert images.shape == (1, 3, 1024, 1024)
        self.encoded += 1
        return images.mean(dim=(1, 2, 3))[:, None]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Mapping[int, SlicePrompt]]:
    """The prompts of all calls of `propagate`, which here answers z + 1 in the upper half and -9 in the lower."""
    seen: list[Mapping[int, SlicePrompt]] = []

    def propagate(
        network: Any, features: Callable[[int], torch.Tensor], frames: int, prompts: Mapping[int, SlicePrompt]
    ) -> Iterator[Tracked]:
        seen.append(prompts)
        for z in range(frames):
            assert features(z).shape == (1,)
            logits = torch.full((1, 256, 256), -9.0)
            logits[:, :128] = z + 1
            yield Tracked(z, logits, *[torch.zeros(0)] * 3)

    monkeypatch.setattr(sam2_video, "propagate", propagate)
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
    (answer,) = answers(opened, [request("a", *turns, memory={})])
    prompts = calls[-1]
    assert sorted(prompts) == [0, 1]
    assert prompts[0].points.tolist() == [[128, 128], [384, 384]]  # x by 16, y by 32
    assert prompts[0].labels.tolist() == [2, 3]
    assert prompts[1].points.tolist() == [[32, 32], [64, 96], [256, 256], [1008, 64], [0, 992]]
    assert prompts[1].labels.tolist() == [2, 3, 1, 0, 0]
    assert prompts[0].previous is None
    assert prompts[1].previous is None
    assert answer.valid == Region()


def test_the_answer_covers_the_volume_and_every_slice_is_encoded_once(opened: Any, calls: list[Any]) -> None:
    (answer,) = answers(opened, [request("a", points([(2, 5, 5)]))])
    expected = np.zeros((3, 32, 64), dtype=bool)
    expected[:, :16] = True
    assert np.array_equal(answer.update.to_array(expected.shape), expected)
    answers(opened, [request("b", boxes({0: (0, 0, 5, 5)}))])
    assert opened.model.network.encoded == 3


def test_prompted_slices_get_their_own_last_logits_back(opened: Any, calls: list[Any]) -> None:
    turns = points([(0, 5, 5), (2, 5, 5)]), points([(1, 9, 9)], label=0)
    (first,) = answers(opened, [request("a", turns[0])])
    assert sorted(first.memory) == [0, 2]
    assert first.memory[2].dtype == np.float16
    (second,) = answers(opened, [request("a", *turns, memory=first.memory)])
    prompts = calls[-1]
    assert prompts[1].previous is None
    assert prompts[2].previous.shape == (1, 256, 256)
    assert prompts[2].previous.dtype == torch.float32
    assert prompts[2].previous[0, [0, 255], 0].tolist() == [3, -9]
    assert sorted(second.memory) == [0, 1, 2]
    (replayed,) = answers(opened, [request("a", *turns)])
    assert len(calls) == 4
    assert torch.equal(calls[-1][2].previous, prompts[2].previous)
    assert np.array_equal(replayed.update.array, second.update.array)


def test_beginning_afresh_forgets_prompts_but_not_the_last_answer(opened: Any, calls: list[Any]) -> None:
    (first,) = answers(opened, [request("a", points([(0, 5, 5), (1, 5, 5)]))])
    turns = Turn(points([(0, 5, 5), (1, 5, 5)])), Turn(points([(1, 9, 9)], label=0), afresh=True)
    answers(opened, [Request("a", turns, memory=first.memory)])
    assert sorted(calls[-1]) == [1]
    assert calls[-1][1].labels.tolist() == [0]
    assert calls[-1][1].previous is not None


def test_the_threshold_is_on_logits(calls: list[Any]) -> None:
    model = SAM2Video(threshold=1.5)
    model.network = Recorder()
    with model.open(Volume.from_canonical(np.zeros((3, 8, 8), dtype=np.uint8))) as image:
        (answer,) = answers(image, [request("a", points([(0, 5, 5)]))])
    assert answer.update.box == (1, 0, 0, 3, 4, 8)


@pytest.mark.parametrize("outside", [(3, 5, 5), (1, 32, 5), (1, 5, 64), (1, -1, 5)])
def test_prompts_outside_are_refused(opened: Any, calls: list[Any], outside: tuple[int, int, int]) -> None:
    failure, answer = opened.segment([request("a", points([outside])), request("b", points([(1, 5, 5)]))])
    assert isinstance(failure, Failure)
    assert f"slice {outside[0]} has a prompt outside of the volume of 3 x 32 x 64 voxels" in failure.message
    assert isinstance(answer, Answer)


def test_boxes_are_clipped_and_those_without_a_pixel_refused(opened: Any, calls: list[Any]) -> None:
    answers(opened, [request("a", boxes({1: (-4, 8, 40, 8)}))])
    assert calls[-1][1].points.tolist() == [[128, 0], [144, 1024]]  # at least one pixel wide
    (failure,) = opened.segment([request("a", boxes({1: (32, 0, 40, 9)}))])
    assert isinstance(failure, Failure)


def test_slices_are_those_of_sam2() -> None:
    array = np.random.default_rng(0).integers(-1000, 1000, (2, 32, 64)).astype(np.int16)
    array[1] += 1500
    image = SAM2Video().prepared(Volume.from_canonical(array))(1)
    low, high = np.percentile(array, (0.5, 99.5))
    assert image.dtype == np.uint8
    assert np.abs(image - np.floor((array[1].clip(low, high) - low) / (high - low) * 255)).max() <= 1
    assert prepare(image).shape == (3, 1024, 1024)
