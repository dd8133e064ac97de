"""A plug-in that benchmarks play: six ellipsoids in noise, and a model of slices that answers at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.comparison import MINIATURE
from intrabench.datasets.base import Dataset, DatasetCard, Files
from intrabench.mask import Floats32
from intrabench.models.parts.slice_model import SliceItem, SliceModel, SliceResult
from intrabench.target import Target, targets_of
from intrabench.volume import Volume

VOXELS = (17025,) if MINIATURE else (17025, 40994, 112482, 1075, 15975, 214)
SIZES = ((128, 256, 256), (128, 260, 260)) if MINIATURE else ((128, 256, 256), (128, 512, 512))
SPACING = (1.5, 0.8, 0.8)


@dataclass(frozen=True)
class Six(Dataset):
    """Six ellipsoids in noise; the same six at every size."""

    name = "six"
    version = "1"
    card = DatasetCard("Six ellipsoids", "synthetic")
    shape: tuple[int, int, int] = SIZES[0]

    def cases(self) -> tuple[str, ...]:
        """One."""
        return ("six",)

    def load(self, case: str, files: Files) -> tuple[Volume, Sequence[Target]]:
        """Noise and labels, in LPS order as CT scans come."""
        noise = np.random.default_rng(0).integers(-1000, 1000, self.shape, dtype=np.int16)
        volume = Volume.from_canonical(noise, SPACING)
        names = {value: ("blob", value) for value in range(1, len(VOXELS) + 1)}
        return volume, targets_of(ellipsoids(self.shape), names, case, volume.spacing_mm)


def ellipsoids(shape: tuple[int, int, int]) -> NDArray[np.uint8]:
    """A label map of six ellipsoids with about the wanted numbers of voxels."""
    labels = np.zeros(shape, dtype=np.uint8)
    z, y, x = np.ogrid[: shape[0], : shape[1], : shape[2]]
    centres = [(30, 60, 60), (30, 60, 180), (85, 80, 90), (20, 190, 60), (95, 190, 190), (60, 200, 120)]
    for value, (count, centre) in enumerate(zip(VOXELS, centres, strict=False), start=1):
        radius = (count * 3 / (4 * np.pi) / 0.6) ** (1 / 3)
        far = ((z - centre[0]) / 0.6) ** 2 + (y - centre[1]) ** 2 + (x - centre[2]) ** 2
        labels[far <= radius**2] = value
    return labels


@dataclass(eq=False)
class Painter(SliceModel):
    """Fills boxes, and sets the pixels within 5 of a point, rows and columns, to its label."""

    name = "painter"
    accepts = frozenset({"point", "box2d"})
    encodes = False

    def slice_images(self, volume: Volume) -> Callable[[int], NDArray[Any]]:
        """Nothing is looked at."""
        return lambda z: np.zeros((1, 1), np.float32)

    def encode(self, images: Sequence[NDArray[Any]]) -> Sequence[Floats32]:
        """The same for all slices."""
        return [np.asarray(image) for image in images]

    def decode(self, items: Sequence[SliceItem]) -> Sequence[SliceResult]:
        """Paint each slice."""
        return [SliceResult(_painted(item)) for item in items]


def _painted(item: SliceItem) -> NDArray[np.bool_]:
    mask = np.zeros(item.shape, dtype=bool)
    if item.box is not None:
        y0, x0, y1, x1 = item.box
        mask[y0:y1, x0:x1] = True
    for wanted in (1, 0):
        for y, x, label in item.points.tolist():
            if label == wanted:
                mask[max(y - 5, 0) : y + 6, max(x - 5, 0) : x + 6] = label
    return mask
