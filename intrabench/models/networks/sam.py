"""SAM's networks from segment-anything, and a decoder call for pairs of an image and its prompts.

Kirillov et al., Segment Anything, ICCV 2023. MedSAM and ScribblePrompt-SAM are the same network with other weights.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
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
    k, 2)`` as x, y in the network's square, and labels ``(n, k)``; if there are no `boxes`, 2 and 3 are the corners of
    one and -1 is padding, which is ignored. boxes: ``(n, 4)`` as x0, y0, x1, y1. masks: ``(n, 1,
    h, w)``, the mask prompt. m is 3 with `multimask`, else 1.
    """
    import torch

    from intrabench.models.networks.padding import PADDING, hiding

    encoder, decoder = network.prompt_encoder, network.mask_decoder
    sparse, dense = encoder(points=points, boxes=boxes, masks=masks)
    unseen: AbstractContextManager[None] = nullcontext()
    if points is not None and boxes is None and (points[1] == PADDING).any():
        labels = torch.nn.functional.pad(points[1], (0, 1), value=PADDING)  # as the encoder adds a point
        for corner in (2, 3):
            embedding = encoder.point_embeddings[corner].weight
            sparse = torch.where((labels == corner)[..., None], sparse + embedding, sparse)
        hidden = labels == PADDING
        hidden[:, -1] = (labels == 2).any(dim=1)  # with a box, it adds none
        unseen = hiding(decoder.transformer, hidden)
    with unseen:
        # the decoder repeats every image for every prompt, then adds the dense embedding: so that carries the images
        low, iou = decoder(
            image_embeddings=torch.zeros_like(embeddings[:1]),
            image_pe=encoder.get_dense_pe(),
            sparse_prompt_embeddings=sparse,
            dense_prompt_embeddings=embeddings + dense,
            multimask_output=multimask,
        )
    return low, iou
