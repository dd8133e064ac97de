"""The name of the target, typed."""

from __future__ import annotations

import re
from dataclasses import dataclass

from intrabench.errors import NotApplicable, several
from intrabench.prompters.base import Prompter
from intrabench.prompters.user import Turns, User
from intrabench.prompts import Prompts
from intrabench.specs.specs import switch
from intrabench.specs.values import Natural
from intrabench.target import ANNOTATION, Target
from intrabench.turns import Turn, TypeText

_SAYS_NOTHING = re.compile(
    rf"({ANNOTATION}|class|component|foreground|instance|label|mask|object|roi|segment|segmentation|structure|target)?"
    r"[ .:#-]*\d*",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Name(Prompter):
    """Types what people call the target, in one turn; `name+scribble` then corrects the answer like any other.

    The card of a data set may have names and synonyms for its labels, or for single targets: vertebra L3, third lumbar
    vertebra. Otherwise the name is the label, with blanks for underscores. If that says nothing, as `object 3`,
    the target is not applicable. Instances of one label have the same name unless the card tells them apart.

    synonym: 0 is the name, 1 the first of its synonyms, and so on; a target that has fewer is not applicable.

    Source: ours. Models that take text: SegVol (Du et al., NeurIPS 2024), VoxTell (Rokuss et al., arXiv 2511.11450).
    """

    name = "name"
    corrects = False
    reads_names = True
    synonym: Natural = switch(0)

    def interact(self, user: User) -> Turns:
        """One turn with a text."""
        names = names_of(user.target)
        if not names:
            raise NotApplicable(
                f"the label {user.target.label!r} does not say what the target is; give it a name in the card of the "
                "data set (names)"
            )
        if self.synonym >= len(names):
            has = several(len(names) - 1, "synonym")
            raise NotApplicable(f"{names[0]!r} has {has}, and number {self.synonym} is wanted")
        text = names[self.synonym]
        yield Turn(Prompts(text=text), (TypeText.of(text),))


def names_of(target: Target) -> tuple[str, ...]:
    """The name of a target and its synonyms; empty if nobody says what it is."""
    if target.names:
        return target.names
    words = " ".join(target.label.replace("_", " ").split())
    return () if target.person or _SAYS_NOTHING.fullmatch(words) else (words,)
