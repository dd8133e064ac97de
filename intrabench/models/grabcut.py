"""GrabCut: colour models and a graph cut, slice by slice, without any training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Floats32
from intrabench.models.parts.intensity import Intensity, assumed, slice_images
from intrabench.models.parts.slice_model import SliceItem, SliceModel, SliceResult
from intrabench.specs.values import Iterations, Pixels
from intrabench.volume import Volume


@dataclass(eq=False)
class GrabCut(SliceModel):
    """GrabCut on slices (Rother et al., SIGGRAPH 2004), from OpenCV: takes boxes, points, and its own last answer.

    Everything outside a box is background, and so are the pixels within `radius` of a negative point; the pixels within
    `radius` of a positive point are target. Without a box, everything else may be either, and the initial guess is a
    disc of `reach` pixels around the points. A correction continues from the last answer. iterations: how often colour
    models and cut alternate. intensity: how scans become 8 bits.
    """

    name = "grabcut"
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

        labels = self.labels(item)
        target = np.isin(labels, (cv2.GC_FGD, cv2.GC_PR_FGD))
        if target.any() and not target.all():  # the colour models need both
            cv2.setRNGSeed(0)  # OpenCV's clustering uses random numbers
            image = np.ascontiguousarray(item.embedding, dtype=np.uint8)
            back, front = np.zeros((1, 65)), np.zeros((1, 65))
            cv2.grabCut(image, labels, (0, 0, 1, 1), back, front, self.iterations, cv2.GC_INIT_WITH_MASK)
            target = np.isin(labels, (cv2.GC_FGD, cv2.GC_PR_FGD))
        return SliceResult(target, target.astype(np.float32))

    def labels(self, item: SliceItem) -> NDArray[np.uint8]:
        """OpenCV's label of each pixel ``(y, x)``: sure or probable, background or target."""
        import cv2

        labels = np.full(item.shape, cv2.GC_PR_BGD, dtype=np.uint8)
        if item.previous is not None:
            labels[item.previous > 0.5] = cv2.GC_PR_FGD
        if item.box is not None:
            y0, x0, y1, x1 = item.box
            inside = labels[y0:y1, x0:x1].copy()
            labels[:] = cv2.GC_BGD
            labels[y0:y1, x0:x1] = cv2.GC_PR_FGD if item.previous is None else inside
        elif item.previous is None:
            for y, x, label in item.points.tolist():
                if label == 1:
                    _disc(labels, y, x, self.reach, cv2.GC_PR_FGD)
        for y, x, label in item.points.tolist():
            _disc(labels, y, x, self.radius, cv2.GC_FGD if label == 1 else cv2.GC_BGD)
        return labels


def _disc(labels: NDArray[np.uint8], y: int, x: int, radius: int, value: int) -> None:
    """Paint a disc, cut off at the border."""
    rows, columns = np.ogrid[: labels.shape[0], : labels.shape[1]]
    labels[(rows - y) ** 2 + (columns - x) ** 2 <= radius**2] = value
