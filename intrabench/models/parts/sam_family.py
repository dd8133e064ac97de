"""What SAM and its relatives share: an image encoder, a prompt encoder and a mask decoder around 2D slices."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Floats32
from intrabench.models.networks.sam import decode
from intrabench.models.parts import resize
from intrabench.models.parts.batching import room_for
from intrabench.models.parts.intensity import slice_images
from intrabench.models.parts.network_model import NetworkModel
from intrabench.models.parts.recipe import Fractions, WithRecipe
from intrabench.models.parts.slice_model import SliceItem, SliceModel, SliceResult
from intrabench.volume import Volume

if TYPE_CHECKING:
    from torch import Tensor

    from intrabench.models.networks.sam import Pair

MEAN = np.array([123.675, 116.28, 103.53], dtype=np.float32)[:, None, None]
STD = np.array([58.395, 57.12, 57.375], dtype=np.float32)[:, None, None]
"""Of ImageNet's red, green and blue, for values from 0 to 255."""
CORNERS = 2, 3
"""The labels of the corners of a box among points."""


@dataclass(eq=False)
class SamFamily(WithRecipe, NetworkModel, SliceModel):
    """Base of the family. A subclass gives recipes, the `side` of the network's square, and the network.

    scaling: how resized 8-bit values enter, ``imagenet`` (mean and standard deviation) or ``unit`` (the slice's minimum
    to 0, its maximum to 1). room_mb: device memory that encoding one slice takes, about. mixes: `decoded` also takes
    boxes as points with the labels 2 and 3, and ignores those with the label -1.
    """

    side: ClassVar[int] = 1024
    scaling: ClassVar[Literal["imagenet", "unit"]] = "imagenet"
    room_mb: ClassVar[int] = 2000
    mixes: ClassVar[bool] = False
    accepts = frozenset({"point", "box2d"})

    def alike(self, points: int, box: bool, previous: bool) -> Hashable:
        """Which prompts there are, or to how many points they are padded."""
        padded = self.padded(points, box, previous)
        return (padded, previous) if padded else (points, box, previous)

    def padded(self, points: int, box: bool, previous: bool) -> int:
        """The number of points that a GPU pads prompts to, so that it decodes various ones together; 0: it does not.

        The corners of a box are two points, and one at least is padding. A box alone and a first click are not padded.
        """
        alone = points == 0 or (points == 1 and not box and not previous)
        if alone or not self.mixes or self.runtime.device == "cpu":
            return 0
        return max(16, 1 << (points + 2 * box).bit_length())

    def auto_batch(self, encoding: bool) -> int:
        """As many as fit into half of the GPU's free memory; a CPU encodes one by one, which is as fast."""
        if encoding and self.runtime.device == "cpu":
            return 1
        return room_for((self.room_mb if encoding else self.room_mb // 10) << 20, self.runtime.device, 32)

    def slice_images(self, volume: Volume) -> Callable[[int], NDArray[Any]]:
        """Slices as values from 0 to 255, ``(y, x)`` or ``(y, x, channel)``."""
        images = slice_images(volume, self.recipe.intensity)
        return lambda z: whole_numbers(images(z), self.recipe.fractions)

    def resized(self, image: NDArray[Any]) -> Floats32:
        """A slice in the size of the network, not yet padded, ``(channel, y, x)``."""
        return resize.fit(image, self.recipe.resize, self.side)

    def prepare(self, image: NDArray[Any]) -> Floats32:
        """A slice of values from 0 to 255 as the network takes it, ``(3, side, side)``."""
        resized = self.resized(image)
        if self.scaling == "imagenet":
            scaled = (resized - MEAN) / STD
        else:
            low, high = resized.min(), resized.max()
            scaled = (resized - low) / max(high - low, np.float32(1e-8))
        return resize.pad(scaled, self.side)

    def encode(self, images: Sequence[NDArray[Any]]) -> Sequence[Floats32]:
        """Slices to embeddings, ``(256, side / 16, side / 16)`` in SAM."""
        import torch

        batch = torch.from_numpy(np.stack([self.prepare(image) for image in images]))
        with self.computing():
            embeddings: Floats32 = self.image_embeddings(batch.to(self.runtime.device)).float().cpu().numpy()
        return list(embeddings)

    def image_embeddings(self, batch: Tensor) -> Tensor:
        """The embeddings of prepared slices; of several maps, all in one vector."""
        embeddings: Tensor = self.network.image_encoder(batch)
        return embeddings

    def decode(self, items: Sequence[SliceItem]) -> Sequence[SliceResult]:
        """Masks from the prompts of items that are alike.

        Raises:
            ValueError: a model of boxes got none.
            FloatingPointError: the network's answer is not finite.
        """
        import torch

        if "point" not in self.accepts and items[0].box is None:
            raise ValueError(f"{self.name} needs a box on every slice that it answers for")
        with self.computing():
            low = self.finite(self.low_logits(items))
            full = self.full(low, resize.frame(self.recipe.resize, items[0].shape, self.side))
            masks = (full > self.cutoff).cpu().numpy()
            back = torch.sigmoid(low) if self.recipe.feedback == "sigmoid" else low
        kept = self.remembered(back) if self.feeds_back and any(item.logits for item in items) else [None] * len(items)
        scores = full.float().cpu().numpy() if any(item.scores for item in items) else [None] * len(items)
        return list(map(SliceResult, masks, kept, scores))

    def remembered(self, back: Tensor) -> Any:
        """Logits ``(n, h, w)`` that come back: on a GPU they stay there, on a CPU they become an array."""
        return back.numpy() if self.runtime.device == "cpu" else back

    @property
    def cutoff(self) -> float:
        """Pixels whose value in `full` is above it belong to the mask."""
        return self.recipe.threshold

    def full(self, low: Tensor, frame: resize.Frame) -> Tensor:
        """Logits ``(n, y, x)`` of the slices from those of low resolution ``(n, h, w)``, as SAM makes them."""
        square = bilinear(low, (self.side, self.side))
        return bilinear(square[:, : frame.inner[0], : frame.inner[1]], frame.shape)

    def unpadded(self, low: Tensor, frame: resize.Frame) -> Tensor:
        """Low-resolution logits ``(n, h, w)`` without the part that belongs to the padding."""
        height, width = (round(n * low.shape[1] / self.side) for n in frame.inner)
        return low[:, :height, :width]

    def coordinates(self, yx: NDArray[Any], frame: resize.Frame) -> Floats32:
        """Rows ``y, x`` of a slice as rows x, y of the network's square."""
        return frame.coordinates(yx)[:, ::-1]

    def low_logits(self, items: Sequence[SliceItem]) -> Tensor:
        """The low-resolution logits ``(n, h, w)`` of the masks that the recipe takes."""
        import torch

        def stacked(rows: Sequence[Any]) -> Tensor:
            if isinstance(rows[0], torch.Tensor):
                return torch.stack(list(rows))
            return torch.from_numpy(np.stack(rows)).to(self.runtime.device)

        first = items[0]
        frame = resize.frame(self.recipe.resize, first.shape, self.side)
        embeddings = stacked([item.embedding for item in items])
        points = boxes = previous = None
        padded = self.padded(len(first.points), first.box is not None, first.previous is not None)
        if padded:
            rows = [self.as_padded(item, frame, padded) for item in items]
            points = stacked([xy for xy, _ in rows]), stacked([labels for _, labels in rows])
        elif len(first.points):
            xy = stacked([self.coordinates(item.points[:, :2], frame) for item in items])
            points = xy, stacked([item.points[:, 2] for item in items])
        if first.box is not None and not padded:
            corners = [self.coordinates(np.array(item.box).reshape(2, 2), frame).reshape(4) for item in items]
            boxes = stacked(corners)
        if first.previous is not None:
            previous = stacked([item.previous for item in items])[:, None].float()
        policy = self.recipe.multimask
        ambiguous = len(first.points) == 1 and first.box is None and previous is None
        several = policy == "best" or (policy == "first_click" and ambiguous)
        low, iou = self.decoded(embeddings, points, boxes, previous, several)
        return low.float()[torch.arange(len(items)), iou.argmax(dim=1)]

    def as_padded(self, item: SliceItem, frame: resize.Frame, length: int) -> tuple[Floats32, NDArray[np.int64]]:
        """So many points ``(length, 2)``, x and y, with labels: the corners of the box, the clicks, and padding."""
        corners = np.array([] if item.box is None else item.box, dtype=np.int64).reshape(-1, 2)
        given = self.coordinates(np.vstack([corners, item.points[:, :2]]), frame)
        xy, labels = np.zeros((length, 2), np.float32), np.full(length, -1)
        xy[: len(given)] = given
        labels[: len(given)] = [*CORNERS[: len(corners)], *item.points[:, 2]]
        return xy, labels

    def decoded(
        self, embeddings: Tensor, points: Pair | None, boxes: Tensor | None, masks: Tensor | None, multimask: bool
    ) -> Pair:
        """Low-resolution logits and estimated IoU; see `intrabench.models.networks.sam.decode`."""
        return decode(self.network, embeddings, points, boxes, masks, multimask)


def whole_numbers(image: NDArray[Any], fractions: Fractions) -> NDArray[Any]:
    """A slice of values from 0 to 255, as 8-bit numbers unless fractions are kept."""
    if fractions == "kept":
        return image
    # halves go down, even those that float32 puts a little above
    return (np.ceil(image - 0.5001) if fractions == "rounded" else image).astype(np.uint8)


def bilinear(images: Tensor, shape: tuple[int, int]) -> Tensor:
    """Images ``(n, h, w)`` resized to `shape` ``(y, x)``."""
    from torch.nn import functional

    return functional.interpolate(images[None], shape, mode="bilinear", align_corners=False)[0]


def as_points(points: Pair | None, boxes: Tensor | None) -> Pair:
    """Points ``(n, k, 2)`` with labels ``(n, k)`` and boxes ``(n, 4)``, all as points, as SAM 2 takes them.

    Corners have the labels 2 and 3.
    """
    import torch

    parts = [] if points is None else [points]
    if boxes is not None:
        labels = torch.tensor(CORNERS, device=boxes.device).expand(len(boxes), 2)
        parts.insert(0, (boxes.reshape(-1, 2, 2), labels))
    coordinates, labels = (torch.cat(part, dim=1) for part in zip(*parts, strict=True))
    return coordinates, labels
