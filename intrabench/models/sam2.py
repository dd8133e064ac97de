"""SAM 2 on single slices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from intrabench.models.networks.sam2_choice import Release, Size
from intrabench.models.parts import resize
from intrabench.models.parts.network_model import NetworkModel
from intrabench.models.parts.recipe import Recipe
from intrabench.models.parts.sam_family import SamFamily, as_points, bilinear

if TYPE_CHECKING:
    from torch import Tensor

    from intrabench.models.networks.sam import Pair


@dataclass(eq=False)
class Sam2Choice(NetworkModel):
    """The parameters that say which SAM 2 it is."""

    extra = "sam2"
    requires = ("sam2",)

    size: Size = "t"
    release: Release = "2.1"

    @property
    def weights(self) -> str:
        """One file for each size and release."""
        return f"{'sam2.1' if self.release == '2.1' else 'sam2'}_{self.size}"

    def build(self) -> Any:
        """The network of that size and release."""
        from intrabench.models.networks.sam2 import build_sam2

        return build_sam2(self.size, self.release)


@dataclass(eq=False)
class SAM2(Sam2Choice, SamFamily):
    """SAM 2 and 2.1 on slices (Ravi et al., ICLR 2025); `size` t, s, b+ or l, `release` 2.0 or 2.1.

    ``policy=radioactive`` always takes the single mask, rounds 8-bit values, and answers once a round for all prompted
    slices.
    """

    name = "sam2"
    version = "2"
    room_mb = 3000
    mixes = True
    recipes = {
        "official": Recipe("volume", "squash_smooth", "first_click", "logits"),
        "radioactive": Recipe("volume", "squash_smooth", "single", "logits", predicts_all=True, fractions="rounded"),
    }

    def image_embeddings(self, batch: Tensor) -> Tensor:
        """Three maps in one vector."""
        embeddings: Tensor = self.network.encode(batch)
        return embeddings

    def full(self, low: Tensor, frame: resize.Frame) -> Tensor:
        """Logits straight to the slice."""
        return bilinear(self.unpadded(low, frame), frame.shape)

    def decoded(
        self, embeddings: Tensor, points: Pair | None, boxes: Tensor | None, masks: Tensor | None, multimask: bool
    ) -> Pair:
        """Low-resolution logits and estimated IoU; a box is two points with labels of their own, before all clicks."""
        return self.network.decode(embeddings, *as_points(points, boxes), masks, multimask)
