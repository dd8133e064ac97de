"""Images scaled into the middle of a square, and maps brought back, as RClicks prepares its network's input.

Sizes and places are those of ``padding`` in https://github.com/emb-ai/rclicks (rclicks/utils.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

SIZE = 416
"""Rows and columns of the square that the published network was trained on."""
MEAN = np.array([0.485, 0.456, 0.406], dtype=np.float32)
SPREAD = np.array([0.229, 0.224, 0.225], dtype=np.float32)
"""Red, green and blue in ImageNet, from 0 to 1."""


@dataclass(frozen=True)
class Letterbox:
    """Where an image of `shape` (rows, columns) lies in a square: the longer side fills it, zeros are around."""

    shape: tuple[int, int]
    size: int = SIZE

    @property
    def inner(self) -> tuple[int, int]:
        """Rows and columns of the image in the square."""
        height, width = self.shape
        if height > width:
            return self.size, max(width * self.size // height, 1)
        return max(height * self.size // width, 1), self.size

    @property
    def corner(self) -> tuple[int, int]:
        """The row and the column of the square where the image begins."""
        rows, columns = self.inner
        return (self.size - rows) // 2, (self.size - columns) // 2

    def put(self, array: NDArray[Any]) -> Tensor:
        """An image ``(y, x, channel)`` to a square ``(channel, size, size)``, float32; masks get soft borders."""
        (rows, columns), (y, x) = self.inner, self.corner
        image = torch.from_numpy(np.ascontiguousarray(array.transpose(2, 0, 1), dtype=np.float64))[None]
        # double precision is cv2.resize (of OpenCV 5) to 1e-6; torch's single coordinates are 1e-3 off in large images
        scaled = functional.interpolate(image, self.inner, mode="bilinear", align_corners=False)
        padding = (x, self.size - columns - x, y, self.size - rows - y)
        return functional.pad(scaled, padding)[0].float()

    def undo(self, square: Tensor, antialias: bool = False) -> Tensor:
        """A map ``(size, size)`` back to ``(y, x)`` of the image.

        antialias: as torchvision does by default from version 0.17 on; it matters where the square is the larger one.
        """
        (rows, columns), (y, x) = self.inner, self.corner
        cut = square[None, None, y : y + rows, x : x + columns]
        return functional.interpolate(cut, self.shape, mode="bilinear", align_corners=False, antialias=antialias)[0, 0]


def network_input(
    image: NDArray[np.uint8], target: NDArray[np.bool_], error: NDArray[np.bool_], size: int = SIZE
) -> tuple[Tensor, Tensor]:
    """What the network takes: the normalised image ``(3, size, size)`` and the two masks ``(2, size, size)``.

    image: RGB ``(y, x, 3)``; target and error: ``(y, x)``, the whole target and the error that a click is to correct.

    Raises:
        ValueError: the shapes do not fit together.
    """
    if image.ndim != 3 or image.shape[2] != 3 or not image.shape[:2] == target.shape == error.shape:
        raise ValueError(
            f"an image (y, x, 3) and two masks (y, x) of its size are expected, not {image.shape}, {target.shape} and "
            f"{error.shape}"
        )
    box = Letterbox((image.shape[0], image.shape[1]), size)
    normalised = (image / np.float32(255) - MEAN) / SPREAD  # before the zeros around, which so mean a grey
    return box.put(normalised), box.put(np.stack([target, error], axis=2))
