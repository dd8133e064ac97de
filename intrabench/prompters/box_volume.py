"""One box in the volume."""

from __future__ import annotations

from dataclasses import dataclass

from intrabench.prompters.base import Prompter
from intrabench.prompters.hand import Hand
from intrabench.prompters.user import Turns, User
from intrabench.prompts import box3d
from intrabench.specs.specs import switch
from intrabench.specs.values import Millimetres
from intrabench.turns import DrawBox3D, Turn


@dataclass(frozen=True)
class BoxVolume(Prompter):
    """The tight 3D box of the target ("3D Box" of the paper).

    jitter_mm: standard deviation of the positions of its faces.

    Source: IntRaBench paper and its code, RadioActive; jitter_mm is ours.
    """

    name = "box_volume"
    corrects = False
    jitter_mm: Millimetres = switch(0.0)

    def interact(self, user: User) -> Turns:
        """One turn: the box."""
        turn = Turn(box3d(user.target.mask.box), actions=(DrawBox3D(),))
        yield Hand(jitter_mm=self.jitter_mm).move(turn, user) if self.jitter_mm else turn
