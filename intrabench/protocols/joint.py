"""How the targets of a case are segmented together: in joint sessions, which share rounds and the stop rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from intrabench.errors import IntraBenchError
from intrabench.specs.specs import build, parse, spec_of


@dataclass(frozen=True)
class JointRules:
    """What the targets of a joint session mean for each other: ``others=negative,overlap=first``.

    others: what a positive point or scribble for one target is for the others: nothing (ignore), or a negative one
    (negative). overlap: whose a voxel is that several answers claim: all of them keep it, the first target in the order
    of the case gets it, or the one whose answer has the highest score there, of equal ones the first.
    """

    name = "joint"
    others: Literal["ignore", "negative"] = "ignore"
    overlap: Literal["keep", "first", "score"] = "keep"

    @property
    def spec(self) -> str:
        """As ``--joint`` takes it, with every parameter."""
        return spec_of(self).partition(":")[2]


def joint_rules(words: str) -> JointRules | None:
    """The rules that ``--joint`` means, such as ``others=negative``; None if it was not given.

    Raises:
        IntraBenchError: a parameter or a value is unknown.
    """
    if not words:
        return None
    if "=" not in words:
        raise IntraBenchError(
            f"--joint {words}: give the rules for the targets of a case, as in --joint others=negative,overlap=first, "
            "or --joint overlap=keep if they are to be segmented independently of each other"
        )
    _, arguments = parse(f"joint:{words}")
    return build(JointRules, arguments, f"--joint {words}")
