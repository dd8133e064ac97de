"""SAM 2 on volumes, against what the official video predictor gave (sam2.1_hiera_t_video).

Whole sessions are compared in tests/models/test_sam2_video_sessions.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from tests.models.networks.parity import close, fixture
from tests.models.networks.test_sam2 import built

DATA = fixture("sam2.1_hiera_t_video")


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without torch."""
    global torch, functional, Outcome, Past, SlicePrompt, Tracker, fill_holes, play_round
    import torch
    from torch.nn import functional

    from intrabench.models.networks.sam2_video import Outcome, Past, SlicePrompt, Tracker, fill_holes, play_round


@pytest.fixture(scope="module")
def embeddings() -> Iterator[torch.Tensor]:
    """Embeddings of the fixture's frames."""
    frames = torch.from_numpy(DATA["frames_u8"]).float()[:, None].expand(-1, 3, -1, -1) / 255
    mean, deviation = torch.tensor([[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]])[:, :, None, None]
    frames = functional.interpolate(frames, (1024, 1024), mode="bilinear", align_corners=False)
    network = built()
    yield torch.cat([network.encode((frame[None] - mean) / deviation) for frame in frames])
    built.cache_clear()


@pytest.mark.slow  # 20 seconds, most of them for three images of full size
def test_fixture(embeddings: torch.Tensor) -> None:
    click = SlicePrompt(torch.from_numpy(DATA["click_xy"]) * 4, torch.from_numpy(DATA["click_label"]))
    past = play_round(built(), embeddings.__getitem__, 3, {0: click}, fill_area=0)
    tracker = Tracker(built(), embeddings.__getitem__, 3, {}, past, 0)
    for z in range(3):
        outcome = past[z]
        assert outcome.prompted == (z == 0)
        close(outcome.logits[None, :, ::2, ::2], DATA[f"frame{z}_logits_s"], atol=1e-3)
        np.testing.assert_allclose((outcome.logits > 0).sum(), DATA[f"frame{z}_fg"], rtol=1e-3)
        close(outcome.pointer, DATA[f"frame{z}_obj_ptr"])
        close(outcome.score, DATA[f"frame{z}_obj_score"])
        with torch.inference_mode():
            memory, _ = tracker.memory(z, outcome)
        assert memory.dtype == torch.bfloat16
        close(memory[:, ::8, ::4, ::4], DATA[f"frame{z}_maskmem_s"], atol=1e-3, rtol=2**-7)  # one digit of it


@pytest.mark.parametrize(("first", "reverse"), [(0, []), (3, [0, 1, 2, 3])])
def test_the_first_conditioning_slice_is_visited_on_the_way_back(first: int, reverse: list[int]) -> None:
    nothing = torch.zeros(0)
    outcome = Outcome(nothing, nothing, nothing, prompted=True)
    past = Past({5: outcome, first: outcome}, dict.fromkeys({1, 2, 4, 6} - {first}, outcome))
    assert [z for z in range(7) if past.was_reverse(z)] == reverse


@pytest.mark.parametrize("slices", [[], [-1, 0], [4]], ids=str)
def test_prompts_have_to_be_inside(slices: list[int], wording: SnapshotAssertion) -> None:
    click: Any = "a click"
    with pytest.raises(ValueError) as caught:
        play_round(None, None, 4, dict.fromkeys(slices, click))
    assert caught == wording


def test_holes_are_small_parts_of_the_background() -> None:
    logits = torch.full((1, 6, 8), 2.0)
    logits[0, 1, 1] = logits[0, 2, 2] = -3  # two pixels that touch at a corner
    logits[0, 0, 5] = 0  # at the rim, and not above 0
    logits[0, 4, 4:8] = -1
    expected = logits.clone()
    expected[0, 0, 5] = 0.1
    assert torch.equal(fill_holes(logits, 1), expected)
    expected[0, 1, 1] = expected[0, 2, 2] = 0.1
    assert torch.equal(fill_holes(logits, 2), expected)
    assert torch.equal(fill_holes(logits, 3), expected)
    assert torch.equal(fill_holes(logits, 0), logits)
    assert (fill_holes(logits, 4) > 0).all()
    assert (logits[0, 4, 4:8] == -1).all()
    full = torch.ones((1, 3, 3))
    assert torch.equal(fill_holes(full, 8), full)
