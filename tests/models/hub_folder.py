"""Repositories in the format of the hub, as folders: tiny networks of every family, with weights or only described."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SIDE, GRID, WIDTH = 64, 4, 128
KINDS = ("sam", "sam_hq", "sam2", "sam2_video", "edgetam", "edgetam_video", "sam3_tracker", "sam3_tracker_video")
VIDEOS = ("sam2_video", "edgetam_video", "sam3_tracker_video")
SIDES = dict.fromkeys(KINDS, SIDE) | {"sam3_tracker": 56, "sam3_tracker_video": 56}  # patches of 14 pixels
LEVELS = [[16, 16], [8, 8], [4, 4]]


def config(kind: str) -> dict[str, Any]:
    """The content of a ``config.json``."""
    side = SIDES[kind]
    if kind.startswith("sam") and not kind.startswith(("sam2", "sam3")):
        vision = {"hidden_size": 32, "output_channels": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
        vision |= {"image_size": side, "patch_size": 8, "window_size": 4, "global_attn_indexes": [1], "mlp_dim": 64}
        prompts = {"hidden_size": 16, "image_size": side, "patch_size": 8, "mask_input_channels": 8}
        decoder = {"hidden_size": 16, "mlp_dim": 32, "num_attention_heads": 2, "iou_head_hidden_dim": 16}
        decoder |= {"vit_dim": 32} if kind == "sam_hq" else {}
        vision["num_pos_feats"] = 8
        return _parts(kind, vision, prompts, decoder)
    vision = {"backbone_config": _backbone(kind), "backbone_feature_sizes": LEVELS, "fpn_hidden_size": WIDTH}
    vision |= {"model_type": f"{kind.split('_')[0]}_vision_model"}
    if kind.startswith("sam2"):
        vision["backbone_channel_list"] = [64, 32, 16, 8]
    if kind.startswith("edgetam"):
        vision["backbone_channel_list"] = [512, 256, 128, 64]
    prompts = {"hidden_size": WIDTH, "image_size": side, "patch_size": side // GRID, "mask_input_channels": 8}
    decoder = {"hidden_size": WIDTH, "mlp_dim": 32, "num_attention_heads": 2, "iou_head_hidden_dim": 16}
    memory = _memory(kind) | {"image_size": side} if kind in VIDEOS else {}
    return _parts(kind, vision, prompts, decoder) | memory


def described(folder: Path, kind: str, **changed: Any) -> Path:
    """A folder with nothing but the description."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config(kind) | changed))
    return folder


def saved(folder: Path, kind: str, video: bool = False) -> Path:
    """A folder with weights, which are those of ``--weights random``, as `save_pretrained` leaves it."""
    from intrabench.models.base import Runtime
    from intrabench.models.hf import HF

    model = HF(repo=str(described(folder, kind)))
    model.video = video  # type: ignore[misc]
    model.runtime = Runtime(random=True)
    model.network.save_pretrained(folder)
    return folder


def _parts(kind: str, vision: Any, prompts: Any, decoder: Any) -> dict[str, Any]:
    return {
        "model_type": kind,
        "vision_config": vision,
        "prompt_encoder_config": prompts,
        "mask_decoder_config": decoder,
    }


def _backbone(kind: str) -> dict[str, Any]:
    if kind.startswith("edgetam"):
        return {
            "model_type": "timm_wrapper",
            "architecture": "resnet18",
            "num_classes": 2,
            "model_args": {"in_chans": 3, "features_only": True, "out_indices": [1, 2, 3, 4]},
        }
    if kind.startswith("sam3"):
        size = {"image_size": 56, "pretrain_image_size": 56, "patch_size": 14, "window_size": 2}
        layers = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
        return {"model_type": "sam3_vit_model", "global_attn_indexes": [1], **size, **layers}
    return {
        "model_type": "sam2_hiera_det_model",
        "hidden_size": 8,
        "num_attention_heads": 1,
        "image_size": [SIDE, SIDE],
        "blocks_per_stage": [1, 1, 1, 1],
        "embed_dim_per_stage": [8, 16, 32, 64],
        "num_attention_heads_per_stage": [1, 1, 2, 2],
        "window_size_per_stage": [4, 4, 2, 2],
        "global_attention_blocks": [],
        "window_positional_embedding_background_size": [2, 2],
    }


def _memory(kind: str) -> dict[str, Any]:
    found: dict[str, Any] = {"memory_attention_hidden_size": WIDTH, "memory_attention_feed_forward_hidden_size": 32}
    found |= {"memory_attention_num_layers": 1, "memory_attention_rope_feat_sizes": [GRID, GRID]}
    found |= {"memory_encoder_hidden_size": WIDTH, "mask_downsampler_embed_dim": WIDTH}
    found |= {"memory_fuser_embed_dim": WIDTH, "memory_fuser_intermediate_dim": 32, "memory_fuser_num_layers": 1}
    if kind.startswith("edgetam"):
        found |= {"memory_attention_mlp_hidden_size": 32}
        found |= {"memory_attention_rope_q_sizes": [GRID, GRID], "memory_attention_rope_k_sizes": [2, 2]}
        sizes = {"num_latents": 4, "num_latents_2d": 4, "mlp_intermediate_size": 16}
        found |= {f"perceiver_resampler_{key}": n for key, n in sizes.items()}
    return found
