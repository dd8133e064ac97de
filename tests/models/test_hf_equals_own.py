"""`hf` against `sam` and `sam2` with the same artificial weights: the same masks from the same prompts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from intrabench.models.base import Runtime
from intrabench.models.hf import HF
from intrabench.models.sam import SAM
from intrabench.models.sam2 import SAM2
from intrabench.prompts import boxes, points
from intrabench.volume import Volume
from tests.models.hub_folder import described
from tests.models.hub_keys import of_sam, of_sam2
from tests.models.stub import answers, request

SIDE = 128
SCAN = np.random.default_rng(0).integers(0, 256, (2, SIDE, SIDE)).astype(np.uint8)
"""As large as the networks see, because Pillow and torchvision resize differently in last bits."""
TURNS = points([(0, 40, 90), (1, 9, 9)]), points([(0, 100, 20)], label=0), boxes({1: (20, 30, 90, 110)})


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without torch."""
    global torch, transformers, fill_randomly
    transformers = pytest.importorskip("transformers")
    import torch

    from intrabench.models.parts.random_weights import fill_randomly


def hub(folder: Path, changed: Any, state: dict[str, torch.Tensor]) -> HF:
    """The model of a repository, with these weights."""
    model = HF(repo=str(described(folder, changed["model_type"], **changed)))
    model.runtime = Runtime(random=True)
    model.network.load_state_dict({key: state[key] for key in model.network.state_dict()})
    return model


def same(own: Any, theirs: HF) -> None:
    """Three rounds have the same masks, and logits that differ by less than 1e-4, if by a last bit of float16."""
    found = []
    for model in (own, theirs):
        with model.open(Volume.from_canonical(SCAN)) as image:
            memory = None
            for number in range(len(TURNS)):
                (answer,) = answers(image, [request("a", *TURNS[: number + 1], memory=memory)])
                memory = answer.memory
                found.append((model, answer.update.to_array(SCAN.shape), memory))
    for (_, mask, ours), (_, same, hubs) in zip(found[:3], found[3:], strict=True):
        assert (mask != same).mean() < 2e-4
        assert 0.001 < mask.mean() < 0.999
        for z in ours:
            np.testing.assert_allclose(hubs[z].astype(float), ours[z], atol=1e-4, rtol=2**-9)


def test_sam(tmp_path: Path) -> None:
    """A small SAM, made of the authors' modules; those of the library have another epsilon in some norms."""
    modeling = pytest.importorskip("segment_anything.modeling")
    grid = SIDE // 16
    encoder = modeling.ImageEncoderViT(
        SIDE, 16, 3, 64, 4, 2, 4.0, 32, True, use_rel_pos=True, window_size=4, global_attn_indexes=(1, 3)
    )
    for norm in [module for module in encoder.modules() if isinstance(module, torch.nn.LayerNorm)]:
        norm.eps = 1e-6
    prompts = modeling.PromptEncoder(32, (grid, grid), (SIDE, SIDE), 16)
    transformer = modeling.TwoWayTransformer(depth=2, embedding_dim=32, mlp_dim=64, num_heads=2)
    decoder = modeling.MaskDecoder(transformer_dim=32, transformer=transformer, iou_head_hidden_dim=32)
    own = SAM()
    own.side = SIDE  # type: ignore[misc]
    own.network = modeling.Sam(encoder, prompts, decoder).eval()
    fill_randomly(own.network)
    vision = {"hidden_size": 64, "output_channels": 32, "num_hidden_layers": 4, "num_attention_heads": 2}
    vision |= {"image_size": SIDE, "window_size": 4, "global_attn_indexes": [1, 3], "num_pos_feats": 16}
    described_as = {
        "model_type": "sam",
        "vision_config": vision,
        "prompt_encoder_config": {"hidden_size": 32, "image_size": SIDE},
        "mask_decoder_config": {"hidden_size": 32, "mlp_dim": 64, "num_attention_heads": 2, "iou_head_hidden_dim": 32},
    }
    theirs = hub(tmp_path, described_as, of_sam(own.network.state_dict()))
    for layer in theirs.network.mask_decoder.transformer.layers:
        for n in (1, 2, 3, 4):
            getattr(layer, f"layer_norm{n}").eps = 1e-5
    same(own, theirs)


def test_sam2(tmp_path: Path) -> None:
    """SAM 2.1 T for small images."""
    pytest.importorskip("sam2")
    from intrabench.models.networks.sam2 import build_sam2

    grid = SIDE // 16
    own = SAM2()
    own.side = SIDE  # type: ignore[misc]
    own.network = build_sam2("t", "2.1", SIDE)
    fill_randomly(own.network)
    levels = [[4 * grid] * 2, [2 * grid] * 2, [grid] * 2]
    described_as = {
        "model_type": "sam2",
        "vision_config": {"model_type": "sam2_vision_model", "backbone_feature_sizes": levels},
        "prompt_encoder_config": {"image_size": SIDE},
        "mask_decoder_config": {},
    }
    same(own, hub(tmp_path, described_as, of_sam2(own.network.state_dict())))
