"""One box in the volume, given on every slice."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from intrabench.prompters.base import Prompter
from intrabench.prompters.user import Turns, User
from intrabench.prompts import Prompts
from intrabench.turns import DrawBox3D, Turn


@dataclass(frozen=True)
class Box3DSlice(Prompter):
    """The tight 3D box of the target, as a 2D box on each of its slices, including those without foreground.

    Source: RadioActive; not in the tables of the IntRaBench paper.
    """

    name = "box3d_slice"
    corrects = False

    def interact(self, user: User) -> Turns:
        """One turn: the same box on all slices; the hand sets the first and the last."""
        z0, y0, x0, z1, y1, x1 = user.target.mask.box
        z = np.arange(z0, z1)
        rows = np.column_stack([z, np.tile((y0, x0, y1, x1), (len(z), 1))])
        yield Turn(Prompts(boxes2d=rows, drawn=(z == z0) | (z == z1 - 1)), actions=(DrawBox3D(),))
