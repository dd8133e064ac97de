"""SAM and its successors from any repository of the Hugging Face hub, or from a folder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from intrabench.mask import Floats32
from intrabench.models.parts import resize
from intrabench.models.parts.hub_model import HubModel
from intrabench.models.parts.recipe import Recipe
from intrabench.models.parts.sam_family import SamFamily, bilinear

if TYPE_CHECKING:
    from torch import Tensor

    from intrabench.models.networks.sam import Pair


@dataclass(eq=False)
class HF(HubModel, SamFamily):  # type: ignore[override]
    """SAM, SAM-HQ, SAM 2 and 2.1, EdgeTAM or the tracker of SAM 3 on slices, from a repository of the Hugging Face hub.

    Its ``config.json`` says which network it is (`model_type`); the repository's own processor prepares slices, so a
    fine-tuned checkpoint with another size or other means works as it is. Code: transformers, Apache-2.0.

    repo: ``ORG/NAME``, or a folder as `save_pretrained` writes it. revision: a branch, a tag or a commit; a branch
    stays at the commit that it was when it was fetched. Rows have that commit, or a hash of the folder's configuration,
    in `model_version`, and the sha256 of the weights. Only safetensors are read, and no code of the repository is run.
    """

    name = "hf"
    room_mb = 4000
    lacks = ("resize",)
    recipes = {"official": Recipe("volume", "longest", "first_click", "logits")}

    @property
    def recipe(self) -> Recipe:
        """The steps, with the resizing of the family once that is known."""
        return replace(super().recipe, resize=self.family.resize) if self.repo else super().recipe

    def prepare(self, image: NDArray[Any]) -> Floats32:
        """A slice of 8-bit values ``(y, x)`` or ``(y, x, 3)`` as the network takes it, ``(3, side, side)``."""
        return self.pixels(image)

    def image_embeddings(self, batch: Tensor) -> Tensor:
        """See `intrabench.models.networks.hf.encode`."""
        from intrabench.models.networks import hf

        return hf.encode(self.network, batch)

    def full(self, low: Tensor, frame: resize.Frame) -> Tensor:
        """Logits of the slice: of families that do not pad, straight from those of low resolution."""
        return super().full(low, frame) if self.family.pads else bilinear(low, frame.shape)

    def decoded(
        self, embeddings: Tensor, points: Pair | None, boxes: Tensor | None, masks: Tensor | None, multimask: bool
    ) -> Pair:
        """Low-resolution logits and estimated IoU; see `intrabench.models.networks.hf.decode`."""
        from intrabench.models.networks import hf

        return hf.decode(self.network, embeddings, points, boxes, masks, multimask)
