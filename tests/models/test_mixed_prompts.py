"""A GPU decodes different prompts together: each wrapper, with a GPU's policy on the CPU, against single calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from intrabench.models.base import Answer, Runtime
from intrabench.models.parts.sam_family import SamFamily
from intrabench.models.sam import SAM
from intrabench.models.sam2 import SAM2
from intrabench.models.sammed2d import SAMMed2D
from intrabench.models.scribbleprompt_sam import ScribblePromptSAM
from intrabench.prompts import boxes, points
from intrabench.volume import Volume
from tests.models.stub import Stub, answers, item, request

PADS = "cpu:0"
"""The same device, but under a name that is treated as a GPU's."""
GRID, SIDE, LOW = 8, 128, 32
SHAPE = (60, 50)


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without torch."""
    pytest.importorskip("segment_anything")
    pytest.importorskip("sam2")
    global torch
    import torch


def small_sam() -> Any:
    """Prompt encoder and decoder of segment-anything for squares of 128 pixels, with few channels."""
    from segment_anything.modeling import MaskDecoder, PromptEncoder, TwoWayTransformer

    network = torch.nn.Module()
    network.prompt_encoder = PromptEncoder(32, (GRID, GRID), (SIDE, SIDE), 16)
    transformer = TwoWayTransformer(depth=2, embedding_dim=32, num_heads=4, mlp_dim=64)
    network.mask_decoder = MaskDecoder(transformer_dim=32, transformer=transformer)
    return network


def small_sam2() -> Any:
    """The same parts of SAM 2."""
    from sam2.modeling.sam.mask_decoder import MaskDecoder
    from sam2.modeling.sam.prompt_encoder import PromptEncoder
    from sam2.modeling.sam.transformer import TwoWayTransformer

    from intrabench.models.networks.sam2 import Sam2Network

    module = torch.nn.Module()
    module.no_mem_embed = torch.nn.Parameter(torch.randn(1, 1, 256))
    module.sam_prompt_encoder = PromptEncoder(256, (64, 64), (1024, 1024), 16)
    transformer = TwoWayTransformer(depth=2, embedding_dim=256, num_heads=8, mlp_dim=64)
    module.sam_mask_decoder = MaskDecoder(
        transformer_dim=256, transformer=transformer, use_high_res_features=True, pred_obj_scores=True
    )
    return Sam2Network(module)


def wrapped(cls: type[SamFamily], device: str) -> SamFamily:
    """A wrapper around a small network with random weights."""
    torch.manual_seed(3)
    model = cls()
    model.runtime = Runtime(device=device)
    model.network = (small_sam2 if cls is SAM2 else small_sam)().eval().requires_grad_(False)
    if cls is not SAM2:
        model.side = SIDE  # type: ignore[misc]
    return model


@pytest.mark.parametrize("fed_back", [False, True])
@pytest.mark.parametrize("cls", [SAM, SAMMed2D, ScribblePromptSAM, SAM2])
def test_different_prompts_decoded_together_have_the_answers_of_single_calls(
    cls: type[SamFamily], fed_back: bool
) -> None:
    together, single = wrapped(cls, PADS), wrapped(cls, "cpu")
    rng = np.random.default_rng(5)
    embedding = (4 * 1024**2,) if cls is SAM2 else (32, GRID, GRID)
    side = 256 if cls is SAM2 else LOW
    items = []
    for count, box in ((1, True), (2, False), (3, True), (5, False), (13, False), (11, True)):
        clicks = np.column_stack(
            [rng.integers(0, SHAPE[0], count), rng.integers(0, SHAPE[1], count), rng.random(count) < 0.6]
        )
        previous = 4 * rng.normal(size=(side, side)).astype(np.float32) if fed_back else None
        given = {"embedding": rng.normal(size=embedding).astype(np.float32), "shape": SHAPE, "scores": True}
        items.append(item(clicks.tolist(), (5, 7, 40, 30 + count) if box else None, previous, **given))
    assert len({together.alike(len(one.points), one.box is not None, fed_back) for one in items}) == 1
    assert len({single.alike(len(one.points), one.box is not None, fed_back) for one in items}) == len(items)
    for one, found in zip(items, together.decode(items), strict=True):
        (alone,) = single.decode([one])
        np.testing.assert_allclose(found.logits, alone.logits, atol=2e-4)
        np.testing.assert_allclose(found.scores, alone.scores, atol=2e-4)
        clear = np.abs(alone.scores) > 1e-3
        assert np.array_equal(found.mask[clear], alone.mask[clear])
        assert np.ptp(alone.scores) > 0.01


def test_what_pads_is_hidden_only_while_prompts_of_different_lengths_are_decoded() -> None:
    model = wrapped(SAM, PADS)
    attention = model.network.mask_decoder.transformer.layers[0].self_attn
    rows = item([(1, 2, 1), (3, 4, 0)], embedding=np.zeros((32, GRID, GRID), np.float32))
    model.decode([rows])
    assert "forward" not in vars(attention)
    original = type(attention).forward
    assert attention.forward.__func__ is original


class Mixing(Stub):
    """A network of many prompts at once, of which nothing is known but what it was asked."""

    mixes = True


def test_a_gpu_pads_clicks_and_boxes_to_common_lengths_but_not_a_box_or_a_first_click_alone() -> None:
    model = Mixing()
    model.runtime = Runtime(device=PADS)
    kinds = [
        (0, True, False),
        (1, False, False),
        (1, False, True),
        (1, True, False),
        (13, True, True),
        (16, False, True),
    ]
    assert [model.padded(*kind) for kind in kinds] == [0, 0, 16, 16, 16, 32]
    assert len({model.alike(*kind) for kind in kinds}) == 5  # of those with logits two are alike
    model.decode([item([(3, 10, 1), (11, 0, 0)], (2, 5, 8, 9)), item([(1, 2, 1)], (2, 5, 8, 9))])
    (call,) = model.asked
    xy, labels = call["points"]
    assert call["boxes"] is None
    assert labels.tolist() == [[2, 3, 1, 0, *[-1] * 12], [2, 3, 1, *[-1] * 13]]
    assert xy[0, :4].tolist() == [[5, 2], [9, 8], [10, 3], [0, 11]]
    assert not xy[0, 4:].any()
    assert not call["multimask"]


def test_logits_stay_on_a_gpu_in_half_precision_and_come_back_from_there() -> None:
    model = Mixing()
    model.runtime = Runtime(device=PADS)
    volume = Volume.from_canonical(np.random.default_rng(0).integers(0, 256, (4, 24, 30)).astype(np.int16))
    turns = boxes({1: (0, 0, 9, 4), 2: (0, 0, 4, 4)}), points([(1, 5, 5)])
    with model.open(volume) as opened:
        (first,) = answers(opened, [request("a", turns[0])])
        (second,) = answers(opened, [request("a", *turns, memory=first.memory)])
        (replayed,) = answers(opened, [request("a", *turns)])
    for memory in (first.memory, second.memory, replayed.memory):
        assert sorted(memory) == [1, 2]
        assert all(isinstance(one, torch.Tensor) and one.dtype == torch.float16 for one in memory.values())
        assert all(one.untyped_storage().nbytes() == one.nbytes for one in memory.values())  # not the whole batch
    assert torch.equal(model.asked[1]["masks"][0, 0], first.memory[1].float())
    assert torch.equal(second.memory[1], replayed.memory[1])
    assert second.memory[2] is first.memory[2]


def test_no_logits_are_kept_for_a_session_that_ends() -> None:
    volume = Volume.from_canonical(np.zeros((4, 24, 30), np.int16))
    for device in ("cpu", PADS):
        model = Mixing()
        model.runtime = Runtime(device=device)
        turns = boxes({1: (0, 0, 9, 4)}), points([(1, 5, 5)])
        with model.open(volume) as opened:
            (kept,) = answers(opened, [request("a", *turns)])
            (ended,) = answers(opened, [request("a", *turns, last=True)])
        assert isinstance(kept, Answer)
        assert (sorted(kept.memory), ended.memory) == ([1], None)
        assert np.array_equal(kept.update.array, ended.update.array)
        (found,) = model.decode([item([(1, 2, 1)], logits=False)])
        assert found.logits is None
