"""SAM 2 and its successors through volumes, from any repository of the Hugging Face hub, or from a folder."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Floats32
from intrabench.models.parts.hub_model import HubModel
from intrabench.models.parts.video_model import VideoModel
from intrabench.specs.specs import switch
from intrabench.specs.values import Natural

if TYPE_CHECKING:
    import torch


@dataclass(eq=False)
class HFVideo(VideoModel, HubModel):
    """SAM 2 and 2.1, EdgeTAM or the tracker of SAM 3 as video, from a repository of the Hugging Face hub.

    Slices are frames, and the object is tracked up and down, in rounds as those of `sam2_video`; `repo` and `revision`
    are those of `hf`. The repository's processor prepares frames. Code: transformers, Apache-2.0.

    The library's own session decodes a corrected slice without the slice's own last logits, and then tracks over the
    correction, so that it is lost; ``corrections=library`` repeats that. By default they are kept, as in `sam2_video`.
    The library fills no holes; `fill_holes` is the largest that is filled, in pixels of the low-resolution logits.
    """

    name = "hf_video"
    video = True

    corrections: Literal["conditioning", "library"] = switch("conditioning")
    fill_holes: Natural = switch(0)

    @cached_property
    def tracker(self) -> Any:
        """The network in the library's own session."""
        from intrabench.models.networks.hf_video import HubTracker

        return HubTracker(self.network)

    def image_embeddings(self, batch: torch.Tensor) -> torch.Tensor:
        """See `intrabench.models.networks.hf_video.encode`."""
        from intrabench.models.networks import hf_video

        return hf_video.encode(self.network, batch)

    def frame(self, image: NDArray[np.uint8]) -> Floats32:
        """An 8-bit slice as the network takes it, ``(3, side, side)``."""
        return self.pixels(image)
