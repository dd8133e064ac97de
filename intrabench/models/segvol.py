"""SegVol: a 3D network for CT that looks at the whole volume first, then closely at what it found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from intrabench.mask import Box
from intrabench.models.base import Answer, Request
from intrabench.models.parts.crop_model import CropModel, Floats, OpenCrops
from intrabench.models.parts.recipe import Policy
from intrabench.prompts import Derived
from intrabench.specs import switch
from intrabench.volume import Volume

if TYPE_CHECKING:
    import torch


@dataclass(eq=False)
class SegVol(CropModel):
    """SegVol (Du et al., NeurIPS 2024) with points or a box: zoom out, then zoom in; no text.

    It has no mask prompt, so a correction is all prompts so far plus the new points. In the zoom-in each window gets up
    to five random target points, drawn from a separate random stream for every request. The original refuses points
    together with a box; here both are passed. ``policy=radioactive`` differs in the seed of that stream.
    """

    name = "segvol"
    grey_only = True
    extra = "sam"
    requires = ("segment_anything", "torchvision")
    accepts = frozenset({"point", "box3d"})
    feeds_back = False
    covers = "the foreground of the scan"

    policy: Policy = "official"
    derived: Derived = switch("none")

    @property
    def weights(self) -> str:
        """The published file without its text encoder."""
        return "segvol"

    def build(self) -> Any:
        """The network without its text encoder."""
        from intrabench.models.networks.segvol import build_segvol

        return build_segvol()

    def prepared(self, volume: Volume) -> Any:
        """The crop: the foreground, its intensities from 0 to 1.

        Raises:
            ValueError: the image has channels.
        """
        from intrabench.models.networks.segvol_zoom import Crop

        if volume.array.ndim != 3:
            raise ValueError("SegVol takes grey volumes, not colour images")
        return Crop.of(volume.array)

    def encode(self, crop: Floats) -> Floats:
        """A window ``(32, 256, 256)`` to its embedding ``(768, 8, 16, 16)``."""
        import torch

        with self.computing():
            batch = torch.from_numpy(crop[None, None]).to(self.runtime.device)
            embedding: Floats = self.network.encode(batch).float()[0].cpu().numpy()
        return embedding

    def segment_one(self, image: OpenCrops, request: Request) -> Answer:
        """Answer for the whole volume.

        Raises:
            ValueError: a prompt lies outside of the volume.
        """
        import torch

        from intrabench.models.networks.segvol_zoom import Prompts, segment

        points = np.vstack([turn.prompts.points for turn in request.given])
        drawn = [turn.prompts.box3d for turn in request.given if turn.prompts.box3d is not None]
        box = drawn[-1] if drawn else None
        shape = image.volume.shape
        if ((points[:, :3] < 0) | (points[:, :3] >= shape)).any():
            raise ValueError(f"a point lies outside of the volume of {' x '.join(map(str, shape))} voxels")
        if box is not None and ((box[3:] <= 0) | (box[:3] >= shape)).any():
            raise ValueError(f"the box lies outside of the volume of {' x '.join(map(str, shape))} voxels")

        def encode(key: Box | None, window: torch.Tensor) -> torch.Tensor:
            name = "frame" if key is None else "_".join(map(str, key))
            embedding = image.embedding(name, lambda: window[0, 0].numpy())
            return torch.from_numpy(np.array(embedding[None])).to(self.runtime.device)

        prompts = Prompts.of(image.prepared, points, None if box is None else box.tolist())
        generator = torch.Generator().manual_seed(1 if self.policy == "radioactive" else 0)
        with self.computing():
            mask = segment(image.prepared, prompts, encode, self._decode, generator)
        return Answer(mask, reach=image.prepared.box)

    def _decode(self, embedding: torch.Tensor, *prompts: torch.Tensor | None) -> torch.Tensor:
        device = self.runtime.device
        logits: torch.Tensor = self.network.decode(embedding, *(None if p is None else p.to(device) for p in prompts))
        return self.finite(logits.float())
