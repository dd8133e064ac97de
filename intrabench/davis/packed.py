"""Frames of a mask in bits: what is done with each pixel is done with 64 of them at once.

A row of pixels is a row of whole numbers, the first pixel in the lowest bit of the first number. Behind the last pixel
of a row are at least `room` bits that are zero, so that rows do not run into each other when pixels are moved so far.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Bools, Ints

Packed = NDArray[np.uint64]
"""(frame, y, number)"""
BITS = 64
AT_ONCE = 2**13
"""So many numbers stay in a processor's cache."""


def pack(masks: Bools, room: int) -> Packed:
    """The frames of masks ``(frame, y, x)``."""
    frames, height, width = masks.shape
    rows = np.zeros((frames, height, -(-(width + room) // BITS) * (BITS // 8)), np.uint8)
    rows[:, :, : -(-width // 8)] = np.packbits(masks, axis=2, bitorder="little")
    return rows.view("<u8").astype(np.uint64, copy=False)


def parts_of(frames: range, height: int, width: int) -> Iterator[slice]:
    """Frames of a video in parts whose packed rows, `width` wide with their room, stay in a processor's cache."""
    step = max(AT_ONCE // (height * -(-width // BITS)), 1)
    return (slice(first, min(first + step, frames.stop)) for first in range(frames.start, frames.stop, step))


def counts(packed: Packed) -> Ints:
    """(frame,) pixels of each frame."""
    return np.bitwise_count(packed).sum(axis=(1, 2), dtype=np.int64)


def outlines(packed: Packed, width: int) -> Packed:
    """The pixels that differ from their right, lower or lower right neighbour in frames that are `width` wide.

    Beyond the last row and column is no neighbour.
    """
    right = packed ^ _moved(packed, -1)
    right &= _first(width - 1, packed.shape[2])
    found = right.copy()
    below = packed[:, :-1] ^ packed[:, 1:]
    found[:, :-1] |= below
    # a pixel that differs neither to the right nor below differs from the lower right one if the lower one does
    found[:, :-1] |= right[:, 1:]
    return found


def dilated(packed: Packed, radius: float) -> Packed:
    """All pixels whose centre is at most `radius` from that of a pixel of the same frame, and some behind the rows.

    The rows have room for so many pixels.
    """
    far = math.floor(radius)
    wide, row = 0, packed  # so far to both sides a row has grown
    found = np.zeros_like(packed)
    for down in range(min(far, packed.shape[1] - 1), -1, -1):
        while wide < (wanted := math.isqrt(math.floor(radius * radius - down * down))):
            step = min(wanted - wide, 2 * wide + 1, BITS - 1)
            row = row | _moved(row, step) | _moved(row, -step)
            wide += step
        found[:, down:] |= row[:, : row.shape[1] - down]
        if down:
            found[:, :-down] |= row[:, down:]
    return found


def _moved(packed: Packed, pixels: int) -> Packed:
    """Rows moved right by so many pixels, fewer than 64; to the left if negative."""
    numbers, steps, others = packed.ravel(), np.uint64(abs(pixels)), np.uint64(BITS - abs(pixels))
    if pixels > 0:
        moved = numbers << steps
        moved[1:] |= numbers[:-1] >> others
    else:
        moved = numbers >> steps
        moved[:-1] |= numbers[1:] << others
    return moved.reshape(packed.shape)


def _first(pixels: int, numbers: int) -> Packed:
    """(1, 1, number) a row in which only so many first pixels are set."""
    return pack(np.arange(max(pixels, 0))[None, None] >= 0, numbers * BITS - max(pixels, 0))
