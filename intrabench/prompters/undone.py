"""Corrections that the user took back because they made the answer worse, and where to correct instead."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from intrabench.mask import Ints, Mask, joint_box
from intrabench.metrics.parts.overlap import Overlap
from intrabench.prompters.errors import Errors
from intrabench.prompts import Prompts
from intrabench.target import Target


@dataclass
class Undone:
    """What was taken back since the answer was what it is. The user sees the target, so he sees what got worse.

    The next correction goes to another error: those in which the undone prompts lie are left alone as long as there
    are others. A user never repeats what he took back, but stops.
    """

    target: Target
    prompts: list[Prompts] = field(default_factory=list)
    _left: list[Mask] = field(default_factory=list)

    def add(self, prompts: Prompts, mask: Mask) -> None:
        """The correction of `mask` was taken back."""
        errors = Errors.of(self.target, mask)
        strokes = [stroke.points for stroke in prompts.strokes]
        at = np.vstack([prompts.points[:, :3], *strokes])
        self.prompts.append(prompts)
        self._left += [_components(errors.negatives, at), _components(errors.positives, at)]

    def has(self, prompts: Prompts) -> bool:
        """Whether the same was taken back."""
        return any(prompts.to_json() == one.to_json() for one in self.prompts)

    def without(self, mask: Mask) -> Mask:
        """The answer as if the errors that are left alone were right."""
        left = Mask.union(self._left)
        box = joint_box(mask, left) if left.any() else None
        return mask if box is None else Mask.of(mask.crop(box) ^ left.crop(box), box[:3])


def loss(target: Target, before: Mask, now: Mask) -> float:
    """By how much Dice is lower than before, without the ignored voxels."""
    then, after = (Overlap.of(target.mask, mask.without(target.ignore)).dice for mask in (before, now))
    return then - after


def _components(mask: Mask, at: Ints) -> Mask:
    """The 26-connected components of a mask that have one of the voxels, rows ``z, y, x``."""
    from scipy import ndimage

    there = at[mask.contains(at)] - mask.start
    if not len(there):
        return Mask.empty()
    labels, _ = ndimage.label(mask.array, np.ones((3, 3, 3)))
    return Mask.of(np.isin(labels, labels[tuple(there.T)]), mask.start)
