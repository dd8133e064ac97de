"""One correcting click in the middle of the largest error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from intrabench.mask import Mask
from intrabench.prompters.base import Refinement
from intrabench.prompters.click_slice import clicks
from intrabench.prompters.errors import Errors, deepest, largest_component
from intrabench.prompters.user import User
from intrabench.specs.specs import switch
from intrabench.turns import Turn


@dataclass(frozen=True)
class ClickCenter(Refinement):
    """The deepest voxel of the largest error, a 26-connected component of all wrong voxels.

    units: whether depth is measured in millimetres, within the slice if there is only one, or in voxels of any size, of
    which none is deep then. tie: whether the first (in z, y, x order) or a random one of equally deep voxels is taken.
    ``units=voxel,tie=seeded`` is the rule of the CVPR 2025 challenge, except for its random draw.

    Source: CVPR 2025 challenge; millimetres and the first of ties are ours.
    """

    name = "click_center"
    version = "2"
    begins = True
    units: Literal["mm", "voxel"] = switch("mm")
    tie: Literal["first", "seeded"] = switch("first")

    def correct(self, user: User, mask: Mask) -> Turn | None:
        """One click; None if nothing is wrong."""
        component = largest_component(Errors.of(user.target, mask).both)
        if not component.any():
            return None
        planar = user.target.shape[0] == 1 and self.units == "mm"
        found = deepest(component, user.target.spacing_mm, self.units, planar=planar)
        chosen = int(user.rng("tie").integers(len(found))) if self.tie == "seeded" else 0
        return clicks(user, np.array(found[chosen])[None])
