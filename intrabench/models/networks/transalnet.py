"""TranSalNet with a ResNet-50 encoder, with the keys of its published file.

Lou et al., TranSalNet: Towards perceptually relevant visual saliency prediction, Neurocomputing 494 (2022). Written
anew after https://github.com/LJOVO/TranSalNet.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

SHAPE = (288, 384)
"""Rows and columns of the picture that it sees."""

_STAGES = (("1", 2048, 768, 12, 32), ("2", 1024, 768, 12, 16), ("3", 512, 512, 8, 8))
"""Of each transformer its name, channels in and out, heads, and the stride of its map."""
_WIDTHS = (768, 768, 512, 256, 128, 64, 32, 1)
"""Channels before, between and after the convolutions of the decoder."""


class TranSalNet(nn.Module):
    """RGB or BGR pictures ``(n, 3, 288, 384)`` from 0 to 1 give their saliency ``(n, 1, 288, 384)``, from 0 to 1."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = _Encoder(), _Decoder()

    def forward(self, pictures: Tensor) -> Tensor:
        found: Tensor = self.decoder(self.encoder(pictures))
        return found


class _Encoder(nn.Module):
    def __init__(self) -> None:
        from torchvision.models import resnet50

        super().__init__()
        self.encoder = nn.ModuleList(list(resnet50(weights=None).children())[:8])

    def forward(self, x: Tensor) -> list[Tensor]:
        """The maps of strides 32, 16 and 8."""
        maps = []
        for layer in self.encoder:
            x = layer(x)
            maps.append(x)
        return maps[:4:-1]


class _Decoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv7: nn.Module
        for n, (inputs, outputs) in enumerate(itertools.pairwise(_WIDTHS), start=1):
            setattr(self, f"conv{n}", nn.Conv2d(inputs, outputs, 3, padding=1))
            if outputs > 1:
                setattr(self, f"batchnorm{n}", nn.BatchNorm2d(outputs))
        for name, channels, width, heads, stride in _STAGES:
            places = SHAPE[0] // stride * (SHAPE[1] // stride)
            setattr(self, f"TransEncoder{name}", _Transformer(channels, width, heads, places))

    def forward(self, maps: Sequence[Tensor]) -> Tensor:
        x: Tensor | None = None
        for name, picture in zip("123", maps, strict=True):
            seen = getattr(self, f"TransEncoder{name}")(picture)
            x = seen if x is None else functional.relu(_doubled(x) * seen)
            x = self._convolved(x, name)
        assert x is not None
        x = self._convolved(_doubled(x), "4")
        x = self._convolved(_doubled(x), "5")
        x = self._convolved(_doubled(x), "6")
        return torch.sigmoid(self.conv7(x))

    def _convolved(self, x: Tensor, name: str) -> Tensor:
        convolved = getattr(self, f"conv{name}")(x)
        return functional.relu(getattr(self, f"batchnorm{name}")(convolved))


class _Transformer(nn.Module):
    def __init__(self, channels: int, width: int, heads: int, places: int) -> None:
        super().__init__()
        self.patch_embeddings = nn.Conv2d(channels, width, 1)
        self.position_embeddings = nn.Parameter(torch.zeros(1, places, width))
        self.transformer_encoder: Any = nn.Module()
        self.transformer_encoder.layer = nn.ModuleList(_Block(width, heads) for _ in range(2))
        self.transformer_encoder.encoder_norm = nn.LayerNorm(width, eps=1e-6)

    def forward(self, picture: Tensor) -> Tensor:
        places: Tensor = self.patch_embeddings(picture).flatten(2).transpose(1, 2) + self.position_embeddings
        for block in self.transformer_encoder.layer:
            places = block(places)
        places = self.transformer_encoder.encoder_norm(places)
        return places.transpose(1, 2).reshape(len(picture), -1, *picture.shape[2:])


class _Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.attention_norm, self.ffn_norm = (nn.LayerNorm(width, eps=1e-6) for _ in range(2))
        self.attn: Any = nn.Module()
        self.ffn: Any = nn.Module()
        for name in ("query", "key", "value", "out"):
            setattr(self.attn, name, nn.Linear(width, width))
        self.ffn.fc1, self.ffn.fc2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        normed = self.attention_norm(x)
        apart = [
            layer(normed).unflatten(2, (self.heads, -1)).transpose(1, 2)
            for layer in (self.attn.query, self.attn.key, self.attn.value)
        ]
        x = x + self.attn.out(functional.scaled_dot_product_attention(*apart).transpose(1, 2).flatten(2))
        return x + self.ffn.fc2(functional.gelu(self.ffn.fc1(self.ffn_norm(x))))


def _doubled(x: Tensor) -> Tensor:
    return functional.interpolate(x, scale_factor=2, mode="nearest")
