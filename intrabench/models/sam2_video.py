"""SAM 2 on a volume as a video: prompts on some slices, the object followed through all others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Floats32
from intrabench.models.networks.sam2_choice import SIDE
from intrabench.models.parts import resize
from intrabench.models.parts.video_model import VideoModel
from intrabench.models.sam2 import Sam2Choice
from intrabench.specs.specs import switch

if TYPE_CHECKING:
    import torch


@dataclass(eq=False)
class SAM2Frames(VideoModel):
    """Base of networks of SAM 2's kind; a subclass says which it is, and the side of its images."""

    side: ClassVar[int] = SIDE

    corrections: Literal["conditioning", "overwritten"] = switch("conditioning")

    @property
    def tracker(self) -> Any:
        """The network itself."""
        return self.network

    def image_embeddings(self, batch: torch.Tensor) -> torch.Tensor:
        """As SAM 2 on single slices."""
        embeddings: torch.Tensor = self.network.encode(batch)
        return embeddings

    def frame(self, image: NDArray[np.uint8]) -> Floats32:
        """An 8-bit slice as the network takes it, ``(3, side, side)``: as the authors load frames, without JPEG."""
        import torch

        from intrabench.models.networks.sam2 import normalised

        values = resize.fit(image, "squash_bicubic_smooth", self.side) / 255
        frame: Floats32 = normalised(torch.from_numpy(values)).numpy()
        return frame


@dataclass(eq=False)
class SAM2Video(SAM2Frames, Sam2Choice):
    """SAM 2 and 2.1 as video (Ravi et al., ICLR 2025): slices are frames, and the object is tracked up and down.

    Takes points and 2D boxes on any slices; `size` and `release` are those of `sam2`. Each round is what a user of the
    authors' video predictor does for a single object: `add_new_points_or_box` on each slice with new prompts, then
    `propagate_in_video` forward and in reverse. From the second round on every slice was tracked, so a click corrects
    the slice's own last logits with the memory of the others. What counts on a slice are its last box and all its
    points (the predictor's `clear_old_points=False`), or with earlier prompts dropped those of this round
    (`clear_old_points=True`); outcomes of other slices stay.

    With `corrections=conditioning` all other slices look at a corrected one, as SAM 2.1 was trained
    (`add_all_frames_to_correct_as_cond`). Without that setting version 1.1.0 of the package loses corrections: it
    drops those on slices of the first round and tracks over the others; `corrections=overwritten` repeats that.
    `fill_holes` is the largest hole that is filled, in pixels of the 256 x 256 logits, 8 as the authors'; 0 fills none.
    A session remembers the logits of all slices where the network sees the object, 0.25 MiB each.
    """

    name = "sam2_video"
    version = "2"
