"""Points on a few slices, interpolated between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from intrabench.prompters.base import Prompter
from intrabench.prompters.slices import Ends, component_centre, interpolate, seed_slices
from intrabench.prompters.user import Turns, User
from intrabench.prompts import points
from intrabench.specs.specs import switch
from intrabench.specs.values import Count
from intrabench.turns import Click, Turn


@dataclass(frozen=True)
class PointInterp(Prompter):
    """n points, one on each of n evenly spaced slices, interpolated linearly ("nP Inter" of the paper).

    Each point is the pixel of the slice's largest component that is nearest to the centre of its bounding box.
    With n=1 the only point is on the first slice. ends: the share of the target's slices that stays free at each end,
    as in `box_interp`; no point is interpolated there.

    Source: IntRaBench paper and its code, RadioActive.
    """

    name = "point_interp"
    corrects = False
    n: Count = 3
    ends: Ends = switch(0.0)

    def interact(self, user: User) -> Turns:
        """One turn: clicked and derived points; the clicked ones cost."""
        slices = np.unique(seed_slices(user.target.mask, self.n, self.ends))
        seeds = np.array([(z, *component_centre(user.target.mask, int(z))) for z in slices], dtype=np.int64)
        line = interpolate(seeds)
        yield Turn(points(line, clicked=np.isin(line[:, 0], slices)), actions=(Click(),) * len(seeds))
