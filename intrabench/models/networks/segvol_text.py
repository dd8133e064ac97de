"""SegVol's text encoder: CLIP's (ViT-B/32) and a linear layer to the width of its other tokens.

Du et al., "SegVol", NeurIPS 2024, https://github.com/BAAI-DCAI/SegVol. The parameters have the names of transformers;
`own_key` translates those of the published checkpoint.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from transformers import CLIPTextConfig, CLIPTextModel

from intrabench.models.networks.segvol import CHANNELS


class TextEncoder(nn.Module):
    """From the tokens of a text to one token of SegVol's decoder."""

    def __init__(self) -> None:
        super().__init__()
        config = CLIPTextConfig()  # its defaults are those of ViT-B/32
        self.clip_text_model = CLIPTextModel(config)
        self.dim_align = nn.Linear(config.hidden_size, CHANNELS)

    def forward(self, tokens: Tensor) -> Tensor:
        """Tokens ``(n, t)`` without padding to ``(n, 768)``."""
        pooled: Tensor = self.clip_text_model(input_ids=tokens, attention_mask=torch.ones_like(tokens)).pooler_output
        return self.dim_align(pooled)


def own_key(key: str) -> str | None:
    """The key of a parameter here, from that in the checkpoint; None: it is none of the text encoder's."""
    part, _, rest = key.partition(".")
    if part != "text_encoder" or rest.endswith(".position_ids"):  # a buffer that older versions stored
        return None
    return rest.replace("clip_text_model.text_model.", "clip_text_model.", 1)
