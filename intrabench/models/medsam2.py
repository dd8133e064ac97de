"""MedSAM2: SAM 2.1 fine-tuned on scans as videos, in the three ways in which its authors' scripts prompt it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Mask
from intrabench.models.parts.intensity import SOFT_TISSUE, assumed, slice_images
from intrabench.models.parts.recist import Line, without_strokes
from intrabench.models.sam2_video import SAM2Frames
from intrabench.prompts import Prompts
from intrabench.specs.specs import switch
from intrabench.specs.values import Positive
from intrabench.volume import Volume

Workflow = Literal["box", "mask", "recist"]
Checkpoint = Literal["latest", "2411", "CTLesion", "MRI_LiverLesion", "US_Heart"]
Components = Literal["script", "all"]


@dataclass(eq=False)
class MedSAM2(SAM2Frames):
    """MedSAM2 (Ma et al., arXiv 2504.03600): SAM 2.1 t at 512 x 512 pixels, slices as frames.

    Its authors have several scripts, and their users ask which one is meant. All begin with prompts on a key slice and
    track up and down from there, with a `reset_state` between: no direction sees what the other found.

    ``workflow=box`` is medsam2_infer_3D_CT.py: the box goes to `add_new_points_or_box` and is tracked. Of the answer
    the largest 26-connected part is kept; ``components=all`` keeps all.

    ``workflow=mask`` is what medsam2_infer_CT_lesion_npz_recist.py and infer_CT_LUNA25.py do: the key slice is
    segmented from its prompts, the mask takes their place (`add_new_mask`), and is tracked. All parts are kept.

    ``workflow=recist`` also takes strokes, such as the longest diameter (prompter `recist`). That script makes five
    random points of it, which then become a mask as above. ``line=box`` is its `propagate_with_box`: the square
    around the line. `intrabench/models/parts/recist.py` has the details.

    The scripts end there. Corrections go on as in `sam2_video`: a slice is decoded from all its prompts, its own last
    logits and the memory of all others, becomes one at which all others look (as in the authors' training), and all
    others are tracked again, each direction by itself. Prompts on several slices do the same at once. Boxes are passed
    with an exclusive maximum.

    CT is windowed (`level` and `width` in HU: soft tissue, as for `medsam`; the scripts have DeepLesion's own windows,
    and -750 and 1500 for lungs) and stretched to 0 to 255. Other scans are clipped to the 0.5 and 99.5 percentiles of
    their positive voxels. Slices of 8-bit values are resized as by Pillow, and normalised as ImageNet. The scripts
    compute in bfloat16 on CUDA (``--dtype bfloat16``).

    checkpoint: latest is what the authors recommend, 2411 their first; CTLesion, MRI_LiverLesion and US_Heart were
    fine-tuned for that. `corrections` and `fill_holes` (in pixels of the 128 x 128 logits) are those of `sam2_video`.
    """

    name = "medsam2"
    extra = "sam2"
    requires = ("sam2",)
    accepts = frozenset({"point", "box2d", "scribble"})
    side = 512

    workflow: Workflow = "box"
    checkpoint: Checkpoint = "latest"
    line: Line = switch("points")
    components: Components = switch("script")
    level: float = switch(SOFT_TISSUE[0])
    width: Positive = switch(SOFT_TISSUE[1])

    def __post_init__(self) -> None:
        if self.workflow != "recist":
            self.accepts = SAM2Frames.accepts  # type: ignore[misc]  # the other scripts have no lines

    @property
    def weights(self) -> str:
        """One file for each checkpoint."""
        return f"medsam2_{self.checkpoint.lower()}"

    def build(self) -> Any:
        """SAM 2.1 t, but for smaller images."""
        from intrabench.models.networks.sam2 import build_sam2

        return build_sam2("t", "2.1", self.side)

    def notes(self, volume: Volume) -> tuple[str, ...]:
        """Whether it had to assume that a scan is CT, or is not."""
        return assumed(volume, "modality")

    def prepared(self, volume: Volume) -> Callable[[int], NDArray[Any]]:
        """The function from z to the 8-bit slice."""
        images = slice_images(volume, "modality", (self.level, self.width))
        return lambda z: images(z).astype(np.uint8)

    def settings(self, shape: tuple[int, int]) -> dict[str, Any]:
        """Directions are apart, and but for boxes a mask takes the place of prompts."""
        return super().settings(shape) | {"apart": True, "mask_shape": None if self.workflow == "box" else shape}

    def taken(self, prompts: Prompts, shape: tuple[int, int]) -> Prompts:
        """Strokes as points or squares."""
        return without_strokes(prompts, self.line, shape) if prompts.scribbles else prompts

    def kept(self, mask: Mask) -> Mask:
        """The largest part, if the script keeps no other; of equal ones the first."""
        if self.workflow != "box" or self.components == "all" or not mask.any():
            return mask
        from scipy import ndimage

        labels, _ = ndimage.label(mask.array, np.ones((3, 3, 3)))
        return Mask.of(labels == 1 + np.bincount(labels.ravel())[1:].argmax(), mask.start)
