"""MSCAN-B, the backbone of SegNeXt: convolutional attention at four scales.

Guo et al., "SegNeXt: Rethinking Convolutional Attention Design for Semantic Segmentation", NeurIPS 2022,
https://arxiv.org/abs/2209.08575. The names of modules are those of its published checkpoints.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

WIDTHS = (64, 128, 320, 512)
"""Channels of the four stages, at 1/4, 1/8, 1/16 and 1/32 of the image's size."""
DEPTHS = (3, 3, 12, 3)
EXPANSIONS = (8, 8, 4, 4)
STRIPS = (7, 11, 21)
"""Lengths of the strip convolutions, pixels."""
DROP_PATH = 0.1


class DropPath(nn.Module):
    """In training, leaves out a whole branch for some of the samples (stochastic depth, arXiv 1603.09382)."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, branch: Tensor) -> Tensor:
        if not self.training or self.rate == 0:
            return branch
        kept = torch.empty(len(branch), 1, 1, 1, device=branch.device).bernoulli_(1 - self.rate)
        return branch * kept / (1 - self.rate)


def depthwise(channels: int, height: int, width: int) -> nn.Conv2d:
    """A convolution of each channel by itself that keeps the size."""
    return nn.Conv2d(channels, channels, (height, width), padding=(height // 2, width // 2), groups=channels)


class StripAttention(nn.Module):
    """Multi-scale convolutional attention (SegNeXt, eq. 1 and 2): the input weighed by its own surroundings."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv0 = depthwise(channels, 5, 5)
        for index, length in enumerate(STRIPS):
            self.add_module(f"conv{index}_1", depthwise(channels, 1, length))
            self.add_module(f"conv{index}_2", depthwise(channels, length, 1))
        self.conv3 = nn.Conv2d(channels, channels, 1)

    def forward(self, features: Tensor) -> Tensor:
        near = self.conv0(features)
        total = near
        for index in range(len(STRIPS)):
            total = total + self.get_submodule(f"conv{index}_2")(self.get_submodule(f"conv{index}_1")(near))
        return self.conv3(total) * features


class Attention(nn.Module):
    """Strip attention between two linear maps of the channels, with a shortcut."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.proj_1 = nn.Conv2d(channels, channels, 1)
        self.activation = nn.GELU()
        self.spatial_gating_unit = StripAttention(channels)
        self.proj_2 = nn.Conv2d(channels, channels, 1)

    def forward(self, features: Tensor) -> Tensor:
        return features + self.proj_2(self.spatial_gating_unit(self.activation(self.proj_1(features))))


class MLP(nn.Module):
    """Two linear maps of the channels with a 3 x 3 depthwise convolution between."""

    def __init__(self, channels: int, expansion: int) -> None:
        super().__init__()
        self.fc1 = nn.Conv2d(channels, expansion * channels, 1)
        self.dwconv = depthwise(expansion * channels, 3, 3)
        self.act = nn.GELU()
        self.fc2 = nn.Conv2d(expansion * channels, channels, 1)

    def forward(self, features: Tensor) -> Tensor:
        return self.fc2(self.act(self.dwconv(self.fc1(features))))


class Block(nn.Module):
    """Attention and MLP, each after a batch norm and scaled by channel; keeps ``(batch, channel, y, x)``."""

    def __init__(self, channels: int, expansion: int, drop_path: float) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(channels)
        self.attn = Attention(channels)
        self.norm2 = nn.BatchNorm2d(channels)
        self.mlp = MLP(channels, expansion)
        self.drop_path = DropPath(drop_path)
        self.layer_scale_1 = nn.Parameter(torch.full((channels,), 1e-2))
        self.layer_scale_2 = nn.Parameter(torch.full((channels,), 1e-2))

    def forward(self, features: Tensor) -> Tensor:
        features = features + self.drop_path(self.layer_scale_1[:, None, None] * self.attn(self.norm1(features)))
        return features + self.drop_path(self.layer_scale_2[:, None, None] * self.mlp(self.norm2(features)))


def halving(inputs: int, outputs: int) -> nn.Conv2d:
    """A convolution that halves the size."""
    return nn.Conv2d(inputs, outputs, 3, stride=2, padding=1)


class Stem(nn.Module):
    """Images to features of a quarter of their size."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        half = outputs // 2
        self.proj = nn.Sequential(
            halving(inputs, half), nn.BatchNorm2d(half), nn.GELU(), halving(half, outputs), nn.BatchNorm2d(outputs)
        )

    def forward(self, images: Tensor) -> Tensor:
        return self.proj(images)


class Downsampling(nn.Module):
    """Features to those of half their size."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.proj = halving(inputs, outputs)
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, features: Tensor) -> Tensor:
        return self.norm(self.proj(features))


class MSCAN(nn.Module):
    """Images ``(batch, 3, y, x)`` to the features of four stages, ``(batch, WIDTHS[i], y / 2^(2+i), x / 2^(2+i))``."""

    def __init__(self) -> None:
        super().__init__()
        rates = iter(torch.linspace(0, DROP_PATH, sum(DEPTHS)).tolist())
        for index, (width, depth, expansion) in enumerate(zip(WIDTHS, DEPTHS, EXPANSIONS, strict=True)):
            embedding = Stem(3, width) if index == 0 else Downsampling(WIDTHS[index - 1], width)
            self.add_module(f"patch_embed{index + 1}", embedding)
            self.add_module(
                f"block{index + 1}", nn.Sequential(*[Block(width, expansion, next(rates)) for _ in range(depth)])
            )
            self.add_module(f"norm{index + 1}", nn.LayerNorm(width))

    def forward(self, images: Tensor, added: Tensor | None = None) -> list[Tensor]:
        """`added` is put on top of what the stem gives, ``(batch, 64, y / 4, x / 4)``."""
        features, stages = images, []
        for stage in range(1, len(WIDTHS) + 1):
            features = self.get_submodule(f"patch_embed{stage}")(features)
            if stage == 1 and added is not None:
                features = features + added
            features = self.get_submodule(f"block{stage}")(features)
            features = self.get_submodule(f"norm{stage}")(features.movedim(1, -1)).movedim(-1, 1)
            stages.append(features)
        return stages
