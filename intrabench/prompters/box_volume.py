"""One box in the volume."""

from __future__ import annotations

from dataclasses import dataclass

from intrabench.prompters.base import Prompter, Turns, User
from intrabench.prompts import DrawBox3D, Turn, box3d


@dataclass(frozen=True)
class BoxVolume(Prompter):
    """The tight 3D box of the target ("3D Box" of the paper)."""

    name = "box_volume"

    def interact(self, user: User) -> Turns:
        """One turn: the box."""
        yield Turn(box3d(user.target.mask.box), actions=(DrawBox3D(),))
