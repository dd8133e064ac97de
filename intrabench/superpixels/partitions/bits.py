"""Sets of voxels with one bit each: 64 neighbours along x are moved, joined and counted at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
"""``(z, y, word)``: the lowest bit of a word is its first voxel along x. What a row's last bits hold beyond its voxels
is nothing in `packed`, but `moved` may leave some there."""

WORD = 64


def packed(mask: NDArray[np.bool_], length: int) -> Words:
    """The voxels of a mask ``(z, y, x)`` in rows of words for `length` voxels, at least those of the mask."""
    octets = np.packbits(mask, axis=-1, bitorder="little")
    rows = np.zeros((*octets.shape[:-1], -(-length // WORD) * 8), np.uint8)
    rows[..., : octets.shape[-1]] = octets
    return rows.view("<u8")


def unpacked(words: Words, length: int) -> NDArray[np.bool_]:
    """The mask ``(z, y, x)`` of rows with `length` voxels."""
    octets = np.ascontiguousarray(words, "<u8").view(np.uint8)
    return np.unpackbits(octets, axis=-1, count=length, bitorder="little").view(bool)


def moved(words: Words, step: int) -> Words:
    """All voxels `step` further along x, or back if it is negative; those that leave the words of a row are lost."""
    whole, bits = divmod(abs(step), WORD)
    if whole:
        words = _moved_words(words, whole if step > 0 else -whole)
    if not bits:
        return words
    words, inside, passing = np.ascontiguousarray(words), np.uint64(bits), np.uint64(WORD - bits)
    # what each word passes on to the next is added in one go, without what would get into another row
    if step > 0:
        found, passed = words << inside, words >> passing
        passed[..., -1] = 0
        found.reshape(-1)[1:] |= passed.reshape(-1)[:-1]
    else:
        found, passed = words >> inside, words << passing
        passed[..., 0] = 0
        found.reshape(-1)[:-1] |= passed.reshape(-1)[1:]
    return found


def _moved_words(words: Words, step: int) -> Words:
    """All words `step` further along x."""
    found = np.zeros_like(words)
    if step > 0:
        found[..., step:] = words[..., :-step]
    else:
        found[..., :step] = words[..., -step:]
    return found


def counted(words: Words) -> int:
    """How many voxels there are."""
    return int(np.bitwise_count(words).sum(dtype=np.int64))
