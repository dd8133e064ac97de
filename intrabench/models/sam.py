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

    Points are voxel indices and boxes have an exclusive maximum; both are scaled to the square, and the network itself
    moves points to the centre of their pixels. ``policy=radioactive`` always takes the best of three masks, rounds
    8-bit values, uses sigmoids instead of logits as mask prompt and a threshold of 0.5 on logits, and answers once a
    round for all prompted slices.
    """

    name = "sam"
    version = "2"
    extra = "sam"
    requires = ("segment_anything", "torchvision")
    recipes = {
        "official": Recipe("volume", "longest", multimask="first_click", feedback="logits"),
        "radioactive": Recipe("volume", "longest", "best", "sigmoid", 0.5, predicts_all=True, fractions="rounded"),
    }
    room_mb = 4000
    mixes = True

    size: Size = "b"

    @property
    def weights(self) -> str:
        """One file for each size."""
        return f"sam_vit_{self.size}"

    def build(self) -> Any:
        """The network of that size."""
        return build_sam(self.size)
