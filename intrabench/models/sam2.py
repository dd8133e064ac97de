"""SAM 2 on single slices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Floats32
from intrabench.models.networks.sam2_choice import Release, Size
from intrabench.models.parts import resize
from intrabench.models.parts.network_model import NetworkModel
from intrabench.models.parts.points import as_points
from intrabench.models.parts.recipe import Recipe
from intrabench.models.parts.sam_family import SamFamily, bilinear

if TYPE_CHECKING:
    import torch


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
    recipes = {
        "official": Recipe("volume", "squash_smooth", "first_click", "logits"),
        "radioactive": Recipe("volume", "squash_smooth", "single", "logits", predicts_all=True, fractions="rounded"),
    }

    def encode(self, images: Sequence[NDArray[Any]]) -> Sequence[Floats32]:
        """Slices to embeddings: three maps in one vector."""
        import torch

        batch = torch.from_numpy(np.stack([self.prepare(image) for image in images]))
        with self.computing():
            embeddings: Floats32 = self.network.encode(batch.to(self.runtime.device)).cpu().numpy()
        return list(embeddings)

    def full(self, low: torch.Tensor, frame: resize.Frame) -> torch.Tensor:
        """Logits straight to the slice."""
        return bilinear(self.unpadded(low, frame), frame.shape)

    def decoded(
        self,
        embeddings: torch.Tensor,
        points: tuple[torch.Tensor, torch.Tensor] | None,
        boxes: torch.Tensor | None,
        masks: torch.Tensor | None,
        multimask: bool,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Low-resolution logits and estimated IoU; a box is two points with labels of their own, before all clicks."""
        return self.network.decode(embeddings, *as_points(points, boxes), masks, multimask)
