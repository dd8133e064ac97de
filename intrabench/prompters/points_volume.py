"""A few points in the volume."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Mask
from intrabench.prompters.base import Prompter
from intrabench.prompters.slices import component_centre, interpolate, seed_slices
from intrabench.prompters.user import Turns, User
from intrabench.prompts import points
from intrabench.specs.values import Count
from intrabench.turns import Click, Turn


@dataclass(frozen=True)
class PointsVolume(Prompter):
    """n points in the volume: random voxels of the target ("nPPV"), or along its centre line ("n center PPV").

    placement=center interpolates five slice centres and takes n points evenly spaced along z, without the ends. Long
    centre lines are not cropped to a network's patch (RadioActive does so), because a prompter never sees the model.
    placement=random draws without replacement, and never more voxels than there are.

    Source: IntRaBench paper and its code, RadioActive.
    """

    name = "points_volume"
    corrects = False
    n: Count = 1
    placement: Literal["center", "random"] = "center"

    def interact(self, user: User) -> Turns:
        """One turn: all points."""
        mask = user.target.mask
        rows = self._random(mask, user) if self.placement == "random" else self._centre(mask)
        yield Turn(points(rows), actions=(Click(),) * len(rows))

    def _random(self, mask: Mask, user: User) -> NDArray[np.intp]:
        voxels = mask.coordinates()
        drawn = user.rng("voxels").choice(len(voxels), size=min(self.n, len(voxels)), replace=False)
        return voxels[drawn]

    def _centre(self, mask: Mask) -> NDArray[np.int64]:
        slices = np.unique(seed_slices(mask, 5))
        line = interpolate(np.array([(z, *component_centre(mask, int(z))) for z in slices], dtype=np.int64))
        spaced = np.linspace(0, len(line) - 1, self.n + 2)[1:-1].astype(int)
        return line[np.unique(spaced)]
