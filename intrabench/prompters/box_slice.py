"""A box on every slice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from intrabench.prompters.base import Prompter
from intrabench.prompters.slices import boxes_per_component, boxes_per_slice
from intrabench.prompters.user import Turns, User
from intrabench.prompts import Prompts
from intrabench.specs.specs import switch
from intrabench.turns import DrawBox2D, Turn


@dataclass(frozen=True)
class BoxSlice(Prompter):
    """The tight 2D box of the target, drawn on every slice that it occupies ("Box PS" of the paper).

    boxes: one around all that the slice has of the target, as in the published code; or one around each 8-connected
    part of it (components), which cost a box each.

    Source: IntRaBench paper and its code, RadioActive.
    """

    name = "box_slice"
    corrects = False
    boxes: Literal["one", "components"] = switch("one")

    def interact(self, user: User) -> Turns:
        """One turn: all boxes."""
        boxes = (boxes_per_slice if self.boxes == "one" else boxes_per_component)(user.target.mask)
        yield Turn(Prompts(boxes2d=boxes), actions=(DrawBox2D(),) * len(boxes))
