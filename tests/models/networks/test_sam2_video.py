"""SAM 2 on volumes, against what the official video predictor gave (sam2.1_hiera_t_video)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from intrabench.models.networks.sam2 import LENGTH, build_sam2, unpack
from intrabench.models.networks.sam2_video import REACH, SlicePrompt, Tracked, propagate, walk
from intrabench.models.parts.random_weights import random_state
from tests.models.networks.parity import close, fixture
from tests.models.networks.test_sam2 import built

DATA = fixture("sam2.1_hiera_t_video")


@pytest.fixture(scope="module")
def embeddings() -> torch.Tensor:
    """Embeddings of the fixture's frames."""
    frames = torch.from_numpy(DATA["frames_u8"]).float()[:, None].expand(-1, 3, -1, -1) / 255
    mean, deviation = torch.tensor([[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]])[:, :, None, None]
    frames = functional.interpolate(frames, (1024, 1024), mode="bilinear", align_corners=False)
    network = built()
    return torch.cat([network.encode((frame[None] - mean) / deviation) for frame in frames])


def test_fixture(embeddings: torch.Tensor) -> None:
    asked: list[int] = []

    def features(z: int) -> torch.Tensor:
        asked.append(z)
        return embeddings[z]

    click = SlicePrompt(torch.from_numpy(DATA["click_xy"]) * 4, torch.from_numpy(DATA["click_label"]))
    for z, outcome in enumerate(propagate(built(), features, 3, {0: click})):
        assert outcome.z == z
        close(outcome.logits[None, :, ::2, ::2], DATA[f"frame{z}_logits_s"], atol=1e-3)
        np.testing.assert_allclose((outcome.logits > 0).sum(), DATA[f"frame{z}_fg"], rtol=1e-3)
        close(outcome.pointer, DATA[f"frame{z}_obj_ptr"])
        close(outcome.score, DATA[f"frame{z}_obj_score"])
        assert outcome.memory.dtype == torch.bfloat16
        close(outcome.memory[:, ::8, ::4, ::4], DATA[f"frame{z}_maskmem_s"], atol=1e-3, rtol=2**-7)  # one digit of it
    assert asked == [0, 1, 2]


class Remembers:
    """A tracker that only checks that everything is there that a network would look back at."""

    def __init__(self, frames: int) -> None:
        self.frames = frames
        self.steps: list[tuple[int, bool]] = []
        self.kept: set[int] = set()
        self.most = 0

    def step(self, z: int, embedding: Any, prompt: Any, reverse: bool) -> Tracked:
        assert embedding == f"features of {z}"
        first = min((at for at, _ in self.steps), default=z)
        if prompt is None:
            reached = range(z + 1, min(z + REACH, self.frames - 1) + 1) if reverse else range(max(z - REACH, first), z)
            assert self.kept.issuperset(reached)
        self.steps.append((z, reverse))
        self.kept.add(z)
        self.most = max(self.most, len(self.kept))
        nothing = torch.zeros(0)
        return Tracked(z, nothing, nothing, nothing, nothing)

    def forget(self, z: int) -> None:
        self.kept.discard(z)


@pytest.mark.parametrize("first", [0, 3, 50, 99])
@pytest.mark.parametrize("both_ways", [True, False])
def test_what_is_remembered(first: int, both_ways: bool) -> None:
    tracker = Remembers(100)
    click: Any = "a click"
    order = [one.z for one in walk(tracker, lambda z: f"features of {z}", 100, {first: click}, both_ways)]
    assert order == [*range(first, 100), *(range(first - 1, -1, -1) if both_ways else ())]
    assert [z for z, _ in tracker.steps] == order
    assert [reverse for _, reverse in tracker.steps] == [z < first for z in order]
    assert tracker.most <= 2 * REACH + 1


def test_several_slices_with_prompts_come_first() -> None:
    tracker = Remembers(8)
    tracker.kept = set(range(8))
    click: Any = "a click"
    order = [one.z for one in walk(tracker, lambda z: f"features of {z}", 8, {5: click, 3: click}, True)]
    assert order == [3, 4, 5, 6, 7, 2, 1, 0]
    assert [z for z, _ in tracker.steps] == [3, 5, 4, 6, 7, 2, 1, 0]


@pytest.mark.parametrize("slices", [[], [-1, 0], [4]])
def test_prompts_have_to_be_inside(slices: list[int]) -> None:
    click: Any = "a click"
    with pytest.raises(ValueError, match="prompts are needed on slices from 0 to 3"):
        propagate(None, None, 4, dict.fromkeys(slices, click))


def predicted(module: Any, embeddings: torch.Tensor, monkeypatch: pytest.MonkeyPatch) -> dict[int, torch.Tensor]:
    """What the package's own video predictor says to the prompts of the test below."""
    video = pytest.importorskip("sam2.sam2_video_predictor")

    def features(image: torch.Tensor) -> dict[str, Any]:
        at = int(image.flatten()[0])
        image_map, *high = unpack(embeddings[at : at + 1])
        maps = [*high, image_map]
        encoding = module.image_encoder.neck.position_encoding
        return {"backbone_fpn": maps, "vision_pos_enc": [encoding(part) for part in maps]}

    numbers = torch.arange(len(embeddings)).float()[:, None, None, None].expand(-1, 3, 1, 1)
    monkeypatch.setattr(video, "load_video_frames", lambda **_: (numbers, 256, 256))
    module.__class__ = video.SAM2VideoPredictor
    module.forward_image = features
    settings = ("fill_hole_area", "non_overlap_masks", "clear_non_cond_mem_around_input")
    for name in (*settings, "add_all_frames_to_correct_as_cond"):
        setattr(module, name, 0)
    state = module.init_state("")
    module.add_new_points_or_box(state, 1, 7, points=[[100, 120]], labels=[1])
    module.add_new_points_or_box(state, 1, 7, points=[[60, 30]], labels=[0], clear_old_points=False)
    module.add_new_points_or_box(state, 3, 7, points=[[80, 90]], labels=[1], box=[40, 50, 140, 160])
    logits = {z: low for z, _, low in module.propagate_in_video(state)}
    return logits | {z: low for z, _, low in module.propagate_in_video(state, reverse=True)}


@pytest.mark.slow
@pytest.mark.parametrize("release", ["2.0", "2.1"])
def test_as_the_official_predictor(release: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sam2")
    embeddings = torch.randn((5, LENGTH), generator=torch.Generator().manual_seed(3))
    network = build_sam2("t", release)
    network.load_state_dict(random_state(network))
    click, clicks = torch.tensor([[400.0, 480]]), torch.tensor([[400.0, 480], [240, 120]])
    box = SlicePrompt(torch.tensor([[160.0, 200], [560, 640], [320, 360]]), torch.tensor([2, 3, 1]))
    once = next(propagate(network, embeddings.__getitem__, 5, {1: SlicePrompt(click, torch.tensor([1]))}))
    both = SlicePrompt(clicks, torch.tensor([1, 0]), once.logits)
    mine = {one.z: one.logits for one in propagate(network, embeddings.__getitem__, 5, {3: box, 1: both})}
    expected = predicted(network.module, embeddings, monkeypatch)
    assert list(mine) == list(expected) == [1, 2, 3, 4, 0]
    for z, logits in expected.items():
        assert logits.std() > 0.1
        close(mine[z][None], logits.numpy(), atol=1e-3)
