"""SAM-Med2D: SAM ViT-B with adapters at 256 pixels, trained on 2D medical images of many modalities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from intrabench.models.parts.recipe import Recipe
from intrabench.models.parts.sam_family import SamFamily


@dataclass(eq=False)
class SAMMed2D(SamFamily):
    """SAM-Med2D on slices (Cheng et al., arXiv 2308.16184): points and boxes, the best of three masks.

    It was trained with sigmoids as mask prompt, so it gets sigmoids. ``policy=radioactive`` takes the percentiles of
    each slice, as the IntRaBench paper says, rounds 8-bit values, and answers once a round for all prompted slices. The
    code published with the paper counts only positive voxels: ``policy=radioactive,intensity=slice_positive``.
    """

    name = "sammed2d"
    version = "2"
    weights = "sammed2d"
    extra = "sam"
    requires = ("segment_anything", "torchvision")
    side = 256
    room_mb = 500
    mixes = True
    recipes = {
        "official": Recipe("volume", "squash_nearest", "best", "sigmoid"),
        "radioactive": Recipe("slice", "squash_nearest", "best", "sigmoid", predicts_all=True, fractions="rounded"),
    }

    def build(self) -> Any:
        """SAM ViT-B with an adapter in each block."""
        from intrabench.models.networks.sammed2d import build_sammed2d

        return build_sammed2d()
