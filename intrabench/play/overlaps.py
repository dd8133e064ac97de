"""Whose a voxel is that the answers of several targets of a joint session claim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Box, Mask, Region, intersection
from intrabench.models.base import Answer


@dataclass(frozen=True, eq=False)
class Claim:
    """The answer for a target, whatever the others claim.

    scores: as the model's answers gave them, ``(z, y, x)`` in the box of `mask`; None: they gave none.
    """

    mask: Mask
    scores: NDArray[np.float32] | None = None

    @classmethod
    def none(cls) -> Claim:
        """Of nothing."""
        return cls(Mask.empty())

    def overwrite(self, answer: Answer, update: Mask) -> Claim:
        """This claim, replaced by an answer where that is valid; update: its mask, checked."""
        mask = self.mask.overwrite(update, answer.valid)
        if answer.scores is None or not mask.any():
            return Claim(mask)
        scores = np.full(mask.array.shape, -np.inf, np.float32)
        if self.scores is not None:
            _paste(scores, mask.box, self.scores, self.mask.box)
        found = np.asarray(answer.scores, np.float32)
        for box in _boxes(answer.valid, update.box):
            part = tuple(slice(box[axis] - update.start[axis], box[axis + 3] - update.start[axis]) for axis in range(3))
            _paste(scores, mask.box, found[part], box)
        return Claim(mask, scores)


def without_overlaps(claims: Sequence[Claim], rule: Literal["first", "score"]) -> list[Mask]:
    """The masks of all claims, without the voxels that others get.

    Every voxel belongs to the first claim, or to the one with the highest score, of equal ones the first. A claim
    without scores has none higher than others.
    """
    boxes = np.array([claim.mask.box for claim in claims], np.int64)
    masks = [claim.mask for claim in claims]
    for second in range(1, len(claims)):
        low, high = np.maximum(boxes[:second, :3], boxes[second, :3]), np.minimum(boxes[:second, 3:], boxes[second, 3:])
        for first in np.flatnonzero((low < high).all(axis=1)).tolist():
            box = intersection(claims[first].mask.box, claims[second].mask.box)
            assert box is not None
            both = claims[first].mask.crop(box) & claims[second].mask.crop(box)
            if not both.any():
                continue
            of_first = both
            if rule == "score":
                of_first = both & (_scores_in(claims[first], box) >= _scores_in(claims[second], box))
                masks[first] = masks[first].without(Mask(box[:3], both & ~of_first))
            masks[second] = masks[second].without(Mask(box[:3], of_first))
    return masks


def _scores_in(claim: Claim, box: Box) -> NDArray[np.float32]:
    """The scores in a box inside of that of the claim."""
    start = claim.mask.start
    if claim.scores is None:
        return np.full([box[axis + 3] - box[axis] for axis in range(3)], -np.inf, np.float32)
    return claim.scores[tuple(slice(box[axis] - start[axis], box[axis + 3] - start[axis]) for axis in range(3))]


def _boxes(valid: Region, box: Box) -> list[Box]:
    """The parts of a box where an answer is valid."""
    if valid.slices is not None:
        return [(z, box[1], box[2], z + 1, box[4], box[5]) for z in valid.slices if box[0] <= z < box[3]]
    common = intersection(box, valid.box) if valid.box is not None else box
    return [common] if common else []


def _paste(into: NDArray[Any], box: Box, array: NDArray[Any], of: Box) -> None:
    """Write what an array has in a box into the array of another box."""
    common = intersection(box, of)
    if common is not None:
        there = tuple(slice(common[axis] - box[axis], common[axis + 3] - box[axis]) for axis in range(3))
        here = tuple(slice(common[axis] - of[axis], common[axis + 3] - of[axis]) for axis in range(3))
        into[there] = array[here]
