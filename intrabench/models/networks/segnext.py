"""The clickability network of RClicks: SegNeXt-B with two masks beside the image, and one map as its answer.

Antonov et al., "RClicks: Realistic Click Simulation for Benchmarking Interactive Segmentation", NeurIPS 2024,
https://arxiv.org/abs/2410.11722, https://github.com/emb-ai/rclicks; its head is LightHamHead of SegNeXt (Guo et al.,
NeurIPS 2022) with the matrix factorisation of Geng et al., "Is Attention Better Than Matrix Decomposition?", ICLR 2021,
https://arxiv.org/abs/2109.04553. The names of modules are those of the published checkpoint, so that its state dict
fits as it is.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from intrabench.models.networks.mscan import MSCAN, WIDTHS, halving

CHANNELS = 512
BASES = 16
GROUPS = 32
TRAINING_STEPS, STEPS = 6, 7
EPSILON = 1e-6


class Factorisation(nn.Module):
    """Features ``(batch, channel, y, x)``, not negative, to their product of two matrices of rank 16, not negative.

    Multiplicative updates (Lee and Seung, 1999) from the same bases every time: a buffer of the checkpoint, drawn once.
    """

    bases: Tensor

    def __init__(self, channels: int, rank: int) -> None:
        super().__init__()
        self.register_buffer("bases", functional.normalize(torch.rand(1, channels, rank), dim=1))

    def forward(self, features: Tensor) -> Tensor:
        pixels = features.flatten(2)  # batch, channel, pixel
        bases = self.bases.expand(len(pixels), -1, -1)
        weights = (pixels.transpose(1, 2) @ bases).softmax(dim=-1)  # batch, pixel, rank
        for _ in range(TRAINING_STEPS if self.training else STEPS):
            weights = _updated(weights, pixels.transpose(1, 2), bases)
            bases = _updated(bases, pixels, weights)
        weights = _updated(weights, pixels.transpose(1, 2), bases)
        return (bases @ weights.transpose(1, 2)).reshape(features.shape)


def _updated(factor: Tensor, product: Tensor, other: Tensor) -> Tensor:
    """One multiplicative update of `factor` so that ``factor @ other.T`` comes closer to `product`."""
    return factor * (product @ other) / (factor @ (other.transpose(1, 2) @ other) + EPSILON)


class Projection(nn.Module):
    """A linear map of the channels, then group norm and ReLU where asked for."""

    def __init__(self, inputs: int, outputs: int, norm: bool = True, active: bool = True) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, 1, bias=not norm)
        nn.init.kaiming_normal_(self.conv.weight, mode="fan_out", nonlinearity="relu")  # as mmcv begins training
        if self.conv.bias is not None:
            nn.init.zeros_(self.conv.bias)
        if norm:
            self.gn = nn.GroupNorm(GROUPS, outputs)
        self.norm, self.active = norm, active

    def forward(self, features: Tensor) -> Tensor:
        features = self.conv(features)
        features = self.gn(features) if self.norm else features
        return functional.relu(features) if self.active else features


class Hamburger(nn.Module):
    """What all pixels have in common: a factorisation between two linear maps, with a shortcut."""

    def __init__(self) -> None:
        super().__init__()
        self.ham_in = Projection(CHANNELS, CHANNELS, norm=False)
        self.ham = Factorisation(CHANNELS, BASES)
        self.ham_out = Projection(CHANNELS, CHANNELS, active=False)

    def forward(self, features: Tensor) -> Tensor:
        return functional.relu(features + self.ham_out(self.ham(self.ham_in(features))))


class LightHamHead(nn.Module):
    """The features of all four stages (SegNeXt takes the last three) to logits ``(batch, 1, y / 4, x / 4)``."""

    def __init__(self) -> None:
        super().__init__()
        self.squeeze = Projection(sum(WIDTHS), CHANNELS)
        self.hamburger = Hamburger()
        self.align = Projection(CHANNELS, CHANNELS)
        self.dropout = nn.Dropout2d(0.1)
        self.conv_seg = nn.Conv2d(CHANNELS, 1, 1)

    def forward(self, stages: list[Tensor]) -> Tensor:
        size = stages[0].shape[2:]
        alike = [functional.interpolate(stage, size, mode="bilinear", align_corners=False) for stage in stages]
        return self.conv_seg(self.dropout(self.align(self.hamburger(self.squeeze(torch.cat(alike, dim=1))))))


class Scale(nn.Module):
    """Multiplies by the size of one number, learnt."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.full((1,), 0.05))

    def forward(self, features: Tensor) -> Tensor:
        return features * self.scale.abs()


class EncoderDecoder(nn.Module):
    """Backbone and head."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone = MSCAN()
        self.decode_head = nn.ModuleList([LightHamHead()])

    def forward(self, images: Tensor, added: Tensor) -> Tensor:
        return self.decode_head[0](self.backbone(images, added))


class SegNeXtClickability(nn.Module):
    """Where people click: images and masks to maps from 0 to 1, ``(batch, 1, y, x)``.

    Images ``(batch, 3, y, x)`` are RGB, normalised; masks ``(batch, 2, y, x)``, from 0 to 1, are the whole target and
    the error that the click is to correct.
    """

    def __init__(self) -> None:
        super().__init__()
        self.encoder_decoder = EncoderDecoder()
        self.maps_transform = nn.Sequential(
            nn.Conv2d(2, 16, 1), nn.ReLU(), halving(16, 16), nn.ReLU(), halving(16, WIDTHS[0]), Scale()
        )

    def logits(self, images: Tensor, masks: Tensor) -> Tensor:
        """The head's answer, ``(batch, 1, y / 4, x / 4)``."""
        return self.encoder_decoder(images, self.maps_transform(masks))

    def forward(self, images: Tensor, masks: Tensor) -> Tensor:
        logits = self.logits(images, masks)
        full = functional.interpolate(logits, images.shape[2:], mode="bilinear", align_corners=True)
        low, high = full.amin(dim=(1, 2, 3), keepdim=True), full.amax(dim=(1, 2, 3), keepdim=True)
        return (full - low) / (high - low + 1e-9)
