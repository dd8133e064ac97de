"""Volumes a few slices at a time: what counting makes of them then fits into the cache, and needs little memory."""

from __future__ import annotations

from collections.abc import Iterator

MOST_VOXELS = 2**19


def slabs(shape: tuple[int, int, int], voxels: int = MOST_VOXELS) -> Iterator[slice]:
    """Neighbouring slices z that together have about so many voxels, at least one."""
    depth = max(1, voxels // max(1, shape[1] * shape[2]))
    for first in range(0, shape[0], depth):
        yield slice(first, min(first + depth, shape[0]))
