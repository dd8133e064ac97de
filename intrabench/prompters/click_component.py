"""The clicks of the CVPR 2025 challenge: into the largest error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Mask
from intrabench.prompters.base import Refinement
from intrabench.prompters.click_slice import clicks
from intrabench.prompters.errors import Errors, depths, largest_component
from intrabench.prompters.user import JointTurn, User, Users
from intrabench.turns import Turn

SEED = 42
"""Decides between equally deep voxels, anew for each click: the choice depends on nothing but how many there are."""
LARGEST = 60_000_000
"""Voxels of a component with its margin, above which depths are taken on blocks of 2 x 2 x 2 voxels."""

Error = Literal["any", "one_sign"]
Units = Literal["voxel", "mm"]


@dataclass(frozen=True)
class ClickComponent(Refinement):
    """The deepest voxel of the largest 26-connected error, as the CVPR 2025 challenge clicks; may also come first.

    The target at that voxel decides whether the click is positive. Of equally large errors the first in z, y, x order
    counts. The edge of the volume is a border. Very large errors are searched on blocks of 2 x 2 x 2 voxels.

    error: any takes missed and surplus voxels together, so that a component may hold both; one_sign apart, and the
    larger of the two largest counts (missed voxels, if both are equal). depth: distance to the nearest voxel outside of
    the component, in voxels as published, or in mm.

    In a joint session a target that was right is clicked again once it is wrong.

    Source: CVPR25_iter_eval.py of JunMa11/CVPR-MedSegFMCompetition (2025-06-03).
    """

    name = "click_component"
    begins = True
    error: Error = "any"
    depth: Units = "voxel"

    def correct(self, user: User, mask: Mask) -> Turn | None:
        """One click; None if nothing is wrong."""
        target = user.target
        part = largest_error(Errors.of(target, mask), self.error)
        if not part.any():
            return None
        voxel = deepest_voxel(part, target.spacing_mm if self.depth == "mm" else (1.0, 1.0, 1.0))
        return clicks(user, voxel[None])

    def correct_jointly(self, users: Users, masks: Sequence[Mask]) -> JointTurn:
        """The click for each target, as if it were alone."""
        return [self.correct(user, mask) for user, mask in zip(users.each, masks, strict=True)]


def largest_error(errors: Errors, kind: Error) -> Mask:
    """The largest component of the wrong voxels; empty if nothing is wrong."""
    if kind == "any":
        return largest_component(errors.both, tie="first")
    missed, surplus = (largest_component(one, tie="first") for one in (errors.negatives, errors.positives))
    return missed if missed.voxels >= surplus.voxels else surplus


def deepest_voxel(part: Mask, spacing_mm: tuple[float, float, float]) -> NDArray[np.intp]:
    """The voxel ``z, y, x`` of a component that is farthest from its border, with the published choice among equals."""
    margins = [max(1, side // 4) for side in part.array.shape]
    sides = [side + 2 * margin for side, margin in zip(part.array.shape, margins, strict=True)]
    deepest = _on_blocks(part, margins, spacing_mm) if prod(sides) > LARGEST else _deepest(part, spacing_mm)
    voxels = np.flatnonzero(deepest)
    chosen = voxels[np.random.RandomState(SEED).choice(len(voxels))]
    return np.array(np.unravel_index(chosen, deepest.shape), dtype=np.intp) + np.asarray(part.start, dtype=np.intp)


def _deepest(part: Mask, spacing_mm: tuple[float, float, float]) -> NDArray[np.bool_]:
    """The deepest voxels in the box of a component."""
    depth = depths(part, spacing_mm, planar=False)
    found: NDArray[np.bool_] = depth == depth.max()
    return found


def _on_blocks(part: Mask, margins: Sequence[int], spacing_mm: tuple[float, float, float]) -> NDArray[np.bool_]:
    """The voxels of the deepest blocks, which begin where the margin of the component does."""
    odd = [margin % 2 for margin in margins]
    ends = [before + side for before, side in zip(odd, part.array.shape, strict=True)]
    padded = np.pad(part.array, [(before, end % 2) for before, end in zip(odd, ends, strict=True)])
    blocks = np.zeros([side // 2 for side in padded.shape], dtype=bool)
    for z, y, x in np.ndindex(2, 2, 2):
        blocks |= padded[z::2, y::2, x::2]
    deepest = _deepest(Mask((0, 0, 0), blocks), spacing_mm)
    for axis in range(3):
        deepest = deepest.repeat(2, axis=axis)
    inner = tuple(slice(before, end) for before, end in zip(odd, ends, strict=True))
    return part.array & deepest[inner]
