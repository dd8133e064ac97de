"""SegVol's network against what the official code computes with the same random weights."""

from __future__ import annotations

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.models.networks.parity import close, filled, fixture, same_entries, unfilled

CASES = ("p1", "p3", "p2ign", "box", "p3_box")
STRIDES = {"patch_embedding": (37, 16), "block0": (37, 16), "block5": (37, 16), "block11": (37, 16), "tokens": (19, 12)}


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without torch."""
    global torch, functional, WINDOW, build_segvol, upscaled
    import torch
    from torch.nn import functional

    from intrabench.models.networks.segvol import WINDOW, build_segvol, upscaled


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    return fixture("segvol")


@pytest.fixture(scope="module")
def network() -> Any:
    """Without all blocks of the encoder but the first, which is enough for all but embeddings."""
    made = unfilled(build_segvol)
    del made.image_encoder.blocks[1:]
    return filled(made, "segvol")


@pytest.fixture(scope="module")
def whole() -> Any:
    return filled(unfilled(build_segvol), "segvol")


@pytest.fixture(scope="module")
def activations(golden: dict[str, Any], whole: Any) -> dict[str, torch.Tensor]:
    """See `encoded`; this takes six seconds."""
    return encoded(golden, whole, 5, 11)


def encoded(golden: dict[str, Any], network: Any, *blocks: int) -> dict[str, torch.Tensor]:
    """The embedding of the resized volume and what modules on the way to it put out, blocks among them."""
    seen: dict[str, torch.Tensor] = {}
    encoder = network.image_encoder
    modules = {"patch_embedding": encoder.patch_embedding, "tokens": encoder}
    modules |= {f"block{index}": encoder.blocks[index] for index in (0, *blocks)}
    hooks = [
        module.register_forward_hook(lambda _, inputs, output, name=name: seen.update({name: output}))
        for name, module in modules.items()
    ]
    volume = torch.from_numpy(golden["volume_u8"])[None, None].float() / 255
    with torch.inference_mode():
        seen["embedding"] = network.encode(functional.interpolate(volume, WINDOW, mode="nearest-exact"))
    for hook in hooks:
        hook.remove()
    return seen


def prompts(golden: dict[str, Any], case: str) -> tuple[torch.Tensor | None, ...]:
    """Points, labels and boxes of a case."""
    clicks, box = case.split("_")[0], torch.from_numpy(golden["box"]) if "box" in case else None
    if clicks == "box":
        return None, None, box
    return torch.from_numpy(golden[f"{clicks}_coords"])[None], torch.from_numpy(golden[f"{clicks}_labels"])[None], box


def test_entries_are_those_of_the_checkpoint() -> None:
    with torch.device("meta"):
        same_entries(build_segvol(), "segvol")


def compare(golden: dict[str, Any], activations: dict[str, torch.Tensor], name: str) -> None:
    step, channels = STRIDES[name]
    key = "encoder_tokens_s" if name == "tokens" else f"act_{name}"
    close(activations[name][:, ::step, ::channels], golden[key])


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(STRIDES))
def test_activations_are_the_official_ones(
    golden: dict[str, Any], activations: dict[str, torch.Tensor], name: str
) -> None:
    compare(golden, activations, name)


@pytest.mark.usefixtures("inference")
def test_activations_of_the_first_block_are_the_official_ones(golden: dict[str, Any], network: Any) -> None:
    seen = encoded(golden, network)
    compare(golden, seen, "patch_embedding")
    compare(golden, seen, "block0")
    close(seen["tokens"], network.image_encoder.norm(seen["block0"]).numpy())
    assert torch.equal(seen["embedding"], seen["tokens"].transpose(1, 2).reshape(1, 768, 8, 16, 16))


@pytest.mark.slow
def test_embedding_is_the_official_one(golden: dict[str, Any], activations: dict[str, torch.Tensor]) -> None:
    assert activations["embedding"].shape == (1, 768, 8, 16, 16)
    close(activations["embedding"][:, ::12, ::2, ::4, ::4], golden["image_embedding_s"])


def test_positions_are_the_official_ones(golden: dict[str, Any], network: Any) -> None:
    close(network.prompt_encoder.dense_positions()[:, ::12, ::2, ::4, ::4], golden["dense_pe_s"])


@pytest.mark.parametrize("case", CASES)
@pytest.mark.usefixtures("inference")
def test_encoded_prompts_are_the_official_ones(golden: dict[str, Any], network: Any, case: str) -> None:
    close(network.prompt_encoder(*prompts(golden, case)), golden[f"{case}_sparse"])


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_masks_are_the_official_ones(
    golden: dict[str, Any], whole: Any, activations: dict[str, torch.Tensor], case: str
) -> None:
    iou: list[torch.Tensor] = []
    hook = whole.mask_decoder.register_forward_hook(lambda _, inputs, output: iou.append(output[1]))
    with torch.inference_mode():
        low = whole.decode(activations["embedding"], *prompts(golden, case))
    hook.remove()
    close(iou[0], golden[f"{case}_iou"])
    assert low.shape == (1, 1, 32, 64, 64)
    if f"{case}_low" in golden:
        close(low, golden[f"{case}_low"], atol=1e-3)
    else:
        close(low[..., ::2, ::2, ::2], golden[f"{case}_low_s"], atol=1e-3)


@pytest.mark.slow
def test_one_embedding_serves_several_sets_of_prompts(
    golden: dict[str, Any], whole: Any, activations: dict[str, torch.Tensor]
) -> None:
    box = torch.from_numpy(golden["box"])
    with torch.inference_mode():
        both = whole.decode(activations["embedding"], boxes=torch.cat([box + 1, box]))
    assert both.shape == (2, 1, 32, 64, 64)
    close(both[1:], golden["box_low"], atol=1e-3)


def test_prompts_have_to_be_there(network: Any, wording: SnapshotAssertion) -> None:
    embedding = torch.zeros(1, 768, 8, 16, 16)
    with pytest.raises(ValueError) as caught:
        network.decode(embedding)
    assert caught == wording
    with pytest.raises(ValueError, match="labels"):
        network.decode(embedding, points=torch.zeros(1, 1, 3))


def test_upscaled_logits_have_the_shape_of_the_window() -> None:
    assert upscaled(torch.full((1, 1, 32, 64, 64), 2.5)).shape == WINDOW
    assert upscaled(torch.full((1, 1, 32, 64, 64), 2.5)).unique().tolist() == [2.5]
