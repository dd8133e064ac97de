"""One correcting click anywhere."""

from __future__ import annotations

from dataclasses import dataclass

from intrabench.mask import Mask
from intrabench.prompters.base import Refinement
from intrabench.prompters.click_slice import clicks
from intrabench.prompters.errors import Errors
from intrabench.prompters.user import User
from intrabench.turns import Turn


@dataclass(frozen=True)
class ClickVolume(Refinement):
    """One random wrong voxel of the volume ("1 PPV Refine"), with the sign that corrects it.

    Source: IntRaBench paper and its code, RadioActive.
    """

    name = "click_volume"
    begins = True

    def correct(self, user: User, mask: Mask) -> Turn | None:
        """One click; None if nothing is wrong."""
        wrong = Errors.of(user.target, mask).both.coordinates()
        return clicks(user, user.rng("voxel").choice(wrong)[None]) if len(wrong) else None
