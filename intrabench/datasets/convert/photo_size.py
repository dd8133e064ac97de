"""Reduce pictures and masks exactly as RClicks does for TETRIS, which uses ``cv2.resize`` with ``INTER_LINEAR``.

This is bilinear interpolation between pixel centres without anti-aliasing, in integers, with weights in 2048ths. The
rounding matters: a mask of 0 and 1 keeps pixels that are about half covered. As seen in OpenCV 4.9 and 5.0.
"""

from __future__ import annotations

import numpy as np

from intrabench.mask import Array

_ONE = 2048


def within(shape: tuple[int, ...], longest: int | None) -> tuple[int, ...]:
    """The size ``(y, x)`` of a picture of `shape` with no side longer than `longest` pixels (None: unchanged)."""
    if longest is None or max(shape) <= longest:
        return shape
    rows, columns = shape
    if rows > columns:
        return longest, max(1, int(columns / rows * longest + 0.5))
    return max(1, int(rows / columns * longest + 0.5)), longest


def resize_photo(picture: Array, shape: tuple[int, ...]) -> Array:
    """An integer picture ``(y, x)`` or ``(y, x, channel)``, resized to `shape` ``(y, x)``."""
    rows, columns = (_sides(old, new) for old, new in zip(picture.shape[:2], shape, strict=True))
    channels = (1,) * (picture.ndim - 2)
    mean = np.full((*shape, *picture.shape[2:]), 2, dtype=np.int64)  # in quarters, starting at one half for rounding
    for y, share_y in rows:
        line = sum(picture[y][:, x] * share_x.reshape(1, -1, *channels) for x, share_x in columns)
        mean += (line >> 4) * share_y.reshape(-1, 1, *channels) >> 16
    return (mean >> 2).astype(picture.dtype)


def resize_ids(ids: Array, shape: tuple[int, ...]) -> Array:
    """A label map ``(y, x)`` resized to `shape`, each number as its own mask; larger numbers overwrite smaller ones."""
    resized = np.zeros(shape, dtype=ids.dtype)
    for value in np.unique(ids[ids != 0]):
        resized[resize_photo((ids == value).astype(np.uint8), shape) > 0] = value
    return resized


def _sides(old: int, new: int) -> list[tuple[Array, Array]]:
    """Along one axis, the indices and weights of the pixels before and after the centre of each new pixel."""
    centre = ((np.arange(new) + 0.5) * (1 / (new / old)) - 0.5).astype(np.float32)
    before = np.floor(centre).astype(np.intp)
    share = np.where((before < 0) | (before >= old - 1), 0, centre - before.astype(np.float32))
    sides = ((before, 1 - share), (before + 1, share))
    return [(index.clip(0, old - 1), np.rint(part * _ONE).astype(np.int64)) for index, part in sides]
