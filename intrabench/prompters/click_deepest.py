"""The clicker that is the standard for evaluating interactive segmentation of photos."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Mask, grow
from intrabench.prompters.base import Refinement
from intrabench.prompters.errors import Errors, depth_steps, depths
from intrabench.prompters.user import User
from intrabench.prompts import Prompts
from intrabench.specs.specs import switch
from intrabench.turns import Click, Turn

T = TypeVar("T", bound=np.generic)

Space = Literal["volume", "slice"]
"""The space of the next click: the whole volume, or one slice that is drawn by its number of wrong voxels."""


@dataclass(frozen=True, eq=False)
class Worse:
    """Errors of one kind, missed or wrongly included voxels, that the next click may correct.

    label: 1 for a click on missed voxels. planar: whether only one slice is considered.
    """

    user: User
    mask: Mask
    label: int
    planar: bool

    @cached_property
    def depth(self) -> NDArray[np.float32]:
        """Depth of each voxel of `mask`; 0 where the user has clicked."""
        return self._depths(self.mask)

    @cached_property
    def limit(self) -> float:
        """A fast upper bound of the depth from every fourth voxel."""
        return 4 * float(self._coarse.max(initial=0) + np.hypot.reduce(self._steps))

    def exceeds(self, depth: float) -> bool:
        """Whether the deepest of every fourth voxel is certainly deeper; False means unknown."""
        if not self._coarse.any():
            return False
        at = np.add(self.mask.start, 4 * np.array(np.unravel_index(int(self._coarse.argmax()), self._coarse.shape)))
        margin = [0] * (3 - len(self._steps)) + [int(depth / step) + 1 for step in self._steps]
        box = grow((*at, *(at + 1)), margin, self.user.target.shape)
        return bool(self._depths(Mask(box[:3], self.mask.crop(box))).max() > depth)

    def deepest(self) -> NDArray[np.intp]:
        """The deepest voxel ``z, y, x``; of several, the first in z, y, x order."""
        return np.array(np.unravel_index(int(self.depth.argmax()), self.depth.shape)) + self.mask.start

    @cached_property
    def _coarse(self) -> NDArray[np.float32]:
        return depths(Mask((0, 0, 0), self.mask.array[::4, ::4, ::4]), self._spacing_mm, planar=self.planar)

    @property
    def _spacing_mm(self) -> tuple[float, float, float]:
        return self.user.target.spacing_mm

    @property
    def _steps(self) -> tuple[float, ...]:
        return depth_steps(self._spacing_mm, planar=self.planar)

    def _depths(self, mask: Mask) -> NDArray[np.float32]:
        return unclicked(self.user, depths(mask, self._spacing_mm, planar=self.planar), mask.start)


@dataclass(frozen=True)
class ClickDeepest(Refinement):
    """The deepest voxel of all missed or wrongly included ones, whichever is deeper; may also come first.

    A voxel is clicked at most once. space: the whole volume, or a slice drawn by the area of its errors.

    Source: the baseline clicker of RITM (Sofiiuk et al. 2022) and RClicks, with exact distances: OpenCV's vary by
    a millionth from run to run, which moves clicks. Theirs goes on after a perfect answer, with background at (0, 0).
    """

    name = "click_deepest"
    begins = True
    space: Space = switch("volume")

    def correct(self, user: User, mask: Mask) -> Turn | None:
        """One click; None if every wrong voxel has been clicked."""
        worse = worse_errors(user, mask, planar=is_planar(user, self.space))
        return None if worse is None else click(worse.deepest(), worse.label)


def is_planar(user: User, space: Space) -> bool:
    """Whether the user looks at a single slice."""
    return space == "slice" or user.target.shape[0] == 1


def worse_errors(user: User, mask: Mask, *, planar: bool) -> Worse | None:
    """Missed or wrongly included voxels, whichever are deeper; in one slice if `planar`; None if there are none.

    If both are equally deep, wrongly included voxels are chosen. The volume's edge counts as a boundary.
    """
    errors = Errors.of(user.target, mask)
    if planar and user.target.shape[0] > 1:
        errors = _on_one_slice(user, errors)
    missed, excess = Worse(user, errors.negatives, 1, planar), Worse(user, errors.positives, 0, planar)
    likely, other = (missed, excess) if missed.limit > excess.limit else (excess, missed)
    if likely.exceeds(other.limit):
        return likely
    chosen = missed if missed.depth.max(initial=0) > excess.depth.max(initial=0) else excess
    return chosen if chosen.depth.any() else None


def click(voxel: NDArray[np.integer], label: int) -> Turn:
    """One click on a voxel ``z, y, x``."""
    return Turn(Prompts(points=np.array([[*voxel, label]])), (Click(),))


def _on_one_slice(user: User, errors: Errors) -> Errors:
    """The errors in one slice, drawn in proportion to its wrong voxels that have not been clicked."""
    wrong = errors.both
    areas = np.count_nonzero(unclicked(user, wrong.array.copy(), wrong.start), axis=(1, 2))
    if not areas.any():
        return Errors(Mask.empty(), Mask.empty())
    return errors.on_slice(wrong.start[0] + int(user.rng("slice").choice(len(areas), p=areas / areas.sum())))


def unclicked(user: User, values: NDArray[T], start: Sequence[int]) -> NDArray[T]:
    """Set values ``(z, y, x)`` of the voxels from `start` on to 0 where the user has clicked."""
    clicked = [turn.prompts.clicked_points[:, :3] for turn in user.given]
    if clicked:
        at = np.concatenate(clicked) - np.asarray(start)
        values[tuple(at[((at >= 0) & (at < values.shape)).all(axis=1)].T)] = 0
    return values
