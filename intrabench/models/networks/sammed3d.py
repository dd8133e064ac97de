"""The network of SAM-Med3D: segment-anything with three spatial axes everywhere, for volumes of 128 x 128 x 128 voxels.

Wang et al., "SAM-Med3D", 2023, https://arxiv.org/abs/2310.15161, https://github.com/uni-medical/SAM-Med3D (the variant
vit_b_ori, which sam_med3d.pth and sam_med3d_turbo.pth share). The names of modules are those of the published
checkpoints, so that their state dicts fit as they are. Axes are those of the array: coordinates of a point are its
index ``(axis 0, axis 1, axis 2)``.
"""

from __future__ import annotations

import math
from collections import OrderedDict

import torch
from segment_anything.modeling import MaskDecoder, TwoWayTransformer
from segment_anything.modeling.common import MLPBlock
from torch import Tensor, nn
from torch.nn import functional

SIDE = 128
"""Voxels of the volume along each axis."""
PATCH = 16
GRID = SIDE // PATCH
"""Cells of the embedding along each axis; a mask prompt and the logits have four times as many."""
WIDTH = 768
DEPTH = 12
HEADS = 12
WINDOW = 14
GLOBAL_BLOCKS = (2, 5, 8, 11)
EMBEDDING = 384


class ChannelNorm(nn.LayerNorm):
    """Layer norm over axis 1 of ``(batch, channel, ...)``."""

    def __init__(self, channels: int) -> None:
        super().__init__(channels, eps=1e-6)

    def forward(self, input: Tensor) -> Tensor:
        return super().forward(input.movedim(1, -1)).movedim(-1, 1)


class Attention(nn.Module):
    """Self-attention of a cube of tokens, ``(batch, 8, 8, 8, channel)``, inside a window that may be larger.

    The window starts at the cube's first token. Its padding can be seen: zeros before the projection, not masked.
    """

    def __init__(self, width: int, heads: int, window: int) -> None:
        super().__init__()
        self.heads, self.window = heads, window
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.rel_pos_d = nn.Parameter(torch.zeros(2 * window - 1, width // heads))
        self.rel_pos_h = nn.Parameter(torch.zeros(2 * window - 1, width // heads))
        self.rel_pos_w = nn.Parameter(torch.zeros(2 * window - 1, width // heads))

    def forward(self, tokens: Tensor) -> Tensor:
        size = tokens.shape[1]
        query, key, value = self._projected(tokens)
        rows = query[:, :, :size, :size]  # with the padding along the last axis, for `_bias`
        query = rows[..., :size, :].flatten(2, 4)  # what the padding asks for would be cut off again
        key, value = key.flatten(2, 4), value.flatten(2, 4)
        attended = functional.scaled_dot_product_attention(query, key, value, self._bias(rows))
        return self.proj(attended.transpose(1, 2).reshape(tokens.shape))

    def _projected(self, tokens: Tensor) -> Tensor:
        """Query, key and value of the whole window, ``(3, batch, head, d, h, w, channel)``."""
        window = projected = self.qkv(tokens)
        size = tokens.shape[1]
        if size < self.window:
            nothing = self.qkv.bias.to(projected.dtype)  # what the projection makes of a zero
            window = nothing.repeat(len(tokens), self.window, self.window, self.window, 1)
            window[:, :size, :size, :size] = projected
        return torch.unflatten(window, -1, (3, self.heads, -1)).permute(4, 0, 5, 1, 2, 3, 6)

    def _bias(self, rows: Tensor) -> Tensor:
        """What relative positions add to the logits, ``(batch, head, token, token of the window)``.

        Upstream's terms are not the ones that were meant, but its weights were trained with them: their axes are
        broadcast one place off. So all three tables read the key's w, and those of h and w ask not the query but the
        tokens of its row (same d and h) whose w is the key's d and the key's h, even if they are padding.
        """
        size = rows.shape[2]
        index = torch.arange(self.window, device=rows.device)
        offsets = index[:, None] - index + self.window - 1
        of_d = torch.einsum("bndhwc,dkc->bndhwk", rows[..., :size, :], self.rel_pos_d[offsets[:size]])
        of_h = torch.einsum("bndhwc,hkc->bndhwk", rows, self.rel_pos_h[offsets[:size]])
        of_w = torch.einsum("bndhwc,wkc->bndhwk", rows, self.rel_pos_w[offsets])
        # to (batch, head, d, h, w, key's d, key's h, key's w)
        terms = of_d[..., None, None, :] + of_h[..., None, :, None, :] + of_w[..., None, None, :, :]
        return terms.flatten(5).flatten(2, 4)


class Block(nn.Module):
    """A transformer block for ``(batch, 8, 8, 8, channel)``."""

    def __init__(self, width: int, heads: int, window: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width, eps=1e-6)
        self.attn = Attention(width, heads, window)
        self.norm2 = nn.LayerNorm(width, eps=1e-6)
        self.mlp = MLPBlock(width, 4 * width)

    def forward(self, tokens: Tensor) -> Tensor:
        tokens = tokens + self.attn(self.norm1(tokens))
        return tokens + self.mlp(self.norm2(tokens))


class ImageEncoder(nn.Module):
    """Volumes ``(batch, 1, 128, 128, 128)`` to embeddings ``(batch, 384, 8, 8, 8)``."""

    def __init__(self) -> None:
        super().__init__()
        self.patch_embed = nn.Sequential(OrderedDict(proj=nn.Conv3d(1, WIDTH, kernel_size=PATCH, stride=PATCH)))
        self.pos_embed = nn.Parameter(torch.zeros(1, GRID, GRID, GRID, WIDTH))
        # the windows of 14 are larger than the whole grid, but their padding is attended to, so they cannot go
        windows = [GRID if index in GLOBAL_BLOCKS else WINDOW for index in range(DEPTH)]
        self.blocks = nn.Sequential(*[Block(WIDTH, HEADS, window) for window in windows])
        self.neck = nn.Sequential(
            nn.Conv3d(WIDTH, EMBEDDING, kernel_size=1, bias=False),
            ChannelNorm(EMBEDDING),
            nn.Conv3d(EMBEDDING, EMBEDDING, kernel_size=3, padding=1, bias=False),
            ChannelNorm(EMBEDDING),
        )

    def forward(self, volume: Tensor) -> Tensor:
        tokens = self.patch_embed(volume).movedim(1, -1) + self.pos_embed
        return self.neck(self.blocks(tokens).movedim(-1, 1))


class PositionEncoding(nn.Module):
    """Random Fourier features: coordinates ``(..., 3)`` between 0 and 1 to ``(..., 384)``."""

    positional_encoding_gaussian_matrix: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("positional_encoding_gaussian_matrix", torch.randn(3, EMBEDDING // 3))

    def forward(self, coordinates: Tensor) -> Tensor:
        phase = 2 * math.pi * ((2 * coordinates - 1) @ self.positional_encoding_gaussian_matrix)
        return torch.cat([phase.sin(), phase.cos(), phase.sin()], dim=-1)  # the sine twice fills 3 x 128 channels


class PromptEncoder(nn.Module):
    """Points and a mask to what the decoder reads; this network knows no boxes."""

    def __init__(self) -> None:
        super().__init__()
        self.pe_layer = PositionEncoding()
        self.point_embeddings = nn.ModuleList([nn.Embedding(1, EMBEDDING), nn.Embedding(1, EMBEDDING)])
        self.not_a_point_embed = nn.Embedding(1, EMBEDDING)
        self.mask_downscaling = nn.Sequential(
            nn.Conv3d(1, 4, kernel_size=2, stride=2),
            ChannelNorm(4),
            nn.GELU(),
            nn.Conv3d(4, 16, kernel_size=2, stride=2),
            ChannelNorm(16),
            nn.GELU(),
            nn.Conv3d(16, EMBEDDING, kernel_size=1),
        )
        self.no_mask_embed = nn.Embedding(1, EMBEDDING)

    def forward(self, points: Tensor, labels: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """From what `SamMed3D.decode` takes: sparse ``(batch, point + 1, 384)``, dense ``(batch, 384, 8, 8, 8)``."""
        if mask is not None:
            return self._sparse(points, labels), self.mask_downscaling(mask)
        no_mask = self.no_mask_embed.weight[:, :, None, None, None]
        return self._sparse(points, labels), no_mask.expand(len(points), -1, GRID, GRID, GRID)

    def _sparse(self, points: Tensor, labels: Tensor) -> Tensor:
        kinds = torch.cat(list(self.point_embeddings.parameters()))[labels.clamp(min=0)]
        tokens = self.pe_layer((points + 0.5) / SIDE) + kinds
        absent = self.not_a_point_embed.weight
        tokens = torch.where((labels < 0)[..., None], absent, tokens)
        return torch.cat([tokens, absent.expand(len(points), 1, -1)], dim=1)  # SAM ends points without a box like this

    def dense_positions(self) -> Tensor:
        """The encoding of the embedding's cells, ``(1, 384, 8, 8, 8)``."""
        centres = (torch.arange(GRID, device=self.no_mask_embed.weight.device) + 0.5) / GRID
        axis0, axis1, axis2 = torch.meshgrid(centres, centres, centres, indexing="ij")
        # axes 0 and 1 are swapped as against the points: an upstream slip that the weights have learnt to live with
        return self.pe_layer(torch.stack([axis1, axis0, axis2], dim=-1)).movedim(-1, 0)[None]


class Upscaling(nn.Sequential):
    """From ``(batch, 384, 8, 8 * 8)`` to ``(batch, 48, 32, 32 * 32)``."""

    def __init__(self) -> None:
        super().__init__(
            nn.ConvTranspose3d(EMBEDDING, EMBEDDING // 4, kernel_size=2, stride=2),
            ChannelNorm(EMBEDDING // 4),
            nn.GELU(),
            nn.ConvTranspose3d(EMBEDDING // 4, EMBEDDING // 8, kernel_size=2, stride=2),
            nn.GELU(),
        )

    def forward(self, input: Tensor) -> Tensor:
        features = torch.unflatten(input, 3, (GRID, GRID))
        for layer in self:
            features = layer(features)
        return features.flatten(3)


def mask_decoder() -> MaskDecoder:
    """Segment-anything's decoder, which looks at an embedding's space only as a list of cells, for volumes.

    Its inputs and outputs have two spatial axes: the second and the third of the volume are one.
    """
    transformer = TwoWayTransformer(depth=2, embedding_dim=EMBEDDING, num_heads=8, mlp_dim=2048)
    decoder = MaskDecoder(transformer_dim=EMBEDDING, transformer=transformer)
    decoder.output_upscaling = Upscaling()
    return decoder


class SamMed3D(nn.Module):
    """SAM-Med3D: `encode` a volume once, `decode` prompts for it as often as wanted."""

    def __init__(self) -> None:
        super().__init__()
        self.image_encoder = ImageEncoder()
        self.prompt_encoder = PromptEncoder()
        self.mask_decoder = mask_decoder()

    def encode(self, volume: Tensor) -> Tensor:
        """Volumes ``(batch, 1, 128, 128, 128)``, z-scored, to embeddings ``(batch, 384, 8, 8, 8)``."""
        return self.image_encoder(volume)

    def decode(
        self, embedding: Tensor, points: Tensor, labels: Tensor, mask: Tensor | None = None, multimask: bool = False
    ) -> tuple[Tensor, Tensor]:
        """Logits ``(batch, k, 32, 32, 32)`` and predicted IoUs ``(batch, k)``, k being 1, or 3 for `multimask`.

        Args:
            embedding: ``(batch, 384, 8, 8, 8)`` from `encode`, one for each set of prompts.
            points: ``(batch, point, 3)``, voxel indices along axes 0, 1 and 2; the network adds the half voxel.
            labels: ``(batch, point)``, integers: 1 target, 0 background, -1 no point.
            mask: the logits of the last answer, ``(batch, 1, 32, 32, 32)``; zeros with the first click, as in training.
                None takes the embedding that stands for no mask.
            multimask: three masks for the possible meanings of a click, instead of one.
        """
        sparse, dense = self.prompt_encoder(points, labels, mask)
        logits, iou = self.mask_decoder(
            # the decoder would pair every embedding with every set of prompts; as part of `dense` each meets its own
            image_embeddings=embedding.new_zeros(1, 1, 1, 1),
            image_pe=self.prompt_encoder.dense_positions().flatten(3),
            sparse_prompt_embeddings=sparse,
            dense_prompt_embeddings=(embedding + dense).flatten(3),
            multimask_output=multimask,
        )
        return torch.unflatten(logits, 3, (4 * GRID, 4 * GRID)), iou


def build_sammed3d() -> SamMed3D:
    """The network without its weights."""
    return SamMed3D()
