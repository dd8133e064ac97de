"""MedSAM: SAM ViT-B fine-tuned on medical images, for boxes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Floats32
from intrabench.models.networks.sam import build_sam
from intrabench.models.parts import resize
from intrabench.models.parts.recipe import Recipe
from intrabench.models.parts.sam_family import SamFamily, bilinear

if TYPE_CHECKING:
    import torch


@dataclass(eq=False)
class MedSAM(SamFamily):
    """MedSAM on slices (Ma et al., Nature Communications 2024): takes boxes only.

    The official preprocessing windows CT to soft tissue, and other scans to the percentiles of their positive voxels.
    ``policy=radioactive`` uses percentiles of each slice instead of a window, and resizes without anti-aliasing.
    """

    name = "medsam"
    version = "2"
    weights = "medsam"
    extra = "sam"
    requires = ("segment_anything", "torchvision")
    accepts = frozenset({"box2d"})
    scaling = "unit"
    room_mb = 4000
    recipes = {
        "official": Recipe("modality", "squash_cubic"),
        "radioactive": Recipe("slice_positive", "squash_bicubic", predicts_all=True, fractions="kept"),
    }

    def build(self) -> Any:
        """SAM ViT-B."""
        return build_sam("b")

    def resized(self, image: NDArray[Any]) -> Floats32:
        """Resized, and truncated to whole numbers again."""
        resized = super().resized(image)
        return resized if self.recipe.fractions == "kept" else np.floor(resized)

    def full(self, low: torch.Tensor, frame: resize.Frame) -> torch.Tensor:
        """As in MedSAM, probabilities (not logits) are resized directly to the slice."""
        import torch

        return bilinear(torch.sigmoid(self.unpadded(low, frame)), frame.shape)

    @property
    def cutoff(self) -> float:
        """The probability of the threshold's logit."""
        import torch

        return float((1 / (1 + torch.exp(torch.tensor(-self.recipe.threshold)))).item())
