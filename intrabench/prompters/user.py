"""What a prompter sees: the target, its own turns, the round; and the types of what it gives."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np

from intrabench.mask import Box, Mask
from intrabench.randomness import stream
from intrabench.target import Target
from intrabench.turns import Turn
from intrabench.volume import Volume

Item = TypeVar("Item")
Result = TypeVar("Result")
Reply = TypeVar("Reply")

RowOf = Literal["answer", "turn"]


@dataclass
class Clock:
    """The round in preparation, and where the model can answer; all objects of one session share it."""

    round: int = 0
    reach: Box | None = None


@dataclass(frozen=True, eq=False)
class User:
    """All that a prompter sees: target, image (None in a preview), its own turns so far, the round, random streams.

    notes: what rows will say; see `note`.
    """

    target: Target
    dataset: str = ""
    seed: int = 0
    image: Volume | None = None
    component: str = ""
    clock: Clock = field(default_factory=Clock)
    given: Sequence[Turn] = ()
    notes: set[tuple[RowOf, str]] = field(default_factory=set)

    def note(self, text: str, row: RowOf = "answer") -> None:
        """Have a row say something in its column `adapted`; text: words without a comma.

        row: that of the last answer, or that of the turn that is given next.
        """
        self.notes.add((row, text))

    def told(self, row: RowOf = "answer") -> set[str]:
        """The notes for a row since it was asked last."""
        found = {note for note in self.notes if note[0] == row}
        self.notes.difference_update(found)
        return {text for _, text in found}

    def acting(self, component: str) -> User:
        """The same user with the random streams of one component (its spec), whatever it is combined with."""
        return replace(self, component=component)

    @property
    def round(self) -> int:
        """The round that the next turn with actions opens: 0 initially, then 1 for the first correction, and so on."""
        return self.clock.round

    @property
    def reach(self) -> Box | None:
        """The box in which the model can answer, as its last answer said; None: anywhere, or there is no answer yet."""
        return self.clock.reach

    def rng(self, purpose: str) -> np.random.Generator:
        """The random stream of one decision; its numbers depend only on the decision's identity."""
        return stream(
            self.seed, self.dataset, self.target.case, self.target.id, self.component, self.clock.round, purpose
        )


@dataclass(frozen=True, eq=False)
class Users:
    """All that a prompter of a joint session sees: for each target what it would see alone."""

    each: tuple[User, ...]

    def acting(self, component: str) -> Users:
        """The same users with the random streams of one component (its spec)."""
        return Users(tuple(user.acting(component) for user in self.each))

    @property
    def targets(self) -> tuple[Target, ...]:
        """The targets, in the order of the case."""
        return tuple(user.target for user in self.each)

    @property
    def image(self) -> Volume | None:
        """The image; None in a preview."""
        return self.each[0].image

    @property
    def round(self) -> int:
        """The round that the next turns with actions open: 0 initially, then 1 for the first correction, and so on."""
        return self.each[0].round

    def rng(self, purpose: str) -> np.random.Generator:
        """The random stream of a decision that concerns all targets."""
        one, ids = self.each[0], [target.id for target in self.targets]
        return stream(one.seed, one.dataset, one.target.case, ids, one.component, one.clock.round, purpose)


Turns = Generator[Turn, Mask, None]
"""The type of `Prompter.interact`: a generator that yields turns and is sent the mask of the whole target so far."""
JointTurn: TypeAlias = Sequence[Turn | None]
"""What the user gives at once in a joint session: for each target a turn, or None if there is nothing new for it."""
JointTurns: TypeAlias = Generator[JointTurn, Sequence[Mask], None]
"""The type of `interact_jointly`: a generator that yields joint turns and is sent the masks of all targets so far."""


def relay(
    turns: Generator[Item, Reply, Any], change: Callable[[Item], Result]
) -> Generator[Result, Reply, Reply | None]:
    """All turns of a generator, each changed, which gets the answers; returns the last answer, None without turns."""
    with closing(turns):
        answer = None
        try:
            turn = next(turns)
            while True:
                answer = yield change(turn)
                turn = turns.send(answer)
        except StopIteration:
            return answer
