"""Random weights that are the same everywhere: for trying a model out without its checkpoint, never for results."""

from __future__ import annotations

import re
import zlib
from typing import Any

_TOKENS = re.compile(
    r"(^|\.)(iou_token|mask_tokens|obj_score_token|point_embeddings\.\d+|not_a_point_embed|no_mask_embed|point_embed(\.\d+)?)\.weight$"
)
_POSITIONS = re.compile(
    r"(pos_embed|pos_embed_window|position_embeddings|rel_pos_[dhw]|maskmem_tpos_enc|no_mem_embed|no_mem_pos_enc"
    r"|no_obj_ptr|no_obj_embed_spatial|gamma|memory_temporal_positional_encoding|no_memory_embedding"
    r"|no_memory_positional_encoding|no_object_pointer|occlusion_spatial_embedding_parameter|layers\.\d+\.scale)$"
)


def fill_randomly(network: Any, gain: float = 1.0) -> None:
    """Give a network weights of which every tensor depends only on its key and shape.

    The scales keep activations and logits of transformers and U-Nets within a few units, so that prompts matter. One
    tensor after the other: all at once would double its memory.
    """
    import torch

    with torch.no_grad():
        for key, tensor in network.state_dict().items():
            tensor.copy_(_filled(key, tensor, gain))


def _filled(key: str, tensor: Any, gain: float) -> Any:
    import torch

    if not tensor.dtype.is_floating_point:
        return tensor
    if key.endswith("running_mean"):
        return torch.zeros(tensor.shape)
    if key.endswith("running_var"):
        return torch.ones(tensor.shape)
    generator = torch.Generator().manual_seed(zlib.crc32(key.encode("utf-8")))
    noise = torch.randn(tensor.shape, generator=generator, dtype=torch.float32)
    return _scaled(key, noise, gain)


def _scaled(key: str, noise: Any, gain: float) -> Any:
    if key.endswith(("positional_encoding_gaussian_matrix", "embedding.positional_embedding")):
        return noise
    if _TOKENS.search(key):
        return 0.5 * noise
    if _POSITIONS.search(key):
        return 0.1 * noise
    if key.endswith("bias"):
        return 0.02 * noise
    if key.endswith("weight") and (noise.ndim <= 1 or key.endswith("output_upscaling.1.weight")):
        return 0.25 + 0.01 * noise if noise.numel() == 1 else 1 + 0.1 * noise  # PReLU; norms
    return gain * noise / (noise.numel() / noise.shape[0]) ** 0.5
