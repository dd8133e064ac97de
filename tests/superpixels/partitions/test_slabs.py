"""Slabs of a volume: all slices once, in order, and about so many voxels at once."""

from __future__ import annotations

import pytest

from intrabench.superpixels.partitions.slabs import slabs


@pytest.mark.parametrize(
    ("shape", "voxels", "steps"),
    [
        ((7, 2, 3), 12, [2, 2, 2, 1]),  # deeper than high
        ((2, 7, 3), 42, [2]),
        ((3, 2, 7), 14, [1, 1, 1]),
        ((3, 9, 9), 5, [1, 1, 1]),  # a slice is more than asked for
        ((5, 0, 4), 10, [5]),
        ((0, 4, 4), 10, []),
    ],
)
def test_all_slices_once(shape: tuple[int, int, int], voxels: int, steps: list[int]) -> None:
    found = list(slabs(shape, voxels))
    assert [one.stop - one.start for one in found] == steps
    assert [z for one in found for z in range(one.start, one.stop)] == list(range(shape[0]))
