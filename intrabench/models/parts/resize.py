"""Resize policies: how a slice comes into the square that a 2D network sees, and where its pixels go there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from intrabench.mask import Array, Floats32

Resize = Literal[
    "longest",
    "longest_area",
    "squash",
    "squash_smooth",
    "squash_cubic",
    "squash_bicubic",
    "squash_bicubic_smooth",
    "squash_nearest",
]
"""longest: the long side becomes that of the square, bilinear with anti-aliasing on 8-bit values, zeros below and to
the right (SAM). longest_area: the same by mean areas (LiteMedSAM). squash: both sides, whatever the ratio, bilinear;
_smooth: with anti-aliasing (SAM 2); _cubic: by cubic splines with anti-aliasing, as scikit-image's order 3 (MedSAM);
_bicubic: by cubic convolution without anti-aliasing, as OpenCV (RadioActive); _bicubic_smooth: with anti-aliasing on
8-bit values, as Pillow (SAM 2 as video); _nearest: nearest, rounded down (SAM-Med2D)."""


@dataclass(frozen=True)
class Frame:
    """A slice of `shape` fills the first `inner` pixels of a square; all ``(y, x)``."""

    shape: tuple[int, int]
    inner: tuple[int, int]

    def coordinates(self, yx: Array) -> Floats32:
        """Coordinates of the slice, rows ``y, x``, in the square."""
        scale = np.array(self.inner) / np.array(self.shape)
        return np.asarray(yx * scale, dtype=np.float32)


def frame(policy: Resize, shape: tuple[int, int], side: int) -> Frame:
    """Where a slice of `shape` lies in a square of `side` pixels."""
    if not policy.startswith("longest"):
        return Frame(shape, (side, side))
    scale = side / max(shape)
    return Frame(shape, (max(1, int(shape[0] * scale + 0.5)), max(1, int(shape[1] * scale + 0.5))))


def fit(image: Array, policy: Resize, side: int) -> Floats32:
    """A slice ``(y, x)`` or ``(y, x, 3)`` as ``(channel, y, x)`` of 1 or 3 channels, resized but not yet padded."""
    inner = frame(policy, (image.shape[0], image.shape[1]), side).inner
    channels = image[None] if image.ndim == 2 else np.moveaxis(image, -1, 0)
    return np.stack([_METHODS[policy](channel, inner) for channel in channels]).astype(np.float32)


def pad(image: Floats32, side: int) -> Floats32:
    """``(channel, y, x)`` with zeros behind, ``(3, side, side)``; one channel becomes three."""
    square = np.zeros((3, side, side), dtype=np.float32)
    square[:, : image.shape[1], : image.shape[2]] = image
    return square


def _pillow(method: Literal["BILINEAR", "BICUBIC"]) -> Callable[[Array, tuple[int, int]], Array]:
    def resize(image: Array, shape: tuple[int, int]) -> Array:
        from PIL import Image

        grey = Image.fromarray(image.astype(np.uint8))
        return np.asarray(grey.resize((shape[1], shape[0]), Image.Resampling[method]))

    return resize


def _area(image: Array, shape: tuple[int, int]) -> Array:
    import cv2

    return cv2.resize(np.ascontiguousarray(image), (shape[1], shape[0]), interpolation=cv2.INTER_AREA)


def _nearest(image: Array, shape: tuple[int, int]) -> Array:
    y, x = (np.arange(new) * old // new for new, old in zip(shape, image.shape, strict=True))
    return image[np.ix_(y, x)]


def _spline(image: Array, shape: tuple[int, int]) -> Array:
    """As ``skimage.transform.resize(order=3, anti_aliasing=True, preserve_range=True)``, values kept in their range."""
    from scipy import ndimage

    values = image.astype(np.float64)
    factors = np.array(image.shape) / np.array(shape)
    values = ndimage.gaussian_filter(values, np.maximum(0, (factors - 1) / 2), mode="mirror")
    zoomed = ndimage.zoom(values, 1 / factors, order=3, mode="mirror", grid_mode=True)
    return zoomed.clip(image.min(), image.max())


def _torch(mode: str, antialias: bool) -> Callable[[Array, tuple[int, int]], Array]:
    def resize(image: Array, shape: tuple[int, int]) -> Array:
        import torch
        from torch.nn import functional

        batch = torch.from_numpy(np.array(image, dtype=np.float32, order="C"))[None, None]
        resized = functional.interpolate(batch, shape, mode=mode, align_corners=False, antialias=antialias)
        result: Array = resized[0, 0].numpy()
        return result

    return resize


_METHODS: dict[str, Callable[[Array, tuple[int, int]], Array]] = {
    "longest": _pillow("BILINEAR"),
    "longest_area": _area,
    "squash": _torch("bilinear", antialias=False),
    "squash_smooth": _torch("bilinear", antialias=True),
    "squash_cubic": _spline,
    "squash_bicubic": _torch("bicubic", antialias=False),
    "squash_bicubic_smooth": _pillow("BICUBIC"),
    "squash_nearest": _nearest,
}
