"""The U-Net of ScribblePrompt.

Wong et al., "ScribblePrompt: Fast and Flexible Interactive Segmentation for Any Biomedical Image", ECCV 2024,
https://arxiv.org/abs/2312.07381, https://github.com/halleewong/ScribblePrompt. The names of modules are those of the
published checkpoint, so that its state dict fits as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class ConvBlock(nn.Module):
    """A convolution that keeps the size of the image, and its activation if there is one."""

    def __init__(self, inputs: int, outputs: int, kernel: int = 3, active: bool = True) -> None:
        super().__init__()
        convolution = nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2)
        self.conv = nn.Sequential(convolution, nn.PReLU()) if active else nn.Sequential(convolution)

    def forward(self, features: Tensor) -> Tensor:
        return self.conv(features)


class ScribblePromptUNet(nn.Module):
    """Image and prompts ``(batch, 5, y, x)`` to logits ``(batch, 1, y, x)``.

    Sizes are multiples of 16, and were 128 x 128 in training. The channels are the image, scaled to [0, 1]; the filled
    box; clicks (single pixels) and scribbles on the target; the same on the background, all 0 or 1; the logits, not
    their sigmoid, of the last answer, or zeros.
    """

    def __init__(self, inputs: int = 5, outputs: int = 1, widths: Sequence[int] = (192, 192, 192, 192)) -> None:
        super().__init__()
        self.downs = nn.ModuleList()
        self.ups = nn.ModuleList()
        self.pool = nn.MaxPool2d(2)
        features = inputs
        for width in widths:
            self.downs.append(ConvBlock(features, width))
            features = width
        self.bottleneck = ConvBlock(features, features)
        for width in reversed(widths):
            # trained with align_corners; without weights, but in the list, because the checkpoint's keys count it
            self.ups.append(nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True))
            self.ups.append(ConvBlock(width + features, width))
            features = width
        self.final_conv = ConvBlock(features, outputs, kernel=1, active=False)

    def forward(self, images: Tensor) -> Tensor:
        features, skips = images, []
        for down in self.downs:
            skips.append(down(features))
            features = self.pool(skips[-1])
        features = self.bottleneck(features)
        for upsample, block in zip(self.ups[::2], self.ups[1::2], strict=True):
            features = block(torch.cat([skips.pop(), upsample(features)], dim=1))
        return self.final_conv(features)
