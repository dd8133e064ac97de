"""SegVol's network without its text encoder; the keys of its parameters are those of the published checkpoint.

Du et al., "SegVol", NeurIPS 2024, https://github.com/BAAI-DCAI/SegVol. The image encoder has the structure and the keys
of MONAI's ViT, the two-way transformer is segment-anything's. Axes are ``(z, y, x)``, which SegVol calls
``(d, h, w)``.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import Any

import torch
from segment_anything.modeling.common import LayerNorm2d
from segment_anything.modeling.mask_decoder import MLP
from segment_anything.modeling.transformer import TwoWayTransformer
from torch import Tensor, nn
from torch.nn import functional

WINDOW = (32, 256, 256)
"""The shape of what the encoder sees."""
PATCH = (4, 16, 16)
GRID = (8, 16, 16)
"""The shape of an embedding: one token for each patch."""
CHANNELS = 768
TOP = CHANNELS // 8
"""Channels of the upscaled embedding, whose product with a mask token is the mask."""


class SegVol(nn.Module):
    """Encoder and decoder of windows of 32 x 256 x 256 voxels in [0, 1]; prompts are voxel indices of the window."""

    def __init__(self) -> None:
        super().__init__()
        self.image_encoder = ImageEncoder()
        self.prompt_encoder = PromptEncoder()
        self.mask_decoder = MaskDecoder()

    def encode(self, volume: Tensor) -> Tensor:
        """Windows ``(n, 1, 32, 256, 256)`` to embeddings ``(n, 768, 8, 16, 16)``."""
        tokens = self.image_encoder(volume)
        return tokens.transpose(1, 2).reshape(len(volume), CHANNELS, *GRID)

    def decode(
        self,
        embedding: Tensor,
        points: Tensor | None = None,
        labels: Tensor | None = None,
        boxes: Tensor | None = None,
        text: Tensor | None = None,
    ) -> Tensor:
        """Low-resolution logits ``(n, 1, 32, 64, 64)`` for n sets of prompts.

        embedding: ``(n, 768, 8, 16, 16)``, or one for all sets. points: ``(n, k, 3)`` rows z, y, x. labels: ``(n, k)``
        1 target, 0 background, -1 to be ignored. boxes: ``(n, 6)`` first and last voxel, the last one included. text:
        ``(n, 768)`` from the text encoder.

        Raises:
            ValueError: no prompts, or points without labels.
        """
        sparse = self.prompt_encoder(points, labels, boxes, text)
        encoder = self.prompt_encoder
        low, _ = self.mask_decoder(embedding, encoder.dense_positions(), sparse, encoder.no_mask_embed.weight, text)
        return low


class ImageEncoder(nn.Module):
    """A plain ViT: linear patch embedding, 12 blocks, a last norm."""

    def __init__(self) -> None:
        super().__init__()
        self.patch_embedding = PatchEmbedding()
        self.blocks = nn.ModuleList(Block() for _ in range(12))
        self.norm = nn.LayerNorm(CHANNELS)

    def forward(self, volume: Tensor) -> Tensor:
        """``(n, 1, 32, 256, 256)`` to tokens ``(n, 2048, 768)``, patches in C order."""
        tokens = self.patch_embedding(volume)
        for block in self.blocks:
            tokens = block(tokens)
        return self.norm(tokens)


class PatchEmbedding(nn.Module):
    """Each patch of 4 x 16 x 16 voxels, in C order, to one token with its learned position."""

    def __init__(self) -> None:
        super().__init__()
        # one of two because the first layer of the original, which reorders voxels, has no parameters
        self.patch_embeddings = nn.Sequential(nn.Identity(), nn.Linear(math.prod(PATCH), CHANNELS))
        self.position_embeddings = nn.Parameter(torch.zeros(1, math.prod(GRID), CHANNELS))

    def forward(self, volume: Tensor) -> Tensor:
        """``(n, 1, 32, 256, 256)`` to ``(n, 2048, 768)``."""
        (gz, gy, gx), (pz, py, px) = GRID, PATCH
        patches = volume.reshape(-1, gz, pz, gy, py, gx, px).permute(0, 1, 3, 5, 2, 4, 6)
        tokens = self.patch_embeddings(patches.reshape(-1, math.prod(GRID), math.prod(PATCH)))
        return tokens + self.position_embeddings


class Block(nn.Module):
    """Self-attention, then an MLP, each behind its norm and added to what came in."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(CHANNELS)
        self.attn = Attention()
        self.norm2 = nn.LayerNorm(CHANNELS)
        first, second = nn.Linear(CHANNELS, 4 * CHANNELS), nn.Linear(4 * CHANNELS, CHANNELS)
        self.mlp = nn.Sequential(OrderedDict(linear1=first, gelu=nn.GELU(), linear2=second))

    def forward(self, tokens: Tensor) -> Tensor:
        """``(n, t, 768)`` to the same shape."""
        tokens = tokens + self.attn(self.norm1(tokens))
        return tokens + self.mlp(self.norm2(tokens))


class Attention(nn.Module):
    """Self-attention with 12 heads and no bias before it."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(CHANNELS, 3 * CHANNELS, bias=False)
        self.out_proj = nn.Linear(CHANNELS, CHANNELS)

    def forward(self, tokens: Tensor) -> Tensor:
        """``(n, t, 768)`` to the same shape."""
        query, key, value = self.qkv(tokens).unflatten(-1, (3, 12, -1)).permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(query, key, value)
        return self.out_proj(attended.transpose(1, 2).flatten(2))


class PositionEncoding(nn.Module):
    """Random Fourier features of positions given as fractions of the window's sides."""

    positional_encoding_gaussian_matrix: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("positional_encoding_gaussian_matrix", torch.randn(3, CHANNELS // 2))

    def forward(self, fractions: Tensor) -> Tensor:
        """``(..., 3)`` to ``(..., 768)``, sines first."""
        phases = 2 * math.pi * ((2 * fractions - 1) @ self.positional_encoding_gaussian_matrix)
        return torch.cat([phases.sin(), phases.cos()], dim=-1)


class PromptEncoder(nn.Module):
    """Points, boxes and texts to tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.pe_layer = PositionEncoding()
        # background point, target point, first corner of a box, last corner
        self.point_embeddings = nn.ModuleList(nn.Embedding(1, CHANNELS) for _ in range(4))
        self.not_a_point_embed = nn.Embedding(1, CHANNELS)
        self.no_mask_embed = nn.Embedding(1, CHANNELS)
        # inherited 2D layers that no inference ever runs; here because the checkpoint has them
        self.mask_downscaling = nn.Sequential(
            nn.Conv2d(1, 4, kernel_size=2, stride=2),
            LayerNorm2d(4),
            nn.GELU(),
            nn.Conv2d(4, 16, kernel_size=2, stride=2),
            LayerNorm2d(16),
            nn.GELU(),
            nn.Conv2d(16, CHANNELS, kernel_size=1),
        )

    def forward(
        self, points: Tensor | None, labels: Tensor | None, boxes: Tensor | None, text: Tensor | None = None
    ) -> Tensor:
        """Tokens ``(n, t, 768)``: of the points, two of the box, one of the text; arguments as for `SegVol.decode`."""
        if points is None and boxes is None and text is None:
            raise ValueError("SegVol needs a point, a box or a text")
        tokens = []
        if points is not None:
            if labels is None:
                raise ValueError("points need labels")
            tokens.append(self._point_tokens(points, labels))
            if boxes is None:  # as in SAM, something has to stand where the box would be
                tokens.append(self.not_a_point_embed.weight.expand(len(points), 1, -1))
        if boxes is not None:
            tokens.append(self._positions(boxes.reshape(-1, 2, 3)) + self._kinds(2, 3))
        if text is not None:
            tokens.append(text[:, None])
        return torch.cat(tokens, dim=1)

    def dense_positions(self) -> Tensor:
        """Encoded positions of an embedding's cells, ``(1, 768, 8, 16, 16)``."""
        like = self.no_mask_embed.weight
        z, y, x = ((torch.arange(size, device=like.device, dtype=like.dtype) + 0.5) / size for size in GRID)
        planes = torch.meshgrid(z, y, x, indexing="ij")
        # y before z here, but z before y for points and boxes: the published weights were trained with both
        encoded = self.pe_layer(torch.stack([planes[1], planes[0], planes[2]], dim=-1))
        return encoded.permute(3, 0, 1, 2)[None]

    def _point_tokens(self, points: Tensor, labels: Tensor) -> Tensor:
        ignored = (labels < 0)[..., None]
        kinds = torch.cat([self.not_a_point_embed.weight, self._kinds(0, 1)])
        return self._positions(points).masked_fill(ignored, 0.0) + kinds[labels.long() + 1]

    def _positions(self, voxels: Tensor) -> Tensor:
        """Voxel indices ``(..., 3)`` to encoded positions of their centres."""
        # z is divided by the height and y by the depth: the published weights were trained with the sides exchanged
        sides = voxels.new_tensor([WINDOW[1], WINDOW[0], WINDOW[2]])
        return self.pe_layer((voxels + 0.5) / sides)

    def _kinds(self, *numbers: int) -> Tensor:
        rows: list[Any] = [self.point_embeddings[number] for number in numbers]
        return torch.cat([row.weight for row in rows])


class MaskDecoder(nn.Module):
    """SAM's mask decoder in 3D. Of its four mask tokens only the first is ever used, the one for a single mask."""

    def __init__(self) -> None:
        super().__init__()
        self.transformer = TwoWayTransformer(depth=2, embedding_dim=CHANNELS, num_heads=8, mlp_dim=2048)
        self.iou_token = nn.Embedding(1, CHANNELS)
        self.mask_tokens = nn.Embedding(4, CHANNELS)
        between = (CHANNELS // 4, *(2 * size for size in GRID))
        self.output_upscaling = nn.Sequential(
            nn.ConvTranspose3d(CHANNELS, between[0], kernel_size=2, stride=2),
            nn.LayerNorm(between),  # over channels and space at once, so the window cannot have another shape
            nn.GELU(),
            nn.ConvTranspose3d(between[0], TOP, kernel_size=2, stride=2),
            nn.GELU(),
        )
        self.output_hypernetworks_mlps = nn.ModuleList(MLP(CHANNELS, CHANNELS, TOP, 3) for _ in range(4))
        self.iou_prediction_head = MLP(CHANNELS, 256, 4, 3)
        # the similarity of a text to the upscaled embedding is added to the logits
        self.txt_align_upscaled_embedding = nn.Linear(CHANNELS, TOP)

    def forward(
        self, embedding: Tensor, positions: Tensor, sparse: Tensor, dense: Tensor, text: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Low-resolution logits ``(n, 1, 32, 64, 64)`` and predicted IoU ``(n, 1)``.

        embedding: ``(n or 1, 768, 8, 16, 16)``. positions: the same for the cells' positions, n = 1. sparse: tokens
        ``(n, t, 768)``. dense: ``(1, 768)``, added to every cell. text: ``(n, 768)``, which is also one of the tokens.
        """
        count = len(sparse)
        outputs = torch.cat([self.iou_token.weight, self.mask_tokens.weight])
        tokens = torch.cat([outputs.expand(count, -1, -1), sparse], dim=1)
        cells = (embedding + dense[..., None, None, None]).expand(count, -1, -1, -1, -1)
        # the transformer flattens two spatial axes, so two of the three become one before
        answers, cells = self.transformer(cells.flatten(3), positions.expand(count, -1, -1, -1, -1).flatten(3), tokens)
        upscaled = self.output_upscaling(cells.transpose(1, 2).reshape(count, CHANNELS, *GRID))
        weights = self.output_hypernetworks_mlps[0](answers[:, 1])
        if text is not None:
            weights = weights + self.txt_align_upscaled_embedding(text)
        low = torch.einsum("nc,nczyx->nzyx", weights, upscaled)[:, None]
        return low, self.iou_prediction_head(answers[:, 0])[:, :1]


def upscaled(low: Tensor) -> Tensor:
    """Low-resolution logits ``(1, 1, 32, 64, 64)`` to those of the window's voxels, ``(32, 256, 256)``."""
    return functional.interpolate(low, WINDOW, mode="trilinear", align_corners=False)[0, 0]


def build_segvol() -> SegVol:
    """SegVol with untrained weights."""
    return SegVol()
