"""Base of models that take the slices of a volume for the frames of a video: prompts on some, the object on all."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Floats32, Mask
from intrabench.models.base import Answer, Request
from intrabench.models.parts import resize
from intrabench.models.parts.crop_model import CropModel, OpenCrops
from intrabench.models.parts.intensity import slice_images
from intrabench.models.parts.sam_family import as_points, bilinear
from intrabench.models.parts.slice_model import clipped
from intrabench.models.parts.slice_scores import SliceScores
from intrabench.prompts import Derived, Prompts, StrokePoints
from intrabench.specs.specs import switch
from intrabench.specs.values import Natural
from intrabench.volume import Volume

if TYPE_CHECKING:
    import torch

    from intrabench.models.networks.tracks import SlicePrompt


@dataclass(eq=False)
class VideoModel(CropModel):
    """Base of them: points and 2D boxes on any slices. A subclass encodes slices, and its `tracker` is the network.

    Where that differs it says how scans are prepared (`prepared`), how rounds are played (`settings`), and what is made
    of prompts (`taken`) and masks (`kept`).

    side: of the square that the network sees, to which slices are stretched. threshold: on logits; voxels above it are
    answered. corrections: with conditioning all other slices look at a corrected one; the other choice does what the
    library of the network does. fill_holes: the largest hole that is filled, in pixels of
    the low-resolution logits; 0 fills none.
    """

    accepts = frozenset({"point", "box2d"})
    one_box = True
    any_plane = True
    side: ClassVar[int]

    threshold: float = switch(0.0)
    derived: Derived = switch("none")
    strokes: StrokePoints = switch("one_negative")
    corrections: str = switch("conditioning")
    fill_holes: Natural = switch(8)

    @property
    @abstractmethod
    def tracker(self) -> Any:
        """The network as one that follows an object, `intrabench.models.networks.tracks.Tracks`."""

    @abstractmethod
    def image_embeddings(self, batch: torch.Tensor) -> torch.Tensor:
        """The embeddings of prepared slices ``(n, 3, side, side)``: three maps in one vector each."""

    def encode(self, crop: Floats32) -> Floats32:
        """A prepared slice ``(3, side, side)`` to its embedding."""
        return self.embedding_of(crop, self.image_embeddings)

    @abstractmethod
    def frame(self, image: NDArray[np.uint8]) -> Floats32:
        """An 8-bit slice as the network takes it, ``(3, side, side)``."""

    def settings(self, shape: tuple[int, int]) -> dict[str, Any]:
        """The keywords of `play_round` for slices of that shape, ``(y, x)``."""
        return {"fill_area": self.fill_holes, "corrections": self.corrections}

    def taken(self, prompts: Prompts, shape: tuple[int, int]) -> Prompts:
        """Prompts as the points and 2D boxes that the network takes, on slices of that shape, ``(y, x)``."""
        return prompts

    def kept(self, mask: Mask) -> Mask:
        """What of the tracked mask is the answer."""
        return mask

    def prepared(self, volume: Volume) -> Callable[[int], NDArray[Any]]:
        """The function from z to the 8-bit slice: percentiles of the volume."""
        images = slice_images(volume, "volume")
        return lambda z: images(z).astype(np.uint8)

    def segment_one(self, image: OpenCrops, request: Request) -> Answer:
        """Answer for the whole volume; a turn without prompts changes nothing.

        Raises:
            ValueError: a prompt lies outside of the volume.
        """
        from intrabench.models.networks.sam2_video import play_round

        slices, height, width = image.volume.shape
        history = [self.taken(turn.prompts, (height, width)) for turn in request.given]
        prompts = {z: self._prompt(history, z, image.volume.shape) for z in history[-1].slices()}
        if not prompts:
            return Answer(request.mask, memory=request.memory)
        with self.computing():
            past = play_round(
                self.tracker,
                partial(self._features, image),
                slices,
                prompts,
                request.memory,
                **self.settings((height, width)),
            )
            masks, scores = [], SliceScores()
            for z in range(slices):
                logits = self._logits(past[z].logits, (height, width))
                masks.append(Mask.of(logits > self.threshold, (z, 0, 0)))
                if request.scores:
                    scores.add(masks[-1], logits[0])
        update = self.kept(Mask.union(masks))
        return Answer(update, memory=past, scores=scores.within(update.box))

    def _logits(self, logits: torch.Tensor, shape: tuple[int, int]) -> Floats32:
        """A slice ``(1, y, x)`` in its own size, without holes."""
        from intrabench.models.networks.sam2_video import fill_holes

        filled = fill_holes(self.finite(logits), self.fill_holes).to(self.runtime.device)
        found: Floats32 = bilinear(filled, shape).cpu().numpy()
        return found

    def _features(self, image: OpenCrops, z: int) -> torch.Tensor:
        return self.tensor(image.embedding(z, lambda: self.frame(image.prepared(z))))

    def _prompt(self, history: list[Prompts], z: int, shape: tuple[int, int, int]) -> SlicePrompt:
        """What counts on a slice: the last box, then all points."""
        import torch

        from intrabench.models.networks.tracks import SlicePrompt

        points = np.vstack([prompts.points[prompts.points[:, 0] == z, 1:] for prompts in history])
        boxes = np.vstack([prompts.boxes2d[prompts.boxes2d[:, 0] == z, 1:] for prompts in history])[-1:]
        if not 0 <= z < shape[0] or (len(points) and not ((points >= 0).all() and (points[:, :2] < shape[1:]).all())):
            raise ValueError(f"slice {z} has a prompt outside of the volume of {' x '.join(map(str, shape))} voxels")
        frame = resize.frame("squash_bicubic_smooth", (shape[1], shape[2]), self.side)
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
        return SlicePrompt(coordinates[0], labels[0])
