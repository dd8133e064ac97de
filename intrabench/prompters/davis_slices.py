"""The scribble robot of DAVIS on volumes: it goes to the slice with the largest error and draws there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from intrabench.davis.robot import ScribbleRobot
from intrabench.davis.utils.scribbles import drawn
from intrabench.mask import Ints, Mask
from intrabench.prompters.base import Refinement
from intrabench.prompters.click_slice import clicks
from intrabench.prompters.errors import Errors, deepest
from intrabench.prompters.user import JointTurn, User, Users
from intrabench.prompts import Prompts, Scribble
from intrabench.turns import Turn, drawing

_ROBOT = ScribbleRobot(max_kernel_radius=10.0, inside=True)
"""In mm; the published limit of 16 pixels is for frames of 480 x 854."""


@dataclass(frozen=True)
class DavisSlices(Refinement):
    """Scribbles into the errors of one slice, or a click on their deepest voxel; may also come first.

    The slice is that with the largest error; where the user has been before it goes only if nothing else is wrong. Each
    stroke runs along the middle of an error, thin parts left out, and never leaves it; what was missed gets positive
    ones, what is wrongly included negative ones. In a joint session all targets are corrected in the same slice.

    choose: volume takes the slice with most wrong voxels, dice the one with the lowest Dice of the targets there.

    Source: the robot of DAVIS Interactive (Caelles et al., arXiv:1803.00557), with lengths in mm and without its bugs.
    """

    name = "davis_slices"
    version = "2"
    begins = True
    choose: Literal["volume", "dice"] = "volume"

    def correct(self, user: User, mask: Mask) -> Turn | None:
        """Strokes, or a click, in one slice; None if nothing is wrong."""
        turns = self.correct_jointly(Users((user,)), [mask])
        return turns[0] if turns else None

    def correct_jointly(self, users: Users, masks: Sequence[Mask]) -> JointTurn | None:
        """The same for all targets, in the slice that is worst for all of them together."""
        errors = [Errors.of(user.target, mask) for user, mask in zip(users.each, masks, strict=True)]
        depth = users.targets[0].shape[0]
        parts = [part for one in errors for part in (one.negatives, one.positives)]
        wrong: NDArray[np.float64] = np.array([part.voxels_per_slice(depth) for part in parts], float).sum(axis=0)
        if not wrong.any():
            return None
        score = wrong if self.choose == "volume" else _badness(users, masks, wrong)
        by_turn = [turn.prompts.slices() for user in users.each for turn in user.given]
        visited = [slices[0] for slices in by_turn if len(slices) == 1]  # also where it was started by a click or a box
        left = np.where(np.isin(np.arange(depth), visited), -1.0, score)
        z = int(np.argmax(left if ((left >= 0) & (wrong > 0)).any() else score))
        here = [one.on_slice(z) for one in errors]
        wrong_here = [part for one in here for part in (one.negatives, one.positives)]
        strokes = iter(centre_lines(wrong_here, users.targets[0].spacing_mm, users.rng("strokes")))
        each = zip(users.each, here, strokes, strokes, strict=True)  # two after each other are of one target
        return [_turn(user, one, missed, beyond) for user, one, missed, beyond in each]


def _turn(user: User, errors: Errors, missed: Sequence[Ints], beyond: Sequence[Ints]) -> Turn | None:
    """The strokes into the errors of a slice; if there are none, a click on the deepest wrong voxel."""
    strokes = [Scribble(stroke, label) for found, label in ((missed, 1), (beyond, 0)) for stroke in found]
    if strokes:
        return Turn(Prompts(scribbles=tuple(strokes)), tuple(map(drawing, strokes)))
    wrong = max((errors.negatives, errors.positives), key=lambda mask: mask.voxels)
    return clicks(user, np.array(deepest(wrong, user.target.spacing_mm, planar=True)[:1])) if wrong.any() else None


def centre_lines(
    masks: Sequence[Mask], spacing_mm: tuple[float, float, float], rng: np.random.Generator
) -> list[list[Ints]]:
    """Rows ``z, y, x`` of each stroke through the middle of each mask of a slice, in drawing order.

    Each has two voxels or more and never leaves the mask; small and round parts have none. rng: breaks ties.
    """
    planes = [mask.array[0] if mask.any() else np.zeros((0, 0), bool) for mask in masks]
    paths_in, found = _ROBOT.strokes_in(planes, rng, spacing_mm[1:]), []
    for mask, error, paths in zip(masks, planes, paths_in, strict=True):
        strokes = [drawn(path, error) for path in paths]
        found.append([np.insert(stroke, 0, 0, axis=1) + mask.start for stroke in strokes if len(stroke) > 1])
    return found


def _badness(users: Users, masks: Sequence[Mask], wrong: NDArray[np.float64]) -> NDArray[np.float64]:
    """(depth,) one minus the Dice of all targets in each slice; -1 where nothing is wrong."""
    depth = len(wrong)
    both = np.sum([one.voxels_per_slice(depth) for one in (*masks, *(each.mask for each in users.targets))], axis=0)
    return np.where(wrong > 0, wrong / np.maximum(both, 1), -1.0)
