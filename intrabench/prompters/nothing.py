"""No prompts at first: the user waits for what the model finds by itself."""

from __future__ import annotations

from dataclasses import dataclass

from intrabench.prompters.base import Prompter
from intrabench.prompters.user import Turns, User
from intrabench.prompts import Prompts
from intrabench.turns import Turn


@dataclass(frozen=True)
class Nothing(Prompter):
    """Gives no prompts in round 0, which costs nothing: `nothing+scribble` corrects what the model finds by itself.

    A model that needs prompts is not asked, and its answer is empty.

    Source: autoPET V, whose first iteration has no scribbles.
    """

    name = "nothing"
    empty_targets = True

    def interact(self, user: User) -> Turns:
        """One turn without anything."""
        yield Turn(Prompts())
