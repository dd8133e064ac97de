"""Weights of the authors' SAM and SAM 2 under the names that transformers has for them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

HEADS = r"iou_prediction_head|output_hypernetworks_mlps\.\d|pred_obj_score_head|obj_ptr_proj"
SHARED = (
    (r"norm_final_attn", "layer_norm_final_attn"),
    (r"output_upscaling\.0", "upscale_conv1"),
    (r"output_upscaling\.1", "upscale_layer_norm"),
    (r"output_upscaling\.3", "upscale_conv2"),
    (r"mask_downscaling\.0", "mask_embed.conv1"),
    (r"mask_downscaling\.1", "mask_embed.layer_norm1"),
    (r"mask_downscaling\.3", "mask_embed.conv2"),
    (r"mask_downscaling\.4", "mask_embed.layer_norm2"),
    (r"mask_downscaling\.6", "mask_embed.conv3"),
    (r"pe_layer\.positional_encoding_gaussian_matrix", "shared_embedding.positional_embedding"),
    (r"(iou_prediction_head|output_hypernetworks_mlps\.\d|pred_obj_score_head|obj_ptr_proj)\.layers\.0", r"\1.proj_in"),
    (rf"({HEADS})\.layers\.0", r"\1.proj_in"),
    (rf"({HEADS})\.layers\.2", r"\1.proj_out"),
    (rf"({HEADS})\.layers\.1", r"\1.layers.0"),
)
SAM = (
    (r"^image_encoder\.", "vision_encoder."),
    (r"\.patch_embed\.proj\.", ".patch_embed.projection."),
    (r"\.blocks\.", ".layers."),
    (r"\.norm(\d)\.", r".layer_norm\1."),
    (r"neck\.0\.", "neck.conv1."),
    (r"neck\.1\.", "neck.layer_norm1."),
    (r"neck\.2\.", "neck.conv2."),
    (r"neck\.3\.", "neck.layer_norm2."),
    (r"point_embeddings", "point_embed"),
    *SHARED,
)
SAM2 = (
    (r"^image_encoder\.trunk\.", "vision_encoder.backbone."),
    (r"\.patch_embed\.proj\.", ".patch_embed.projection."),
    (r"^image_encoder\.neck\.convs\.(\d)\.conv\.", r"vision_encoder.neck.convs.\1."),
    (r"^sam_prompt_encoder", "prompt_encoder"),
    (r"^sam_mask_decoder", "mask_decoder"),
    (r"\.norm(\d)\.", r".layer_norm\1."),
    *SHARED,
    (r"\.mlp\.layers\.0", ".mlp.proj_in"),
    (r"\.mlp\.layers\.1", ".mlp.proj_out"),
    (r"^memory_encoder\.out_proj", "memory_encoder.projection"),
    (r"\.out_proj\.", ".o_proj."),
    (r"mask_downsampler\.encoder\.12\.", "mask_downsampler.final_conv."),
    (r"mask_downsampler\.encoder\.(0|3|6|9)\.", lambda m: f"mask_downsampler.layers.{int(m[1]) // 3}.conv."),
    (r"mask_downsampler\.encoder\.(1|4|7|10)\.", lambda m: f"mask_downsampler.layers.{int(m[1]) // 3}.layer_norm."),
    (r"pix_feat_proj", "feature_projection"),
    (r"\.fuser\.", ".memory_fuser."),
    (r"(memory_fuser\.layers\.\d)\.norm\.", r"\1.layer_norm."),
    (r"^memory_attention\.norm\.", "memory_attention.layer_norm."),
    (r"dwconv", "depthwise_conv"),
    (r"pwconv", "pointwise_conv"),
    (r"\.gamma$", ".scale"),
    (r"^obj_ptr_tpos_proj", "temporal_positional_encoding_projection_layer"),
    (r"^obj_ptr_proj", "object_pointer_proj"),
    (r"^no_obj_embed_spatial", "occlusion_spatial_embedding_parameter"),
    (r"^no_obj_ptr", "no_object_pointer"),
    (r"^maskmem_tpos_enc", "memory_temporal_positional_encoding"),
    (r"^no_mem_embed", "no_memory_embedding"),
    (r"^no_mem_pos_enc", "no_memory_positional_encoding"),
)


def of_sam(state: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The state of a `SamModel` from that of the authors' network."""
    return _with_positions({_renamed(key, SAM): tensor for key, tensor in state.items()})


def of_sam2(state: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The state of a `Sam2VideoModel` from that of the authors' network."""
    import torch

    labels = [f"sam_prompt_encoder.point_embeddings.{n}.weight" for n in range(4)]
    found = {_renamed(key, SAM2): tensor for key, tensor in state.items() if key not in labels}
    found["prompt_encoder.point_embed.weight"] = torch.cat([state[label] for label in labels])
    return _with_positions(found)


def _with_positions(found: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    shared = found["prompt_encoder.shared_embedding.positional_embedding"]
    return found | {"shared_image_embedding.positional_embedding": shared}


def _renamed(key: str, rules: tuple[tuple[str, object], ...]) -> str:
    for pattern, new in rules:
        key = re.sub(pattern, new, key)  # type: ignore[call-overload]
    return key
