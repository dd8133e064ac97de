"""Boxes on a few slices, interpolated between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from intrabench.mask import Ints
from intrabench.prompters.base import Prompter
from intrabench.prompters.slices import Ends, boxes_per_slice, interpolate, seed_slices
from intrabench.prompters.user import Turns, User
from intrabench.prompts import Prompts
from intrabench.specs.specs import switch
from intrabench.specs.values import Count, Pixels
from intrabench.turns import DrawBox2D, Turn


@dataclass(frozen=True)
class BoxInterp(Prompter):
    """n tight 2D boxes, evenly spaced over the target's slices, interpolated linearly ("nB Inter" of the paper).

    With n=1 the only box is on the first slice. jitter_px: largest shift of each edge of a drawn box, by a random whole
    number of pixels, before the interpolation ("nonperfect" in RadioActive). ends: the share of the target's slices
    that stays free at each end, where the tip of an organ is a few pixels. No box is interpolated there: a model of
    slices answers nothing, and a model of volumes finds the ends by itself. With n=1 and ends=0.5 the only box is on
    the middle slice. The paper draws on the first and the last slice, ends=0.

    Source: IntRaBench paper and its code, RadioActive.
    """

    name = "box_interp"
    corrects = False
    n: Count = 3
    jitter_px: Pixels = switch(0)
    ends: Ends = switch(0.0)

    def interact(self, user: User) -> Turns:
        """One turn: drawn and derived boxes; the drawn ones cost."""
        mask = user.target.mask
        seeds = seed_slices(mask, self.n, self.ends)
        tight = boxes_per_slice(mask)
        tight = tight[np.isin(tight[:, 0], seeds)]
        if self.jitter_px:
            tight = self._jittered(tight, user)
        boxes = interpolate(tight)
        drawn = np.isin(boxes[:, 0], seeds)
        yield Turn(Prompts(boxes2d=boxes, drawn=drawn), actions=(DrawBox2D(),) * int(drawn.sum()))

    def _jittered(self, boxes: Ints, user: User) -> Ints:
        """Rows ``z, y0, x0, y1, x1`` with moved edges, in the slice, at least one pixel wide."""
        noise = user.rng("jitter").integers(-self.jitter_px, self.jitter_px, boxes[:, 1:].shape, endpoint=True)
        size = np.array(user.target.shape[1:])
        low = (boxes[:, 1:3] + noise[:, :2]).clip(0, size - 1)
        high = np.maximum((boxes[:, 3:] + noise[:, 2:]).clip(0, size), low + 1)
        return np.column_stack([boxes[:, 0], low, high])
