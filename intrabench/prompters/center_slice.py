"""A point at the centre of every slice."""

from __future__ import annotations

from dataclasses import dataclass

from intrabench.prompters.base import Prompter
from intrabench.prompters.slices import component_centre
from intrabench.prompters.user import Turns, User
from intrabench.prompts import points
from intrabench.turns import Click, Turn


@dataclass(frozen=True)
class CenterSlice(Prompter):
    """A point on every slice: the pixel of its largest component that is nearest to the component's centroid.

    Source: RadioActive; not in the tables of the IntRaBench paper.
    """

    name = "center_slice"
    corrects = False

    def interact(self, user: User) -> Turns:
        """One turn: all points."""
        mask = user.target.mask
        rows = [(int(z), *component_centre(mask, int(z), of="voxels")) for z in mask.occupied_slices]
        yield Turn(points(rows), actions=(Click(),) * len(rows))
