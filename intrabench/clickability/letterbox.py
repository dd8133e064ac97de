"""Scale images into the middle of a square, and maps back, as RClicks prepares its network's input.

Sizes and positions are those of ``padding`` in https://github.com/emb-ai/rclicks (rclicks/utils.py).
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
"""Rows and columns of the square for which the published network was trained."""
MEAN = np.array([0.485, 0.456, 0.406], dtype=np.float32)
SPREAD = np.array([0.229, 0.224, 0.225], dtype=np.float32)
"""Statistics of red, green and blue in ImageNet, in the range 0 to 1."""


@dataclass(frozen=True)
class Letterbox:
    """The position of an image of `shape` (rows, columns) in a square whose side is the longer one; the rest is 0."""

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
        """The first row and column of the image in the square."""
        rows, columns = self.inner
        return (self.size - rows) // 2, (self.size - columns) // 2

    def put(self, array: NDArray[Any]) -> Tensor:
        """Scale an image ``(y, x, channel)`` to a float32 square ``(channel, size, size)``; masks get soft borders."""
        (rows, columns), (y, x) = self.inner, self.corner
        image = torch.from_numpy(np.ascontiguousarray(array.transpose(2, 0, 1), dtype=np.float64))[None]
        # double precision equals OpenCV 5 to 1e-6; single precision is 1e-3 off in large images
        scaled = functional.interpolate(image, self.inner, mode="bilinear", align_corners=False)
        padding = (x, self.size - columns - x, y, self.size - rows - y)
        return functional.pad(scaled, padding)[0].float()

    def undo(self, square: Tensor, antialias: bool = False) -> Tensor:
        """Convert a map ``(size, size)`` back to ``(y, x)`` of the image.

        antialias: torchvision's default since version 0.17; it matters if the square is larger than the image.
        """
        (rows, columns), (y, x) = self.inner, self.corner
        cut = square[None, None, y : y + rows, x : x + columns]
        return functional.interpolate(cut, self.shape, mode="bilinear", align_corners=False, antialias=antialias)[0, 0]


def network_input(
    image: NDArray[np.uint8], target: NDArray[np.bool_], error: NDArray[np.bool_], size: int = SIZE
) -> tuple[Tensor, Tensor]:
    """The network's input: the normalised image ``(3, size, size)`` and the two masks ``(2, size, size)``.

    image: RGB ``(y, x, 3)``. target, error: ``(y, x)``, the whole target and the error that the click corrects.

    Raises:
        ValueError: the shapes do not fit together.
    """
    if image.ndim != 3 or image.shape[2] != 3 or not image.shape[:2] == target.shape == error.shape:
        raise ValueError(
            f"expected an image (y, x, 3) and two masks (y, x) of its size, not {image.shape}, {target.shape} and "
            f"{error.shape}"
        )
    box = Letterbox((image.shape[0], image.shape[1]), size)
    normalised = (image / np.float32(255) - MEAN) / SPREAD  # before padding, so that zeros are a mean grey
    return box.put(normalised), box.put(np.stack([target, error], axis=2))
