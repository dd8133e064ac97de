"""Label maps: one whole number per voxel; each number is a segment."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from intrabench.datasets.convert.segments import Segment
from intrabench.mask import Array, Mask

Box = tuple[slice, slice, slice]

_DENSE = 65_536
"""The search for boxes takes memory for all numbers up to the largest; beyond this one, numbers are ranked first."""


def segments_of(labels: Array, name: str = "") -> list[Segment]:
    """The segments of a canonical label map ``(z, y, x)`` in ascending order of their numbers; 0 is background.

    name: the name of all segments in the file.
    """
    return [
        Segment(name, Mask.of(labels[where] == number, [bound.start for bound in where]), number)
        for number, where in boxes_of(labels)
    ]


def boxes_of(labels: Array) -> Iterator[tuple[int, Box]]:
    """Each number above 0 in an integer label map (any order of axes) with its box, ascending."""
    from scipy import ndimage

    top = int(labels.max(initial=0))
    numbers = range(1, top + 1) if top <= _DENSE else np.unique(labels[labels > 0]).tolist()
    ranked = labels if top <= _DENSE else np.searchsorted(numbers, labels, side="right")
    for number, where in zip(numbers, ndimage.find_objects(ranked), strict=True):
        if where is not None:
            yield number, where
