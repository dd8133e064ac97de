"""The network of SAM-Med2D: segment-anything's ViT-B for 256 x 256 pixels, with an adapter in every encoder block.

Cheng et al., "SAM-Med2D", 2023, https://arxiv.org/abs/2308.16184, https://github.com/OpenGVLab/SAM-Med2D. The names of
modules are those of the published checkpoint, so that its state dict fits as it is.
"""

from __future__ import annotations

from segment_anything.modeling import ImageEncoderViT, MaskDecoder, PromptEncoder, Sam, TwoWayTransformer
from segment_anything.modeling.common import MLPBlock
from segment_anything.modeling.image_encoder import Attention, window_partition, window_unpartition
from torch import Tensor, nn

SIDE = 256
"""Rows and columns of the image that the encoder takes."""
PATCH = 16
GRID = SIDE // PATCH
"""Rows and columns of the image embedding; a mask prompt and the logits have four times as many."""
WIDTH = 768
DEPTH = 12
HEADS = 12
WINDOW = 14
GLOBAL_BLOCKS = (2, 5, 8, 11)
EMBEDDING = 256


class Adapter(nn.Module):
    """A gate for each channel and a small convolutional detour; maps ``(batch, y, x, channel)`` to the same shape."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.channel = nn.Sequential(
            nn.Linear(width, width // 4, bias=False), nn.ReLU(), nn.Linear(width // 4, width, bias=False), nn.Sigmoid()
        )
        self.spatial = nn.Sequential(
            nn.Conv2d(width, width, kernel_size=3, stride=2, padding=1, bias=False),
            nn.ReLU(),
            nn.ConvTranspose2d(width, width, kernel_size=4, stride=2, padding=1, bias=False),
            nn.ReLU(),
        )
        self.norm = nn.LayerNorm(width)  # eps 1e-5, unlike the 1e-6 of the encoder's other norms

    def forward(self, tokens: Tensor) -> Tensor:
        gate = self.channel(tokens.mean(dim=(1, 2)))[:, None, None]
        detour = self.spatial((tokens * gate).movedim(-1, 1)).movedim(1, -1)
        return self.norm(tokens + detour)  # the gate acts on the detour only


class AdapterBlock(nn.Module):
    """A block of segment-anything's encoder with an adapter; maps ``(batch, y, x, channel)`` to the same shape.

    `window` is the side of the squares that attend to themselves; the grid's side makes one square of it.
    """

    def __init__(self, width: int, heads: int, window: int) -> None:
        super().__init__()
        self.window = window
        self.norm1 = nn.LayerNorm(width, eps=1e-6)
        self.attn = Attention(width, heads, use_rel_pos=True, input_size=(window, window))
        self.norm2 = nn.LayerNorm(width, eps=1e-6)
        self.mlp = MLPBlock(width, 4 * width)
        self.Adapter = Adapter(width)

    def forward(self, tokens: Tensor) -> Tensor:
        windows, padded = window_partition(self.norm1(tokens), self.window)
        tokens = tokens + window_unpartition(self.attn(windows), self.window, padded, tokens.shape[1:3])
        normed = self.norm2(tokens)
        return tokens + self.mlp(normed) + self.Adapter(normed)  # side by side with the MLP, not after it


def build_sammed2d() -> nn.Module:
    """The network without its weights, with segment-anything's interface.

    `image_encoder` maps ``(batch, 3, 256, 256)``, normalised RGB, to ``(batch, 256, 16, 16)``. `prompt_encoder` takes
    points ``(batch, point, xy)`` and boxes ``(batch, xyxy)`` in pixels of the 256 x 256 image, and masks
    ``(batch, 1, 64, 64)``: probabilities, not logits, because the network was trained to be fed its own sigmoid.
    `mask_decoder` gives logits ``(batch, mask, 64, 64)`` and an IoU for each.
    """
    encoder = ImageEncoderViT(img_size=SIDE, patch_size=PATCH, embed_dim=WIDTH, depth=0, out_chans=EMBEDDING)
    encoder.blocks.extend(
        AdapterBlock(WIDTH, HEADS, GRID if index in GLOBAL_BLOCKS else WINDOW) for index in range(DEPTH)
    )
    return Sam(
        image_encoder=encoder,
        prompt_encoder=PromptEncoder(
            embed_dim=EMBEDDING, image_embedding_size=(GRID, GRID), input_image_size=(SIDE, SIDE), mask_in_chans=16
        ),
        mask_decoder=MaskDecoder(
            transformer_dim=EMBEDDING,
            transformer=TwoWayTransformer(depth=2, embedding_dim=EMBEDDING, num_heads=8, mlp_dim=2048),
        ),
    )
