"""SegVol's text branch: its encoder against transformers, and what a text does in the decoder."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.models.networks.parity import FOLDER, close, filled, unfilled


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without torch."""
    pytest.importorskip("segment_anything")
    pytest.importorskip("transformers")
    global torch, build_segvol, TextEncoder, own_key
    import torch

    from intrabench.models.networks.segvol import build_segvol
    from intrabench.models.networks.segvol_text import TextEncoder, own_key


KEYS = json.loads((FOLDER / "segvol_text_encoder.keys.json").read_text())["keys"]
TOKENS = [[49406, 320, 11639, 704, 7690, 999, 22399, 539, 320, 12639, 269, 49407]]
"""Of "A computerized tomography of a liver."."""


def test_parameters_are_those_of_the_checkpoint() -> None:
    with torch.device("meta"):
        assert {key: list(tensor.shape) for key, tensor in TextEncoder().state_dict().items()} == KEYS


def test_keys_of_the_checkpoint_become_those_of_transformers() -> None:
    prefix = "text_encoder.clip_text_model.text_model."
    told = {key: f"text_encoder.{key}".replace("text_encoder.clip_text_model.", prefix) for key in KEYS}
    assert {key: own_key(theirs) for key, theirs in told.items()} == {key: key for key in KEYS}
    assert own_key("text_encoder.dim_align.weight") == "dim_align.weight"
    assert own_key(f"{prefix}embeddings.position_ids") is None
    assert own_key("mask_decoder.txt_align_upscaled_embedding.weight") is None
    assert own_key("text_encoder_of_others.weight") is None


def test_the_encoder_is_clip_and_a_linear_layer() -> None:
    from transformers import CLIPTextConfig, CLIPTextModel

    from intrabench.models.parts.random_weights import fill_randomly

    encoder = TextEncoder().eval()
    fill_randomly(encoder)
    config = CLIPTextConfig(
        **{"vocab_size": 49408, "hidden_size": 512, "intermediate_size": 2048, "num_hidden_layers": 12},
        **{"num_attention_heads": 8, "max_position_embeddings": 77, "hidden_act": "quick_gelu", "eos_token_id": 2},
    )  # as in the published config.json, whose end of a text is its largest token
    official = CLIPTextModel.from_pretrained(None, config=config, state_dict=encoder.clip_text_model.state_dict())
    tokens = torch.tensor(TOKENS)
    with torch.inference_mode():
        pooled = official(tokens).pooler_output
        expected = pooled @ encoder.dim_align.weight.T + encoder.dim_align.bias
        found = encoder(tokens)
        assert found.shape == (1, 768)
        close(found, expected.numpy(), atol=1e-5)
        changed = encoder(torch.where(tokens == 12639, 12640, tokens))
    assert (changed - found).abs().max() > 0.1


def slow(value: str) -> Any:
    """A case for the slow tests."""
    return pytest.param(value, marks=pytest.mark.slow)


@pytest.fixture(scope="module")
def network() -> Any:
    made = unfilled(build_segvol)
    del made.image_encoder.blocks[:]  # not asked here
    return filled(made, "segvol")


@pytest.fixture(scope="module")
def embedding() -> torch.Tensor:
    return torch.randn(1, 768, 8, 16, 16, generator=torch.Generator().manual_seed(3))


def a_text(seed: int = 5) -> torch.Tensor:
    return torch.randn(1, 768, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("beside", ["nothing", *map(slow, ("points", "box")), "both"])
def test_a_text_is_the_last_token_and_its_similarity_is_added(network: Any, embedding: Any, beside: str) -> None:
    points = torch.tensor([[[3.0, 40.0, 50.0]]]) if beside in ("points", "both") else None
    labels = None if points is None else torch.ones(1, 1)
    box = torch.tensor([[2.0, 20, 30, 20, 200, 220]]) if beside in ("box", "both") else None
    text, decoder, seen = a_text(), network.mask_decoder, dict[str, Any]()
    hooks = [
        decoder.transformer.register_forward_hook(lambda _, inputs, output: seen.update(fed=inputs[2], told=output[0])),
        decoder.output_upscaling.register_forward_hook(lambda _, inputs, output: seen.update(upscaled=output)),
    ]
    with torch.inference_mode():
        low = network.decode(embedding, points, labels, box, text)
        hyper = decoder.output_hypernetworks_mlps[0](seen["told"][:, 1])
        upscaled = seen["upscaled"].flatten(2)
        masks = (hyper[:, None] @ upscaled).view(1, 1, 32, 64, 64)
        similarity = (decoder.txt_align_upscaled_embedding(text)[:, None] @ upscaled).view(1, 1, 32, 64, 64)
        others = 0 if beside == "nothing" else network.prompt_encoder(points, labels, box).shape[1]
    for hook in hooks:
        hook.remove()
    close(low, (masks + similarity).numpy(), atol=1e-4)
    assert similarity.abs().max() > 0.1
    assert seen["fed"].shape[1] == 5 + others + 1
    assert torch.equal(seen["fed"][:, -1], text)
    if others:
        with torch.inference_mode():
            assert torch.equal(seen["fed"][:, 5:-1], network.prompt_encoder(points, labels, box))


def test_other_texts_get_other_masks_and_one_embedding_serves_several(network: Any, embedding: Any) -> None:
    with torch.inference_mode():
        both = network.decode(embedding, text=torch.cat([a_text(5), a_text(6)]))
        one = network.decode(embedding, text=a_text(6))
    assert both.shape == (2, 1, 32, 64, 64)
    close(both[1:], one.numpy(), atol=1e-4)
    assert (both[0] - both[1]).abs().max() > 0.1
