"""Arrays as nnInteractive's protocol sends them. Their header is read first: it says how much memory they would take.

The format is that of nninteractive-client 2.6: ``NNIA``, version 1, a codec, the number of axes, the name of the type,
whole numbers of 8 bytes for the shape, and chunks of blosc2. Its own functions pack and unpack; they unpickle nothing,
but take the type and the shape on trust.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.files.machine import memory_bytes
from intrabench.play.validate import Refused

_HEADER = struct.Struct("<4sBBBB")
MAGIC, VERSION = b"NNIA", 1
TYPES = frozenset({"bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))})
NUMBERS = TYPES | {"float16", "float32", "float64"}
"""The types of numbers that images may have; masks have `TYPES`."""


def most_bytes() -> int:
    """What an array may take in memory: a quarter of the machine's."""
    return (memory_bytes() or 2**34) // 4


def largest_mask(shape: Sequence[int]) -> int:
    """What a mask of an image may take in memory, in the largest of its types."""
    return math.prod(shape) * 8


def unpack(packed: bytes, most: int, images: bool = False) -> NDArray[Any]:
    """An array that was sent. most: bytes that it may take in memory. images: fractions are allowed.

    Raises:
        Refused: it is too large, not of such numbers, or damaged.
    """
    from nnInteractive.inference.remote.serialization import unpack_array

    check_header(packed, most, NUMBERS if images else TYPES)
    try:
        found: NDArray[Any] = unpack_array(packed)
    except Exception as error:  # blosc2 raises various exceptions
        raise Refused(f"the array cannot be unpacked ({str(error)[:200]}); send it again") from error
    return found


def check_header(packed: bytes, most: int, types: frozenset[str]) -> tuple[tuple[int, ...], str]:
    """The shape and the type of an array, which are read without unpacking it.

    Raises:
        Refused: as of `unpack`.
    """
    try:
        magic, version, _, axes, length = _HEADER.unpack_from(packed)
        kind = packed[_HEADER.size : _HEADER.size + length].decode("ascii")
        shape = struct.unpack_from(f"<{axes}q", packed, _HEADER.size + length)
    except (struct.error, UnicodeDecodeError) as error:
        raise Refused("what was sent is no packed array") from error
    if magic != MAGIC or version != VERSION:
        raise Refused(f"what was sent is no packed array of version {VERSION}")
    if kind not in types:
        raise Refused(f"an array of {kind[:40]!a} was sent, expected {', '.join(sorted(types))}")
    if min(shape, default=1) < 1 or axes > 4:
        raise Refused(f"an array of the shape {shape} was sent, expected up to four axes of one voxel or more")
    size = math.prod(shape) * np.dtype(kind).itemsize
    if size > most:
        raise TooLarge(f"an array of {size} bytes was sent, expected {most} at most; crop it")
    return shape, kind


class TooLarge(Refused):
    """An array would take more memory than it may."""


def pack(array: NDArray[Any]) -> bytes:
    """A mask as it is sent."""
    import blosc2
    from nnInteractive.inference.remote.serialization import pack_array

    return pack_array(array, filters=[blosc2.Filter.NOFILTER])
