"""Which families of transformers can be prompted, by ``model_type``: for what must not import torch."""

from __future__ import annotations

from typing import NamedTuple

from intrabench.models.parts.resize import Resize


class Family(NamedTuple):
    """The classes of a family; `video` is empty if it has none. resize: what its processor does to an image."""

    title: str
    image: str
    video: str
    processor: str
    resize: Resize

    @property
    def pads(self) -> bool:
        """Whether images keep their ratio and are padded."""
        return self.resize == "longest"


_SAM = Family("SAM", "SamModel", "", "SamImageProcessor", "longest")
_SAM_HQ = Family("SAM-HQ", "SamHQModel", "", "SamImageProcessor", "longest")
_SAM2 = Family("SAM 2", "Sam2Model", "Sam2VideoModel", "Sam2ImageProcessor", "squash_smooth")
_EDGETAM = Family("EdgeTAM", "EdgeTamModel", "EdgeTamVideoModel", "Sam2ImageProcessor", "squash_smooth")
_SAM3 = Family("SAM 3 tracker", "Sam3TrackerModel", "Sam3TrackerVideoModel", "Sam3ImageProcessor", "squash_smooth")

FAMILIES = {
    "sam": _SAM,
    "sam_hq": _SAM_HQ,
    "sam2": _SAM2,
    "sam2_video": _SAM2,
    "edgetam": _EDGETAM,
    "edgetam_video": _EDGETAM,
    "sam3_tracker": _SAM3,
    "sam3_tracker_video": _SAM3,
    "sam3_video": _SAM3,
}
"""By ``model_type`` of config.json; that of a video loads as images, too."""
