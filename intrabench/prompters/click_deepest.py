"""The clicker that interactive segmentation of photos has always been measured with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Mask
from intrabench.prompters.base import Refinement, User
from intrabench.prompters.errors import Errors, depths
from intrabench.prompts import Click, Prompts, Turn
from intrabench.specs import switch

T = TypeVar("T", bound=np.generic)

Space = Literal["volume", "slice"]
"""Where a user looks for the next click: in the whole volume, or in one slice, chosen by how much is wrong in it."""


@dataclass(frozen=True, eq=False)
class Worse:
    """The kind of error that reaches deeper, missed or too much: what the next click is about.

    depth: of each voxel of `mask`, 0 where the user has clicked. label: 1 for a click on what is missed.
    """

    mask: Mask
    depth: NDArray[np.float32]
    label: int

    def deepest(self) -> NDArray[np.intp]:
        """The deepest voxel ``z, y, x``, the first of several in z, y, x order."""
        return np.array(np.unravel_index(int(self.depth.argmax()), self.depth.shape)) + self.mask.start


@dataclass(frozen=True)
class ClickDeepest(Refinement):
    """The deepest voxel of what is missed or of what is too much, whichever is deeper; also begins by itself.

    A voxel is clicked once at most. space: for volumes; slice: chosen at random by the area of its errors.

    Source: the baseline clicker of RITM (Sofiiuk et al. 2022) and RClicks, but with exact distances: OpenCV's differ by
    a millionth from run to run, which moves clicks. They go on after a perfect answer, with background at (0, 0).
    """

    name = "click_deepest"
    begins = True
    space: Space = switch("volume")

    def correct(self, user: User, mask: Mask) -> Turn | None:
        """One click; None when nothing is wrong that has not been clicked."""
        worse = worse_errors(user, mask, planar=is_planar(user, self.space))
        return None if worse is None else click(worse.deepest(), worse.label)


def is_planar(user: User, space: Space) -> bool:
    """Whether the user looks at a single slice."""
    return space == "slice" or user.target.shape[0] == 1


def worse_errors(user: User, mask: Mask, *, planar: bool) -> Worse | None:
    """What is missed or what is too much, whichever is deeper; in one slice if `planar`; None when neither is left.

    Of equals it is what is too much. The volume's edge is a boundary like any other.
    """
    errors = Errors.of(user.target, mask)
    if planar and user.target.shape[0] > 1:
        errors = _on_one_slice(user, errors)
    missed, excess = (
        Worse(wrong, unclicked(user, depths(wrong, user.target.spacing_mm, planar=planar), wrong.start), label)
        for wrong, label in ((errors.negatives, 1), (errors.positives, 0))
    )
    chosen = missed if missed.depth.max(initial=0) > excess.depth.max(initial=0) else excess
    return chosen if chosen.depth.any() else None


def click(voxel: NDArray[np.integer], label: int) -> Turn:
    """One click on a voxel ``z, y, x``."""
    return Turn(Prompts(points=np.array([[*voxel, label]])), (Click(),))


def _on_one_slice(user: User, errors: Errors) -> Errors:
    """The errors in one axial slice, drawn with the probability of its wrong voxels among all of them."""
    wrong = errors.both
    if not wrong.any():
        return errors
    areas = np.count_nonzero(wrong.array, axis=(1, 2))
    return errors.on_slice(wrong.start[0] + int(user.rng("slice").choice(len(areas), p=areas / areas.sum())))


def unclicked(user: User, values: NDArray[T], start: Sequence[int]) -> NDArray[T]:
    """Values ``(z, y, x)`` of the voxels from `start` on, now 0 where the user has clicked."""
    for turn in user.given:
        at = turn.prompts.clicked_points[:, :3] - np.asarray(start)
        values[tuple(at[((at >= 0) & (at < values.shape)).all(axis=1)].T)] = 0
    return values
