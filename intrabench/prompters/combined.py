"""Combinations of an initial prompter, a refinement and a hand with errors: ``box_interp:n=3+scribble+hand:...``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from intrabench.errors import IntraBenchError
from intrabench.identity.versions import version_of
from intrabench.mask import Mask
from intrabench.prompters.base import Modifier, Prompter, Refinement, checked_turn, dialogue
from intrabench.prompters.joint import each_alone
from intrabench.prompters.undone import Undone, loss
from intrabench.prompters.user import JointTurn, JointTurns, Turns, User, Users, relay
from intrabench.prompts import Prompts
from intrabench.registry import registry
from intrabench.specs.specs import split
from intrabench.turns import Turn, Undo

Part: TypeAlias = Prompter | Refinement | Modifier


class Combined(Prompter):
    """Begins with exactly the turns of `initial`, corrects with `refinement`, and applies `hand` to all turns.

    initial: None if the refinement begins by itself, from an empty answer.
    """

    def __init__(
        self, initial: Prompter | None, refinement: Refinement | None = None, hand: Modifier | None = None
    ) -> None:
        self.initial, self.refinement, self.hand = initial, refinement, hand
        self.propagates = initial is not None and initial.propagates
        self.reads_names = initial is not None and initial.reads_names
        self.corrects = refinement is not None or (initial is not None and initial.corrects)
        self.empty_targets = all(part.empty_targets for part in (initial, refinement) if part is not None)

    @property
    def spec(self) -> str:
        """The specs of the parts, joined by ``+``."""
        return "+".join(part.spec for part in self.parts)

    @property
    def parts(self) -> list[Part]:
        """The parts that it has, in their order."""
        return [part for part in (self.initial, self.refinement, self.hand) if part is not None]

    @property
    def version(self) -> str:  # type: ignore[override]
        """The versions of the parts, joined by ``+``."""
        return "+".join(version_of(part) for part in self.parts)

    @property
    def undoes(self) -> bool:
        """Whether it may take corrections back."""
        return self.refinement is not None and self.refinement.undo < 1

    @property
    def rounds(self) -> int:
        """Those of what it begins with."""
        return self.initial.rounds if self.initial else 0

    def interact(self, user: User) -> Turns:
        """The turns of the parts, one after the other; a hand without errors changes none of them."""
        yield from relay(self._turns(user), lambda turn: self._moved(turn, user))

    @property
    def joint(self) -> bool:
        """Whether its refinement, or what it begins with, looks at all targets of a joint session."""
        return any(part.joint for part in (self.initial, self.refinement) if part is not None)

    def interact_jointly(self, users: Users) -> JointTurns:
        """The turns of the parts, one after the other."""

        def moved(turns: JointTurn) -> JointTurn:
            return [turn and self._moved(turn, user) for turn, user in zip(turns, users.each, strict=True)]

        yield from relay(self._joint_turns(users), moved)

    def _moved(self, turn: Turn, user: User) -> Turn:
        """The turn as the hand makes it."""
        if self.hand is None or not turn.actions or turn.undoes:
            return turn
        return self.hand.move(turn, user.acting(self.hand.spec))

    def _joint_turns(self, users: Users) -> JointTurns:
        masks: Sequence[Mask] = [Mask.empty() for _ in users.each]
        if self.initial is not None:
            masks = yield from each_alone(self.initial, users.acting(self.initial.spec))
        corrector = self.refinement
        while corrector is not None:
            pairs = zip(users.acting(corrector.spec).each, masks, strict=True)
            seen = [self._looking(user, mask) for user, mask in pairs]
            if corrector.joint:
                turns = corrector.correct_jointly(Users(tuple(user for user, _ in seen)), [mask for _, mask in seen])
            else:
                turns = [corrector.correct(user, mask) for user, mask in seen]
            if turns is None or not any(turns):
                return
            method, afresh = f"{corrector.name}.correct", corrector.previous == "drop"
            masks = yield [turn and replace(checked_turn(turn, method), afresh=afresh) for turn in turns]

    def _turns(self, user: User) -> Turns:
        mask = Mask.empty()
        if self.initial is not None:
            begun = dialogue(self.initial, user.acting(self.initial.spec))
            mask = (yield from relay(begun, lambda turn: turn)) or mask
        if self.refinement is not None:
            yield from self._corrections(self.refinement, user, mask)

    def _corrections(self, refinement: Refinement, user: User, mask: Mask) -> Turns:
        corrector = user.acting(replace(refinement, undo=1.0).spec if self.undoes else refinement.spec)
        undone = Undone(user.target)
        while True:
            turn = refinement.correct(*self._looking(corrector, undone.without(mask)))
            if turn is None and undone.prompts:  # nothing else is wrong
                turn = refinement.correct(*self._looking(corrector, mask))
            given, before = turn and checked_turn(turn, f"{refinement.name}.correct"), mask
            if given is None or undone.has(given.prompts):
                return
            mask = yield replace(given, afresh=refinement.previous == "drop")
            if self.undoes and loss(user.target, before, mask) > refinement.undo:
                mask = yield Turn(Prompts(), (Undo(),))
                undone.add(given.prompts, mask)
            else:
                undone = Undone(user.target)

    def _looking(self, user: User, mask: Mask) -> tuple[User, Mask]:
        """What the refinement looks at: user and answer, cut off where the model cannot answer if it is `reachable`."""
        if self.refinement is None or not self.refinement.reachable or user.reach is None:
            return user, mask
        target = replace(user.target, mask=user.target.mask.within(user.reach))
        return replace(user, target=target), mask.within(user.reach)


def make_prompter(spec: str) -> Prompter:
    """The prompter that ``PROMPTER[+REFINEMENT][+hand:...]`` names.

    Raises:
        IntraBenchError: a name or parameter is unknown, or the parts are in the wrong order.
    """
    return combine(parts_of(spec), spec)


def parts_of(prompter: str | Combined) -> list[Part]:
    """The parts of a spec or of a combined prompter, in their order."""
    if isinstance(prompter, Combined):
        return prompter.parts
    return [registry.make("prompters", part) for part in split(prompter)]


def combine(parts: Sequence[Part], spec: str) -> Prompter:
    """The prompter that consists of these parts; `spec` is how they were written.

    Raises:
        IntraBenchError: the parts are in another order.
    """
    initial = parts[0] if isinstance(parts[0], Prompter) else None
    rest = parts[1:] if initial else parts
    hand = rest[-1] if rest and isinstance(rest[-1], Modifier) else None
    rest = rest[:-1] if hand else rest
    refinement = rest[0] if rest and isinstance(rest[0], Refinement) else None
    rest = rest[1:] if refinement else rest
    if initial is None and (refinement is None or not refinement.begins):
        name = parts[0].name
        raise IntraBenchError(f"{spec!r}: {name} cannot begin; write PROMPTER+{name}, as in box_interp+{name}")
    if rest:
        raise IntraBenchError(
            f"{spec!r}: {rest[0].name} is in the wrong place; write PROMPTER+REFINEMENT+hand:..., each at most once"
        )
    hand = None if hand is None or hand.steady else hand
    return initial if initial and not (refinement or hand) else Combined(initial, refinement, hand)
