"""Boxes on a few slices, interpolated between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from intrabench.prompters.base import Prompter, Turns, User
from intrabench.prompters.slices import boxes_per_slice, interpolate, seed_slices
from intrabench.prompts import DrawBox2D, Prompts, Turn


@dataclass(frozen=True)
class BoxInterp(Prompter):
    """n tight 2D boxes, evenly spaced over the target's slices, interpolated linearly ("nB Inter" of the paper).

    With n=1 the only box is that of the first slice.
    """

    name = "box_interp"
    n: int = 3

    def __post_init__(self) -> None:
        if self.n < 1:
            raise ValueError(f"n={self.n}, expected at least 1")

    def interact(self, user: User) -> Turns:
        """One turn: drawn and derived boxes; the drawn ones cost."""
        mask = user.target.mask
        seeds = seed_slices(mask, self.n)
        tight = boxes_per_slice(mask)
        boxes = interpolate(tight[np.isin(tight[:, 0], seeds)])
        drawn = np.isin(boxes[:, 0], seeds)
        yield Turn(Prompts(boxes2d=boxes, drawn=drawn), actions=(DrawBox2D(),) * int(drawn.sum()))
