"""Strategies of the simulated user: generators that yield turns and receive the model's mask."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from intrabench.errors import IntraBenchError, WrongType, kind
from intrabench.mask import Mask
from intrabench.prompters.user import JointTurn, JointTurns, Turns, User, Users, relay
from intrabench.prompts import Prompts
from intrabench.specs.component import Component
from intrabench.specs.specs import switch
from intrabench.specs.values import Share, expect
from intrabench.target import Target
from intrabench.turns import Action, Turn


class CannotCorrect(IntraBenchError):
    """A correction fails as its rule wants it. The round before stays valid, also if it is the last one."""


class Prompter(Component):
    """Base of all strategies. A subclass is a frozen dataclass with a `name`, its parameters, and `interact`.

    `version` changes whenever the same mask could get other turns. `computes`: it runs a network. `propagates` says
    that prompts follow from the answer on other slices, which takes a model of slices. `empty_targets`: it also plays
    targets without voxels, on which any answer is wrong. `reads_names`: it also looks at what people call the target.
    `corrects`: it may go on after its first round.
    """

    version = "1"
    computes: ClassVar[bool] = False
    propagates: bool = False
    empty_targets: bool = False
    reads_names: bool = False
    corrects: bool = True

    @abstractmethod
    def interact(self, user: User) -> Turns:
        """Yield turns; ``mask = yield turn`` receives the answer. Return when no more prompts are needed."""

    def interact_jointly(self, users: Users) -> JointTurns:
        """Yield a turn, or None, for each target of a joint session; receives all their masks.

        Only prompters that look at several targets at once write it; others are asked target by target.
        """
        raise NotImplementedError

    @property
    def rounds(self) -> int:
        """So many more follow its first one, whatever is answered; a run allows them unless it says otherwise."""
        return 0

    @property
    def joint(self) -> bool:
        """Whether it looks at all targets of a joint session."""
        return type(self).interact_jointly is not Prompter.interact_jointly

    def preview(
        self, mask: NDArray[np.generic], spacing_mm: Sequence[float] = (1.0, 1.0, 1.0), seed: int = 0
    ) -> Prompts:
        """The first prompts for a mask ``(z, y, x)``; no model is needed.

        Returns:
            `.points` rows ``z, y, x, label``; `.boxes2d` rows ``z, y0, x0, y1, x1``, half-open;
            `.box3d` ``z0, y0, x0, z1, y1, x1``, half-open, or None.

        Raises:
            ValueError: the mask is not 3D or empty.
        """
        if mask.ndim != 3 or not mask.any():
            raise ValueError(f"preview needs a 3D mask with at least one voxel, but its shape is {mask.shape}")
        z, y, x = (float(value) for value in spacing_mm)
        depth, height, width = mask.shape
        target = Target("preview", "target", 1, Mask.of(mask), (depth, height, width), (z, y, x))
        return next(dialogue(self, User(target, seed=seed, component=self.spec))).prompts


@dataclass(frozen=True)
class Modifier(Component):
    """Base of what changes the turns of any prompter, ``box_interp:n=3+hand:jitter_mm=2``.

    A subclass is a frozen dataclass with a `name`, its parameters, and `move`.
    """

    version = "1"
    computes: ClassVar[bool] = False

    @property
    def steady(self) -> bool:
        """Whether it changes nothing; then it is left out of the prompter's spec."""
        return False

    @abstractmethod
    def move(self, turn: Turn, user: User) -> Turn:
        """The turn as the user really makes it; its effort stays the same."""


@dataclass(frozen=True)
class Refinement(Component):
    """Base of all corrections: a frozen dataclass with a `name`, its parameters, and `correct`.

    It follows any prompter, as in ``box_interp:n=3+scribble``. begins: whether it also works alone and corrects an
    empty answer first; then it must not use earlier turns. `version` changes whenever the same answers could get other
    corrections. `empty_targets`: it also corrects answers for targets without voxels.

    previous: keep gives the model the earlier prompts again, with its last mask; drop gives it only the new prompts and
    that mask. reachable: looks at target and answer only where the model can answer. undo: the user takes back what
    lowered Dice by more than this, and goes on with another correction; 1: never.
    """

    version = "1"
    computes: ClassVar[bool] = False
    begins: ClassVar[bool] = False
    empty_targets: ClassVar[bool] = False
    previous: Literal["keep", "drop"] = switch("keep")
    reachable: bool = switch(False)
    undo: Share = switch(1.0)

    @abstractmethod
    def correct(self, user: User, mask: Mask) -> Turn | None:
        """The next correction of the answer `mask`; None if nothing is wrong."""

    @property
    def joint(self) -> bool:
        """Whether it looks at all targets of a joint session; else it is asked target by target."""
        return type(self).correct_jointly is not Refinement.correct_jointly

    def correct_jointly(self, users: Users, masks: Sequence[Mask]) -> JointTurn | None:
        """The next corrections in a joint session, a turn or None for each target; None if nothing is wrong."""
        raise NotImplementedError


def dialogue(prompter: Prompter, user: User) -> Turns:
    """The turns of `prompter.interact`, each checked when it is given.

    Raises:
        WrongType: it is not a generator, or gives something else than turns.
    """
    method = f"{prompter.spec.partition(':')[0]}.interact"
    turns = prompter.interact(user)
    expect(Generator, turns, f"{method} returned", "a generator; give each turn by yield")
    yield from relay(turns, lambda turn: checked_turn(turn, method))


def checked_turn(turn: Any, method: str) -> Turn:
    """The turn that `method` gave.

    Raises:
        WrongType: it is not a `Turn` with `Prompts` and actions.
    """
    expect(Turn, turn, f"{method} gave", "a Turn, such as Turn(prompts, actions=(Click(),))")
    expect(Prompts, turn.prompts, f"{method} gave a Turn whose prompts are", "Prompts, such as points(rows)")
    actions = turn.actions if isinstance(turn.actions, (tuple, list)) else (turn.actions,)
    if actions is not turn.actions or not all(isinstance(action, Action) for action in actions):
        wrong = ", ".join(kind(action) for action in actions)
        raise WrongType(f"{method} gave a Turn whose actions are {wrong}, expected a tuple of them, such as (Click(),)")
    expect(bool | np.bool_, turn.afresh, f"{method} gave a Turn whose afresh is", "true or false")
    return replace(turn, actions=tuple(actions), afresh=bool(turn.afresh))  # nobody adds to the actions later
