"""The first box of the CVPR 2025 challenge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from intrabench.mask import Box
from intrabench.prompters.base import Prompter
from intrabench.prompters.user import Turns, User
from intrabench.prompts import Prompts, box3d
from intrabench.specs.values import Pixels
from intrabench.turns import DrawBox3D, Turn


@dataclass(frozen=True)
class BoxMiddle(Prompter):
    """A 3D box from the first to the last slice of the target, but as wide as its middle slice only.

    The middle slice is the median of those that the target is in. So the box may miss most of a bent target, and all
    of it where that slice has little.

    widen: up to so many pixels of an image of 256 x 256 are added on all sides of the slice, a number for each target,
    as in the challenge (0 to 5).

    start: file takes the box that the data set states (without widening), and none where it states that there is none:
    then nobody prompts in the first round, and a model that needs prompts is not asked. target ignores what the data
    set states.

    Source: get_boxes.py and CVPR25_iter_eval.py of JunMa11/CVPR-MedSegFMCompetition (2025-06-03).
    """

    name = "box_middle"
    corrects = False
    widen: Pixels = 5
    start: Literal["file", "target"] = "file"

    def interact(self, user: User) -> Turns:
        """One turn: the box, or waiting."""
        stated = user.target.boxes if self.start == "file" else None
        if stated is None:
            yield Turn(box3d(self._derived(user)), (DrawBox3D(),))
        elif stated:
            yield Turn(box3d(stated[user.seed % len(stated)]), (DrawBox3D(),))
        else:
            yield Turn(Prompts())

    def _derived(self, user: User) -> Box:
        """The box from the target's slices, widened."""
        mask, (_, height, width) = user.target.mask, user.target.shape
        slices = mask.occupied_slices
        _, y0, x0, _, y1, x1 = mask.slice(int(slices[len(slices) // 2])).box
        drawn = int(user.rng("widen").integers(0, self.widen + 1))
        up, left = drawn * height // 256, drawn * width // 256
        low, high = (max(y0 - up, 0), max(x0 - left, 0)), (min(y1 + up, height), min(x1 + left, width))
        return (int(slices[0]), *low, int(slices[-1]) + 1, *high)
