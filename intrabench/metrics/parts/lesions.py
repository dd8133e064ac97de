"""Lesions of a target and parts of an answer, both connected components, and which of them overlap."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Box, Mask, intersection

CONNECTIVITIES = (6, 18, 26)
"""Voxels that share a face, an edge or a corner."""


def check_matching(connectivity: int, iou: float = 0.0) -> None:
    """Refuse parameters that mean nothing."""
    if connectivity not in CONNECTIVITIES:
        raise ValueError(f"connectivity={connectivity} is unknown; give 6, 18 or 26")
    if not 0 <= iou <= 1:
        raise ValueError(f"iou={iou:g} is no overlap; give 0 to 1")


@dataclass(frozen=True, eq=False)
class Lesions:
    """The voxels of n lesions and of m parts of an answer; rows ``lesion, part, common voxels`` of those that touch.

    Lesions and parts are numbered from 0.
    """

    truth: NDArray[np.int64]
    answer: NDArray[np.int64]
    touching: NDArray[np.int64]

    @classmethod
    def of(cls, truth: Mask, answer: Mask, connectivity: int) -> Lesions:
        """Find the components of both, each in its own box, and compare them in the common one."""
        lesions, parts = (_components(mask, connectivity) for mask in (truth, answer))
        common = intersection(truth.box, answer.box)
        if common is None:
            return cls(_sizes(lesions), _sizes(parts), np.zeros((0, 3), np.int64))
        here, there = (
            labels[_within(common, mask)] for labels, mask in zip((lesions, parts), (truth, answer), strict=True)
        )
        return cls(_sizes(lesions), _sizes(parts), _touching(here, there))

    @classmethod
    def labelled(cls, truth: NDArray[Any], answer: NDArray[Any]) -> Lesions:
        """Those of two label maps of one shape, in which 0 is background and numbers have no gaps."""
        return cls(_sizes(truth), _sizes(answer), _touching(truth, answer))

    @cached_property
    def iou(self) -> NDArray[np.float64]:
        """The IoU of each pair in `touching`."""
        lesion, part, common = self.touching.T
        return common / (self.truth[lesion] + self.answer[part] - common)

    def found(self, iou: float = 0.0) -> NDArray[np.bool_]:
        """(n,) whether a lesion touches a part with at least this IoU; several may share a part."""
        return np.bincount(self.touching[self.iou >= iou, 0], minlength=len(self.truth)) > 0

    def right(self, iou: float = 0.0) -> NDArray[np.bool_]:
        """(m,) whether a part touches a lesion with at least this IoU; several may share a lesion."""
        return np.bincount(self.touching[self.iou >= iou, 1], minlength=len(self.answer)) > 0

    def f1(self, iou: float = 0.0) -> float | None:
        """2 TP / (2 TP + FP + FN); None without lesions and parts. TP are the lesions that were found."""
        found, wrong = int(self.found(iou).sum()), int((~self.right(iou)).sum())
        total = found + len(self.truth) + wrong
        return 2 * found / total if total else None


def _components(mask: Mask, connectivity: int) -> NDArray[Any]:
    """Labels of the components of a mask in its own box, from 1 without gaps."""
    from cc3d import connected_components

    if not mask.any():
        return np.zeros(mask.array.shape, np.uint32)
    kind: Any = connectivity
    # cc3d 4.1 fails on some arrays with two axes of length 1 without a rim of zeros, and is faster for bytes
    return connected_components(np.pad(mask.array.view(np.uint8), 1), connectivity=kind)[1:-1, 1:-1, 1:-1]


def _within(box: Box, mask: Mask) -> tuple[slice, ...]:
    """Where `box` is in the array of a mask."""
    return tuple(slice(box[axis] - mask.start[axis], box[axis + 3] - mask.start[axis]) for axis in range(3))


def _sizes(labels: NDArray[Any]) -> NDArray[np.int64]:
    return np.bincount(labels[labels > 0].astype(np.int64))[1:]


def _touching(lesions: NDArray[Any], parts: NDArray[Any]) -> NDArray[np.int64]:
    inside = lesions > 0
    lesion, part = lesions[inside].astype(np.int64) - 1, parts[inside].astype(np.int64) - 1
    lesion, part = lesion[part >= 0], part[part >= 0]
    width = int(part.max(initial=0)) + 1
    pairs, common = np.unique(lesion * width + part, return_counts=True)
    return np.column_stack([pairs // width, pairs % width, common])
