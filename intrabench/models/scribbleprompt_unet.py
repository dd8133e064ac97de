"""ScribblePrompt-UNet: a small network for scribbles, clicks and boxes on biomedical images."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Floats32
from intrabench.models.parts import resize
from intrabench.models.parts.intensity import slice_images
from intrabench.models.parts.network_model import NetworkModel
from intrabench.models.parts.recipe import Recipe, WithRecipe
from intrabench.models.parts.sam_family import bilinear
from intrabench.models.parts.slice_model import SliceItem, SliceModel, SliceResult
from intrabench.volume import Volume

SIDE = 128


@dataclass(eq=False)
class ScribblePromptUNet(WithRecipe, NetworkModel, SliceModel):
    """ScribblePrompt-UNet on slices (Wong et al., ECCV 2024): prompts are drawn into channels beside the image.

    There are five channels of 128 x 128 pixels: the slice from 0 to 1, the filled box, positive clicks and scribbles,
    negative ones, and the logits of the last answer. Coordinates are rounded down, as by the authors, but a box that
    would vanish keeps one pixel, while their code draws none. ``policy=radioactive`` rounds the corners of boxes to the
    nearest pixel, feeds back sigmoids of sigmoids, as the code of the IntRaBench paper does, and answers once a round
    for all prompted slices.
    """

    name = "scribbleprompt_unet"
    version = "2"
    weights = "scribbleprompt_unet"
    accepts = frozenset({"point", "box2d"})
    encoder = "bottleneck"
    lacks = ("multimask",)
    recipes = {
        "official": Recipe("none", "squash", feedback="logits"),
        "radioactive": Recipe("none", "squash", feedback="sigmoid", predicts_all=True),
    }

    def alike(self, points: int, box: bool, previous: bool) -> Hashable:
        """True: prompts are drawn, so that any items can be decoded together."""
        return None

    def build(self) -> Any:
        """The network."""
        from intrabench.models.networks.scribbleprompt_unet import ScribblePromptUNet as Network

        return Network()

    def slice_images(self, volume: Volume) -> Callable[[int], NDArray[Any]]:
        """Slices with values from 0 to 255; colours become their mean."""
        images = slice_images(volume, self.recipe.intensity)
        return lambda z: images(z) if images(z).ndim == 2 else images(z).mean(axis=-1)

    def encode(self, images: Sequence[NDArray[Any]]) -> Sequence[Floats32]:
        """The resized slices ``(128, 128)``, from 0 to 1; there is no separate encoder."""
        return [resize.pad(resize.fit(image, self.recipe.resize, SIDE), SIDE)[0] / np.float32(255) for image in images]

    def decode(self, items: Sequence[SliceItem]) -> Sequence[SliceResult]:
        """Masks from the images and the drawn prompts.

        Raises:
            FloatingPointError: the network's answer is not finite.
        """
        import torch

        channels = torch.from_numpy(np.stack([self.channels(item) for item in items])).to(self.runtime.device)
        with self.computing():
            logits = self.finite(self.network(channels).float()[:, 0])
            height, width = resize.frame(self.recipe.resize, items[0].shape, SIDE).inner
            probability = bilinear(torch.sigmoid(logits)[:, :height, :width], items[0].shape)
            masks = probability > torch.sigmoid(torch.tensor(self.recipe.threshold))
            back = torch.sigmoid(torch.sigmoid(logits)) if self.recipe.feedback == "sigmoid" else logits
        kept = back.cpu().numpy() if self.feeds_back and any(item.logits for item in items) else [None] * len(items)
        scores = probability.cpu().numpy() if any(item.scores for item in items) else [None] * len(items)
        return list(map(SliceResult, masks.cpu().numpy(), kept, scores))

    def channels(self, item: SliceItem) -> Floats32:
        """Image, filled box, positive and negative points, previous logits: ``(5, 128, 128)``.

        Where points of both labels fall on one pixel, the later one counts. A box has at least one pixel.
        """
        drawn = np.zeros((5, SIDE, SIDE), dtype=np.float32)
        drawn[0] = item.embedding
        frame = resize.frame(self.recipe.resize, item.shape, SIDE)
        if item.box is not None:
            corners = self.scaled(np.array(item.box).reshape(2, 2), frame)
            (y0, x0), (y1, x1) = (np.rint(corners) if self.policy == "radioactive" else corners).astype(int)
            drawn[1, min(y0, SIDE - 1) : max(y1, y0 + 1), min(x0, SIDE - 1) : max(x1, x0 + 1)] = 1
        for (y, x), label in zip(self.scaled(item.points[:, :2], frame).astype(int), item.points[:, 2], strict=True):
            drawn[2:4, y, x] = (1, 0) if label == 1 else (0, 1)
        if item.previous is not None:
            drawn[4] = item.previous
        return drawn

    def scaled(self, yx: NDArray[Any], frame: resize.Frame) -> NDArray[Any]:
        """Rows ``y, x`` of the slice in the network's square, in the precision that decides how they round."""
        dtype = np.float64 if self.policy == "radioactive" else np.float32
        return yx.astype(dtype) * (np.array(frame.inner) / np.array(frame.shape)).astype(dtype)
