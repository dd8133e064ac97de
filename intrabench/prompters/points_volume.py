"""A few points in the volume."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Mask
from intrabench.prompters.base import Prompter
from intrabench.prompters.slices import component_centre, interpolate, seed_slices
from intrabench.prompters.user import Turns, User
from intrabench.prompts import points
from intrabench.specs.specs import switch
from intrabench.specs.values import Count
from intrabench.turns import Click, Turn


@dataclass(frozen=True)
class PointsVolume(Prompter):
    """n points in the volume: random voxels of the target ("nPPV"), or along its centre line ("n center PPV").

    placement=center interpolates five slice centres and takes n points evenly spaced along z, without the ends. Long
    centre lines are not cropped to a network's patch (RadioActive does so), because a prompter never sees the model.
    placement=random draws without replacement, and never more voxels than there are. With together=false the same
    points are given one by one, each in a round of its own, in which the model answers. Seconds differ, because the
    place of a click is looked for once a round; interactions and degrees of freedom do not.

    Source: IntRaBench paper and its code, RadioActive.
    """

    name = "points_volume"
    corrects = False
    n: Count = 1
    placement: Literal["center", "random"] = "center"
    together: bool = switch(True)

    @property
    def rounds(self) -> int:
        """One for each further point, if they are given one by one."""
        return 0 if self.together else self.n - 1

    def interact(self, user: User) -> Turns:
        """One turn with all points, or one for each."""
        mask = user.target.mask
        same = user.acting(replace(self, together=True).spec)  # else the two ways would draw different points
        rows = self._random(mask, same) if self.placement == "random" else self._centre(mask)
        for given in [rows] if self.together else rows[:, None]:
            yield Turn(points(given), actions=(Click(),) * len(given))

    def _random(self, mask: Mask, user: User) -> NDArray[np.intp]:
        voxels = mask.coordinates()
        drawn = user.rng("voxels").choice(len(voxels), size=min(self.n, len(voxels)), replace=False)
        return voxels[drawn]

    def _centre(self, mask: Mask) -> NDArray[np.int64]:
        slices = np.unique(seed_slices(mask, 5))
        line = interpolate(np.array([(z, *component_centre(mask, int(z))) for z in slices], dtype=np.int64))
        spaced = np.linspace(0, len(line) - 1, self.n + 2)[1:-1].astype(int)
        return line[np.unique(spaced)]
