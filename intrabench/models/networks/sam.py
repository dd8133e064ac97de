"""SAM's networks from segment-anything, and a decoder call for pairs of an image and its prompts.

Kirillov et al., Segment Anything, ICCV 2023. MedSAM and ScribblePrompt-SAM are the same network with other weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from torch import Tensor, nn

    Pair = tuple[Tensor, Tensor]

Size = Literal["b", "l", "h"]


def build_sam(size: Size) -> nn.Module:
    """The network for squares of 1024 pixels, without its weights."""
    from segment_anything import sam_model_registry

    network: nn.Module = sam_model_registry[f"vit_{size}"]()
    return network


def decode(
    network: Any, embeddings: Tensor, points: Pair | None, boxes: Tensor | None, masks: Tensor | None, multimask: bool
) -> Pair:
    """Low-resolution logits ``(n, m, h, w)`` and estimated IoU ``(n, m)`` for n pairs of an image and its prompts.

    network: has `prompt_encoder` and `mask_decoder` as in segment-anything. embeddings: ``(n, c, h, w)``. points: ``(n,
    k, 2)`` as x, y in the network's square, and labels ``(n, k)``. boxes: ``(n, 4)`` as x0, y0, x1, y1. masks: ``(n, 1,
    h, w)``, the mask prompt. m is 3 with `multimask`, else 1.
    """
    import torch

    sparse, dense = network.prompt_encoder(points=points, boxes=boxes, masks=masks)
    # the decoder repeats every image for every prompt, then adds the dense embedding: so that carries the images
    low, iou = network.mask_decoder(
        image_embeddings=torch.zeros_like(embeddings[:1]),
        image_pe=network.prompt_encoder.get_dense_pe(),
        sparse_prompt_embeddings=sparse,
        dense_prompt_embeddings=embeddings + dense,
        multimask_output=multimask,
    )
    return low, iou
