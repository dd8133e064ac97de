"""SAM 2 on a volume as a video: prompts on some slices, the object followed through all others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from intrabench.mask import Mask
from intrabench.models.base import Answer, Request
from intrabench.models.networks.sam2 import SIDE, prepare
from intrabench.models.networks.sam2_video import SlicePrompt, propagate
from intrabench.models.parts import resize
from intrabench.models.parts.crop_model import CropModel, Floats, OpenCrops
from intrabench.models.parts.intensity import slice_images
from intrabench.models.parts.sam_family import bilinear
from intrabench.models.parts.slice_model import clipped
from intrabench.models.sam2 import Sam2Choice, as_points
from intrabench.prompts import Derived, Prompts
from intrabench.specs import switch
from intrabench.volume import Volume


@dataclass(eq=False)
class SAM2Video(Sam2Choice, CropModel):
    """SAM 2 and 2.1 as video (Ravi et al., ICLR 2025): slices are frames, and the object is tracked up and down.

    Takes points and 2D boxes on any slices; the parameters are those of `sam2`. Each round tracks the object again from
    all prompts so far; a slice that was prompted before also gets its own last logits. Holes are not filled.
    """

    name = "sam2_video"
    accepts = frozenset({"point", "box2d"})

    threshold: float = switch(0.0)
    derived: Derived = switch("none")

    def prepared(self, volume: Volume) -> Callable[[int], NDArray[Any]]:
        """The function from z to the 8-bit slice: percentiles of the volume, as for `sam2`."""
        images = slice_images(volume.array, "volume", volume.modality)
        return lambda z: images(z).astype(np.uint8)

    def encode(self, crop: Floats) -> Floats:
        """A prepared slice ``(3, 1024, 1024)`` to its embedding: three maps in one vector."""
        with self.computing():
            embedding: Floats = (
                self.network.encode(torch.from_numpy(crop[None]).to(self.runtime.device))[0].cpu().numpy()
            )
        return embedding

    def segment_one(self, image: OpenCrops, request: Request) -> Answer:
        """Answer for the whole volume.

        Raises:
            ValueError: a prompt lies outside of the volume.
        """
        given, before = [turn.prompts for turn in request.given], request.memory or {}
        prompted = sorted({z for prompts in given for z in prompts.slices()})
        prompts = {z: self._prompt(given, z, image.volume.shape, before.get(z)) for z in prompted}
        features = partial(self._features, image)
        _, height, width = image.volume.shape
        masks, memory = [], {}
        with self.computing():
            for z, logits, *_ in propagate(self.network, features, image.volume.shape[0], prompts):
                full = bilinear(self.finite(logits.float()), (height, width)) > self.threshold
                masks.append(Mask.of(full.cpu().numpy(), (z, 0, 0)))
                if z in prompts:
                    memory[z] = logits.float().cpu().numpy().astype(np.float16)
        return Answer(Mask.union(masks), memory=memory)

    def _features(self, image: OpenCrops, z: int) -> torch.Tensor:
        embedding = image.embedding(z, lambda: prepare(image.prepared(z)).numpy())
        return torch.from_numpy(embedding).to(self.runtime.device)

    def _prompt(
        self, given: list[Prompts], z: int, shape: tuple[int, int, int], previous: NDArray[np.float16] | None
    ) -> SlicePrompt:
        """All prompts of a slice so far: all points and the last box."""
        points = np.vstack([prompts.points[prompts.points[:, 0] == z, 1:] for prompts in given])
        boxes = np.vstack([prompts.boxes2d[prompts.boxes2d[:, 0] == z, 1:] for prompts in given])[-1:]
        if not 0 <= z < shape[0] or (len(points) and not ((points >= 0).all() and (points[:, :2] < shape[1:]).all())):
            raise ValueError(f"slice {z} has a prompt outside of the volume of {' x '.join(map(str, shape))} voxels")
        frame = resize.frame("squash_smooth", (shape[1], shape[2]), SIDE)
        device = self.runtime.device
        clicks = corners = None
        if len(points):
            xy = np.ascontiguousarray(frame.coordinates(points[:, :2])[:, ::-1])
            clicks = torch.from_numpy(xy)[None].to(device), torch.from_numpy(points[:, 2])[None].to(device)
        if len(boxes):
            box = clipped(boxes[0], shape[1:], z)
            xy = np.ascontiguousarray(frame.coordinates(np.array(box).reshape(2, 2))[:, ::-1])
            corners = torch.from_numpy(xy).reshape(1, 4).to(device)
        coordinates, labels = as_points(clicks, corners)
        logits = None if previous is None else torch.from_numpy(previous.astype(np.float32)).to(device)
        return SlicePrompt(coordinates[0], labels[0], logits)
