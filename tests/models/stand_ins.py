"""Stand-ins for the networks of models: what they answer is simple and shows which prompts reached them, and how.

They are smooth, so that few voxels lie at the threshold, where machines round differently.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from intrabench.models.base import Model
from intrabench.models.medsam2 import MedSAM2
from intrabench.models.parts.sam_family import SamFamily
from intrabench.models.sam2 import SAM2
from intrabench.models.sam2_video import SAM2Video
from intrabench.models.sammed3d import SAMMed3D
from intrabench.models.scribbleprompt_unet import ScribblePromptUNet
from intrabench.models.segvol import SegVol

HEIGHTS = {-1: 0.0, 0: -6.0, 1: 6.0, 2: 2.1, 3: 2.3}
"""What points add by label; 2 and 3 are the corners of a box."""


def stand_in(model: Model) -> Model:
    """The model with a stand-in, or as it is if it has no network."""
    if isinstance(model, SAM2):
        model.network = Squares(model.side)
    elif isinstance(model, SamFamily):
        model.network = Squares(model.side)
        model.decoded = model.network.decoded  # type: ignore[method-assign]
    elif isinstance(model, (SAM2Video, MedSAM2)):
        model.network = Frames(model.side)
    elif isinstance(model, SAMMed3D):
        model.network = Cubes()
    elif isinstance(model, SegVol):
        model.network = Windows()
    elif isinstance(model, ScribblePromptUNet):
        model.network = channels
    return model


def bumps(xyz: Tensor, labels: Tensor, sides: Sequence[int], step: float) -> Tensor:
    """Cones ``(n, *sides)`` around points ``(n, k, d)`` with labels ``(n, k)`` of a grid with so many pixels a step."""
    places = torch.stack(torch.meshgrid(*(torch.arange(side) * step for side in sides), indexing="ij"), dim=-1)
    found = torch.zeros(len(xyz), *sides)
    for n, (points, names) in enumerate(zip(xyz, labels, strict=True)):
        for point, label in zip(points, names.tolist(), strict=True):
            away = (places - point.float()).norm(dim=-1) / (sides[0] * step / 6)
            found[n] += HEIGHTS[label] * (1 - away).clamp(min=0)
    return found


class Squares:
    """An encoder and a decoder of slices, as those of SAM and of SAM 2."""

    def __init__(self, side: int) -> None:
        self.side, self.low = side, side // 4

    def image_encoder(self, images: Tensor) -> Tensor:
        """The brightness, ``(n, 1, side / 4, side / 4)``."""
        return functional.avg_pool2d(images.mean(dim=1, keepdim=True), 4)

    def encode(self, images: Tensor) -> Tensor:
        """The same in one row."""
        return self.image_encoder(images).flatten(1)

    def decode(self, embeddings: Tensor, points: Tensor, labels: Tensor, masks: Tensor | None, several: bool) -> Any:
        """As `decoded`, from rows, and with boxes as points."""
        images = embeddings.reshape(-1, 1, self.low, self.low)
        return self.decoded(images, (points, labels), None, masks, several)

    def decoded(
        self, embeddings: Tensor, points: Any, boxes: Tensor | None, masks: Tensor | None, several: bool
    ) -> Any:
        """Logits, and which seem best: the last."""
        low = embeddings - 0.313
        if points is not None:
            xy, labels = points
            low = low + bumps(xy.flip(-1), labels, (self.low, self.low), 4)[:, None]
        if boxes is not None:
            corners = boxes.reshape(-1, 2, 2).flip(-1)
            low = (
                low
                + bumps(corners.mean(dim=1, keepdim=True), torch.ones(len(boxes), 1), (self.low, self.low), 4)[:, None]
            )
            low = low + bumps(corners, torch.tensor([[2, 3]] * len(boxes)), (self.low, self.low), 4)[:, None]
        if masks is not None:
            low = low + masks / 2
        count = 3 if several else 1
        return torch.cat([low + n / 3 for n in range(count)], dim=1), torch.arange(float(count)).expand(len(low), count)


class Frames(Squares):
    """A network that follows an object: half of what it saw elsewhere, the prompts, and its own last logits."""

    device = torch.device("cpu")

    def maps(self, embedding: Tensor) -> Tensor:
        """The brightness of a slice."""
        return embedding.reshape(1, self.low, self.low)

    def track(self, maps: Tensor, z: int, frames: int, seen: Any, reverse: bool, asked: Any) -> Any:
        """Logits of a slice."""
        logits = maps - 0.313 + 0.01 * reverse
        memories = [one["maskmem_features"] for part in seen for one in part.values()]
        if memories and not asked.initial:
            logits = logits + torch.stack(memories).mean(dim=0) / 2
        if asked.prompt is not None:
            logits = logits + bumps(asked.prompt.points[None].flip(-1), asked.prompt.labels[None], maps.shape[1:], 4)
        if asked.previous is not None:
            logits = logits + asked.previous[0] / 4
        if asked.mask is not None:
            logits = logits + functional.avg_pool2d(asked.mask[0], 4) - 0.5
        return logits, torch.ones(1, 1), torch.zeros(1, 1)

    def remember(self, maps: Tensor, logits: Tensor, score: Tensor, prompted: bool) -> tuple[Tensor, None]:
        """The logits."""
        return logits * (1.0 if prompted else 0.9), None


class Cubes:
    """The network of SAM-Med3D."""

    def encode(self, volume: Tensor) -> Tensor:
        """The brightness, ``(1, 1, 32, 32, 32)``."""
        return functional.avg_pool3d(volume, 4)

    def decode(self, embedding: Tensor, points: Tensor, labels: Tensor, previous: Tensor) -> tuple[Tensor, Tensor]:
        """Logits, and an estimate."""
        return embedding - 0.313 + bumps(points, labels, (32, 32, 32), 4)[:, None] + previous / 2, torch.zeros(1, 1)


class Windows:
    """The network of SegVol."""

    def encode(self, windows: Tensor) -> Tensor:
        """The brightness."""
        return functional.avg_pool3d(windows, (1, 4, 4))

    def decode(self, embedding: Tensor, *asked: Tensor | None) -> Tensor:
        """Logits that fall a little with each prompt."""
        return embedding - 0.313 + sum(float(one.float().mean()) for one in asked if one is not None) / 1000


def channels(drawn: Tensor) -> Tensor:
    """The logits of ScribblePrompt-UNet from image, box, clicks and last logits ``(n, 5, 128, 128)``."""
    image, box, positive, negative, before = (drawn[:, n : n + 1] for n in range(5))
    near = [functional.avg_pool2d(one, 15, 1, 7) * 225 for one in (positive, negative)]
    return image + 2 * box + 3 * near[0] - 4 * near[1] + before / 2 - 1.313
