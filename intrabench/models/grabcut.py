"""GrabCut: colour models and a graph cut, slice by slice, without any training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Bools, Floats32, Mask
from intrabench.models.parts.intensity import Intensity, assumed, slice_images
from intrabench.models.parts.neighbourhood import Frame, Labels
from intrabench.models.parts.seeds import BACKGROUND, TARGET, UNKNOWN, Hints, cleaned, seeded
from intrabench.models.parts.slice_model import Box2D, SliceItem, SliceModel, SliceResult
from intrabench.specs.values import Iterations, Pixels
from intrabench.volume import Volume


@dataclass(eq=False)
class GrabCut(SliceModel):
    """GrabCut on slices (Rother et al., SIGGRAPH 2004), from OpenCV: takes boxes, points, and its own last answer.

    Everything outside a box is background, and so are the pixels within `radius` of a negative point; the pixels within
    `radius` of a positive point are target. Without a box, what is within `reach` pixels of the points may be either.
    A correction changes only the surroundings of the points that contradict the last answer. Pieces without a point are
    dropped, unless there is none. iterations: how often colour models and cut alternate. intensity: how scans become 8
    bits.
    """

    name = "grabcut"
    version = "2"
    extra = "grabcut"
    requires = ("cv2",)
    encodes = False
    feeds_back = True
    accepts = frozenset({"point", "box2d"})

    intensity: Intensity = "volume"
    iterations: Iterations = 5
    radius: Pixels = 2
    reach: Pixels = 20

    def slice_images(self, volume: Volume) -> Callable[[int], NDArray[Any]]:
        """8-bit slices, ``(y, x)`` or ``(y, x, 3)``."""
        images = slice_images(volume, self.intensity)
        return lambda z: images(z).astype(np.uint8)

    def notes(self, volume: Volume) -> tuple[str, ...]:
        """What `intensity` assumes about the scan."""
        return assumed(volume, self.intensity)

    def encode(self, images: Sequence[NDArray[Any]]) -> Sequence[Floats32]:
        """The slices themselves, ``(y, x, 3)``."""
        return [np.asarray(image if image.ndim == 3 else image[..., None].repeat(3, axis=2)) for image in images]

    def decode(self, items: Sequence[SliceItem]) -> Sequence[SliceResult]:
        """Cut each slice."""
        return [self._cut(item) for item in items]

    def _cut(self, item: SliceItem) -> SliceResult:
        import cv2

        hints, frame, sure, labels = self._labels(item)
        target = np.isin(labels, (cv2.GC_FGD, cv2.GC_PR_FGD))
        if target.any() and not target.all():  # the colour models need both
            cv2.setRNGSeed(0)  # OpenCV's clustering uses random numbers
            image = np.ascontiguousarray(item.embedding, dtype=np.uint8)
            back, front = np.zeros((1, 65)), np.zeros((1, 65))
            cv2.grabCut(image, labels, (0, 0, 1, 1), back, front, self.iterations, cv2.GC_INIT_WITH_MASK)
            target = np.isin(labels, (cv2.GC_FGD, cv2.GC_PR_FGD))
        if (sure == TARGET).any() and not hints.corrects:
            target = seeded(target, sure == TARGET) | _largest(target, item.box)
        target = hints.changed(frame, cleaned(target[None], sure[None], frame.beside))[0]
        return SliceResult(target, target.astype(np.float32))

    def labels(self, item: SliceItem) -> NDArray[np.uint8]:
        """OpenCV's label of each pixel ``(y, x)``: sure or probable, background or target."""
        return self._labels(item)[3]

    def _labels(self, item: SliceItem) -> tuple[Hints, Frame, Labels, NDArray[np.uint8]]:
        """The prompts, the slice as a frame, its seeds ``(y, x)``, and `labels`."""
        import cv2

        previous = None if item.previous is None else item.previous > 0.5
        hints = self._hints(item, previous)
        frame = Frame((0, 0, 0, 1, *item.shape), (1, *item.shape), _PIXELS)
        zones = hints.zones(frame)
        seeds = hints.labels(frame, zones)[0]
        if hints.corrects:
            likely = np.where(frame.mask(hints.mask)[0], zones.negative[0] > 1, zones.positive[0] <= 1)
        elif item.box is not None:
            likely = np.ones(item.shape, dtype=bool) if previous is None or not previous.any() else previous
        else:
            far = frame.distance_mm(frame.seeds(hints.points, 0.0) == 1)[0]
            likely = far <= self.reach
            seeds[(far > self.reach) & (seeds == UNKNOWN)] = BACKGROUND
        open_ = np.where(likely, cv2.GC_PR_FGD, cv2.GC_PR_BGD)
        labels = np.select([seeds == TARGET, seeds == BACKGROUND], [cv2.GC_FGD, cv2.GC_BGD], open_).astype(np.uint8)
        return hints, frame, seeds, labels

    def _hints(self, item: SliceItem, previous: Bools | None) -> Hints:
        """The prompts of a slice, as those of a volume of one slice, in pixels.

        Points that contradict the last answer correct it. If none does, a box is new, and is looked at with the answer.
        """
        points = np.column_stack([np.zeros(len(item.points), np.int64), item.points])
        mask = Mask.empty() if previous is None else Mask.of(previous[None])
        correct = bool((mask.contains(points[:, :3]) != (points[:, 3] == 1)).any())
        blocks = np.zeros((0, 6), np.int64)
        if item.box is not None and not (correct and mask.any()):
            y0, x0, y1, x1 = item.box
            blocks, mask = np.array([(0, y0, x0, 1, y1, x1)]), Mask.empty()
        guessed = item.box is None
        return Hints(points, blocks, mask, _PIXELS, float(self.radius), float(self.reach) or 1.0, guessed)


def _largest(target: Bools, box: Box2D | None) -> Bools:
    """The largest piece in a box ``y0, x0, y1, x1``; none without a box."""
    from scipy import ndimage

    if box is None:
        return np.zeros_like(target)
    pieces, _ = ndimage.label(target, np.ones((3, 3)))
    sizes = np.bincount(pieces[box[0] : box[2], box[1] : box[3]].ravel(), minlength=2)
    return np.asarray((pieces == 1 + sizes[1:].argmax()) & target)


_PIXELS = (1.0, 1.0, 1.0)
