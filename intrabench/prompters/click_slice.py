"""A correcting click in every prompted slice."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile

import numpy as np

from intrabench.mask import Mask
from intrabench.prompters.base import Refinement
from intrabench.prompters.errors import Errors
from intrabench.prompters.user import User
from intrabench.prompts import Prompts
from intrabench.turns import Click, Turn


@dataclass(frozen=True)
class ClickSlice(Refinement):
    """One random wrong pixel in every slice that was prompted initially ("1PPS Refine").

    Source: IntRaBench paper and its code, RadioActive.
    """

    name = "click_slice"

    def correct(self, user: User, mask: Mask) -> Turn | None:
        """One click per slice with an error; None if no slice has one."""
        wrong = Errors.of(user.target, mask).both
        rows = []
        for z in sorted(prompted_slices(user) & {int(z) for z in wrong.occupied_slices}):
            rows.append(user.rng(f"pixel on slice {z}").choice(wrong.slice(z).coordinates()))
        return clicks(user, np.array(rows)) if rows else None


def prompted_slices(user: User) -> set[int]:
    """Slices with an initial prompt."""
    first, *later = user.given
    found: set[int] = set()
    for turn in (first, *takewhile(lambda turn: not turn.actions, later)):
        found |= set(turn.prompts.slices())
        if turn.prompts.box3d is not None:
            found |= set(range(int(turn.prompts.box3d[0]), int(turn.prompts.box3d[3])))
    return found


def clicks(user: User, voxels: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> Turn:
    """Clicks on voxels (rows ``z, y, x``), positive on the target and negative outside."""
    rows = np.column_stack([voxels, user.target.mask.contains(voxels)])
    return Turn(Prompts(points=rows), (Click(),) * len(voxels))
