"""SegVol's wrapper: which prompts of a session reach the network, what is encoded, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.models.base import Answer, Failure, Region, Request
from intrabench.models.segvol import SegVol
from intrabench.prompts import Prompts, box3d, boxes, points
from intrabench.registry.registry import make
from intrabench.specs.specs import spec_of
from intrabench.turns import Turn
from intrabench.volume import Volume
from tests.models.stub import answers, request

SHAPE = (40, 60, 64)
START, SIDES = (4, 4, 7), (36, 56, 57)
"""Of the scene: all but air and the darkest tissue."""
BRIGHT = (slice(5, 40), slice(20, 50), slice(20, 60))
"""What the network finds; it takes two windows."""


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without torch."""
    pytest.importorskip("segment_anything")
    global torch, functional, segvol_zoom, WINDOW
    import torch
    from torch.nn import functional

    from intrabench.models.networks import segvol_zoom
    from intrabench.models.networks.segvol import WINDOW


class Recorder:
    """A network whose logits are the brightness of its window less a half, and which notes what it is asked."""

    def __init__(self) -> None:
        self.encoded = 0
        self.asked: list[tuple[torch.Tensor | None, ...]] = []

    def encode(self, windows: torch.Tensor) -> torch.Tensor:
        assert windows.shape == (1, 1, *WINDOW)
        self.encoded += 1
        return functional.avg_pool3d(windows, (1, 4, 4))

    def decode(self, embedding: torch.Tensor, *asked: torch.Tensor | None) -> torch.Tensor:
        self.asked.append(asked)
        return embedding - 0.5


def test_it_can_answer_in_the_foreground_of_the_scan(image: Any) -> None:
    for prompts in (points([(20, 30, 30)]), points([(0, 0, 0)]), box3d((0, 0, 0, 9, 9, 9))):
        (answer,) = answers(image, [request("a", prompts)])
        assert answer.reach == (*START, *np.add(START, SIDES).tolist())


@pytest.fixture
def image() -> Iterator[Any]:
    """An opened volume of air, tissue and a bright part."""
    array = np.full(SHAPE, -3000, dtype=np.int16)
    array[4:, 4:, 6] = 100
    array[4:, 4:, 7:] = 200
    array[BRIGHT] = 1000
    model = SegVol()
    model.network = Recorder()
    with model.open(Volume.from_canonical(array)) as one:
        yield one


def in_frame(*voxels: tuple[int, int, int]) -> list[list[int]]:
    """Where the centres of voxels lie in the frame."""
    return np.floor((np.subtract(voxels, START) + 0.5) * WINDOW / SIDES).astype(int).tolist()


def test_points_of_all_turns_reach_the_network_in_its_frame(image: Any) -> None:
    assert (image.prepared.start, image.prepared.image.shape) == (START, SIDES)
    turns = points([(20, 30, 40), (39, 59, 63)]), points([(4, 4, 7)], label=0)
    answers(image, [request("a", *turns)])
    coordinates, labels, box = image.model.network.asked[-3]
    assert coordinates[0].tolist() == in_frame((20, 30, 40), (39, 59, 63), (4, 4, 7))
    assert labels.tolist() == [[1, 1, 0]]
    assert box is None


def test_points_in_the_air_move_to_the_edge_of_the_scene(image: Any) -> None:
    answers(image, [request("a", points([(0, 0, 0), (0, 30, 5)]))])
    coordinates, _, _ = image.model.network.asked[0]
    assert coordinates[0].tolist() == [[0, 0, 0], [0, in_frame((4, 30, 7))[0][1], 0]]


def test_the_last_box_goes_with_all_points(image: Any) -> None:
    turns = box3d((0, 0, 0, 9, 9, 9)), box3d((4, 4, 7, 40, 32, 64)), points([(20, 30, 40)])
    answers(image, [request("a", *turns)])
    coordinates, labels, box = image.model.network.asked[-3]
    assert coordinates[0].tolist() == in_frame((20, 30, 40))
    assert labels.tolist() == [[1]]
    assert box.tolist() == [[0, 0, 0, 31, 127, 255]]  # the last voxel included


def test_a_box_that_reaches_out_of_the_volume_is_cut(image: Any) -> None:
    answers(image, [request("a", box3d((-5, -5, -5, 22, 99, 99)))])
    assert image.model.network.asked[0] == (None, None, image.model.network.asked[0][2])
    assert image.model.network.asked[0][2].tolist() == [[0, 0, 0, 15, 255, 255]]


def test_beginning_afresh_forgets_earlier_prompts(image: Any) -> None:
    earlier = Prompts(points=[(9, 9, 9, 0)], box3d=(4, 4, 7, 40, 32, 64))
    answers(image, [Request("a", (Turn(earlier), Turn(points([(20, 30, 40)]), afresh=True)))])
    coordinates, _, box = image.model.network.asked[0]
    assert coordinates.shape == (1, 1, 3)
    assert box is None


def test_the_answer_is_what_the_windows_show_in_the_volume(image: Any) -> None:
    (answer,) = answers(image, [request("a", box3d((5, 20, 20, 40, 50, 60)))])
    truth = np.zeros(SHAPE, dtype=bool)
    truth[BRIGHT] = True
    found = answer.update.to_array(SHAPE)
    assert 2 * (found & truth).sum() > 0.9 * (found.sum() + truth.sum())
    assert answer.valid == Region()
    assert len(image.model.network.asked) == 3  # the frame and two windows


def test_the_frame_and_each_window_are_encoded_once(image: Any) -> None:
    first, *others = answers(image, [request(str(n), points([(20, 30, 40 + n)])) for n in range(3)])
    answers(image, [request("b", box3d((5, 20, 20, 40, 50, 60)), points([(20, 30, 41)], label=0))])
    assert image.model.network.encoded == image.store.encoded == 3
    assert first.encode_seconds > 0
    assert all(other.encode_seconds == 0 for other in others)


def test_later_rounds_cost_no_more_than_the_first(image: Any) -> None:
    turns = points([(20, 30, 40)]), points([(21, 30, 40)]), points([(22, 30, 40)], label=0)
    (first,) = answers(image, [request("a", turns[0])])
    answers(image, [request("a", *turns, memory=first.memory)])
    assert len(image.model.network.asked) == 6


def test_points_of_windows_do_not_depend_on_earlier_requests(image: Any) -> None:
    asked = image.model.network.asked
    answers(image, [request("a", points([(20, 30, 40)])), request("b", points([(20, 30, 40)]))])
    assert asked[1][0].shape == (1, 5, 3)
    assert all(torch.equal(one[0], other[0]) for one, other in zip(asked[:3], asked[3:], strict=True))


@pytest.mark.parametrize(("policy", "seed"), [("official", 0), ("radioactive", 1)])
def test_the_policy_sets_the_seed(image: Any, monkeypatch: pytest.MonkeyPatch, policy: Any, seed: int) -> None:
    seeds, segment = [], segvol_zoom.segment

    def noted(*asked: Any) -> Any:
        seeds.append(asked[-1].initial_seed())
        return segment(*asked)

    monkeypatch.setattr(segvol_zoom, "segment", noted)
    image.model.policy = policy
    answers(image, [request("a", points([(20, 30, 40)])), request("b", points([(20, 30, 40)]))])
    assert seeds == [seed, seed]
    assert spec_of(make("models", f"segvol:policy={policy}")) == f"segvol:policy={policy}"


OUTSIDE = [
    (points([(20, 30, 64)]), "a point lies outside of the volume of 40 x 60 x 64 voxels"),
    (points([(-1, 30, 40)]), "a point lies outside of the volume of 40 x 60 x 64 voxels"),
    (box3d((40, 0, 0, 50, 9, 9)), "the box lies outside of the volume of 40 x 60 x 64 voxels"),
    (box3d((0, -9, 0, 9, 0, 9)), "the box lies outside of the volume of 40 x 60 x 64 voxels"),
    (boxes({1: (0, 0, 5, 5)}), "ValueError"),  # nothing that it takes
]


@pytest.mark.parametrize(("wrong", "told"), OUTSIDE)
def test_a_request_that_cannot_be_answered_fails_alone(image: Any, wrong: Prompts, told: str) -> None:
    from intrabench.models.networks.segvol import PromptEncoder

    image.model.network.decode = lambda embedding, *asked: (PromptEncoder()(*asked), embedding - 0.5)[1]
    failure, answer = image.segment([request("a", wrong), request("b", points([(20, 30, 40)]))])
    assert isinstance(failure, Failure)
    assert told in failure.message
    assert isinstance(answer, Answer)


def test_colour_images_are_refused_and_broken_weights_told(image: Any, wording: SnapshotAssertion) -> None:
    colours = Volume.from_canonical(np.zeros((5, 6, 7, 3), dtype=np.uint8))
    with pytest.raises(ValueError) as caught, image.model.open(colours):
        pass
    assert caught == wording
    image.model.network.decode = lambda embedding, *_: embedding * torch.nan
    (failure,) = image.segment([request("a", points([(20, 30, 40)]))])
    assert failure.message == wording
