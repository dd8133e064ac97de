"""ScribblePrompt-SAM: SAM ViT-B fine-tuned for scribbles, clicks and boxes on biomedical images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from intrabench.models.networks.sam import build_sam
from intrabench.models.parts.recipe import Recipe
from intrabench.models.parts.sam_family import SamFamily


@dataclass(eq=False)
class ScribblePromptSAM(SamFamily):
    """ScribblePrompt-SAM on slices (Wong et al., ECCV 2024): a scribble is one click for each of its pixels."""

    name = "scribbleprompt_sam"
    weights = "scribbleprompt_sam"
    extra = "sam"
    requires = ("segment_anything", "torchvision")
    room_mb = 4000
    mixes = True
    recipes = {"official": Recipe("none", "squash", "best", "logits", fractions="kept")}

    def build(self) -> Any:
        """SAM ViT-B."""
        return build_sam("b")
