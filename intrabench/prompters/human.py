"""A person in the place of a simulated user."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from intrabench.errors import NotApplicable
from intrabench.prompters.base import Prompter
from intrabench.prompters.user import Turns, User
from intrabench.specs.specs import Reach
from intrabench.turns import Turn

_PSEUDONYM = re.compile(r"[A-Za-z0-9_-]{1,40}")


@dataclass(frozen=True)
class Human(Prompter):
    """A person, who gives the prompts on a page that `annotate` opens; an ordinary run gets none.

    rater: a pseudonym of letters, digits, - and _. It is in every row of the results, so do not take a name.
    """

    name: ClassVar[str] = "human"
    rater: Annotated[str, Reach()] = "anonymous"
    _turns: ClassVar[Sequence[Turn]] = ()  # of this object, no parameter

    def __post_init__(self) -> None:
        if not _PSEUDONYM.fullmatch(self.rater):
            raise ValueError(
                f"rater={self.rater} is no pseudonym; give up to 40 letters, digits, - and _, such as rater=ab"
            )

    def replaying(self, turns: Sequence[Turn]) -> Human:
        """The same person, who gives these turns again, whatever the answers are."""
        again = Human(self.rater)
        object.__setattr__(again, "_turns", tuple(turns))
        return again

    def interact(self, user: User) -> Turns:
        """What is to be given again; nothing where a run simulates users."""
        if not self._turns:
            raise NotApplicable("a person gives the prompts of human, on the page of intrabench annotate")
        for turn in self._turns:  # noqa: UP028  # the iterator of a tuple takes no answers
            yield turn
