"""SAM-Med2D: SAM ViT-B with adapters at 256 pixels, trained on 2D medical images of many modalities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from intrabench.models.parts.recipe import Recipe
from intrabench.models.parts.sam_family import SamFamily


@dataclass(eq=False)
class SAMMed2D(SamFamily):
    """SAM-Med2D on slices (Cheng et al., arXiv 2308.16184): points and boxes, the best of three masks.

    It was trained with sigmoids as mask prompt, so it gets sigmoids. ``policy=radioactive`` differs only in the
    percentiles: those of the positive voxels of each slice.
    """

    name = "sammed2d"
    extra = "sam"
    requires = ("segment_anything", "torchvision")
    side = 256
    room_mb = 500
    recipes = {
        "official": Recipe("volume", "squash_nearest", "best", "sigmoid"),
        "radioactive": Recipe("slice_positive", "squash_nearest", "best", "sigmoid", predicts_all=True),
    }

    @property
    def weights(self) -> str:
        """The published file."""
        return "sammed2d"

    def build(self) -> Any:
        """SAM ViT-B with an adapter in each block."""
        from intrabench.models.networks.sammed2d import build_sammed2d

        return build_sammed2d()
