"""SAM: Segment Anything, trained on natural images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from intrabench.models.networks.sam import Size, build_sam
from intrabench.models.parts.recipe import Recipe
from intrabench.models.parts.sam_family import SamFamily


@dataclass(eq=False)
class SAM(SamFamily):
    """SAM on slices (Kirillov et al., ICCV 2023); `size` b, l or h.

    Points are voxel indices and boxes have our exclusive maximum, both scaled to the square; the network itself moves
    points to the middle of their pixels. ``policy=radioactive``: always the best of three masks, sigmoids instead of
    logits as mask prompt, a threshold of 0.5 on logits, and all prompted slices predicted again in each round.
    """

    name = "sam"
    extra = "sam"
    requires = ("segment_anything", "torchvision")
    recipes = {
        "official": Recipe("volume", "longest", multimask="first_click", feedback="logits"),
        "radioactive": Recipe("volume", "longest", "best", "sigmoid", threshold=0.5, predicts_all=True),
    }
    room_mb = 4000

    size: Size = "b"

    @property
    def weights(self) -> str:
        """One file for each size."""
        return f"sam_vit_{self.size}"

    def build(self) -> Any:
        """The network of that size."""
        return build_sam(self.size)
