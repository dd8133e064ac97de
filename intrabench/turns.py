"""A turn: what a simulated user gives at once, prompts and the actions that its hand made for them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from intrabench.errors import IntraBenchError
from intrabench.prompts import Prompts, Stroke


@dataclass(frozen=True)
class Action:
    """Something that the hand did; effort tables give its cost by `kind`."""

    kind: ClassVar[str]

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, np.integer):
                object.__setattr__(self, name, int(value))

    @staticmethod
    def by_kind() -> dict[str, type[Action]]:
        """All classes of actions, those of users, too, which take no kind from ours."""
        classes = sorted(Action.__subclasses__(), key=lambda action: action.__module__ == __name__)
        return {action.kind: action for action in classes if hasattr(action, "kind")}


@dataclass(frozen=True)
class Click(Action):
    """A click on a voxel."""

    kind: ClassVar[str] = "click"


@dataclass(frozen=True)
class DrawBox2D(Action):
    """A box drawn in a slice."""

    kind: ClassVar[str] = "box2d"


@dataclass(frozen=True)
class DrawBox3D(Action):
    """A box drawn in the volume."""

    kind: ClassVar[str] = "box3d"


@dataclass(frozen=True)
class DrawScribble(Action):
    """A stroke with its number of control points."""

    control_points: int = 3
    kind: ClassVar[str] = "scribble"


@dataclass(frozen=True)
class DrawLasso(Action):
    """A closed stroke with its number of control points."""

    control_points: int = 3
    kind: ClassVar[str] = "lasso"


@dataclass(frozen=True)
class MarkExtent(Action):
    """The first or the last slice of the target, marked."""

    kind: ClassVar[str] = "extent"


@dataclass(frozen=True)
class TypeText(Action):
    """A text with its number of words, typed."""

    words: int = 1
    kind: ClassVar[str] = "text"

    @classmethod
    def of(cls, text: str) -> TypeText:
        """What it takes to type a text; words are what blanks divide."""
        return cls(len(text.split()))


def drawing(stroke: Stroke, control_points: int = 3) -> Action:
    """What the hand does for a stroke, whatever tool it took: it clicks if the stroke is a single voxel, else draws."""
    if len(stroke.points) == 0 or (stroke.points == stroke.points[0]).all():
        return Click()
    return DrawLasso(control_points) if stroke.closed else DrawScribble(control_points)


@dataclass(frozen=True)
class Undo(Action):
    """The last correction, taken back."""

    kind: ClassVar[str] = "undo"


@dataclass(frozen=True)
class SetHandle(Action):
    """A handle, such as the lower one of a threshold, set anew."""

    kind: ClassVar[str] = "handle"


@dataclass(frozen=True)
class Turn:
    """What the user gives at once. A turn without actions is derived from the model's own answer and costs nothing.

    One that has no prompts either, ``Turn(Prompts())``, is a round in which the user only waits for an answer. One that
    takes the correction of the round before back is ``Turn(Prompts(), (Undo(),))``: the answer is again what it was
    before, and the model is not asked, and later does not know of that correction.
    afresh: the model must use only this turn, later turns and its own last answer.
    """

    prompts: Prompts
    actions: tuple[Action, ...] = ()
    afresh: bool = False

    @property
    def waits(self) -> bool:
        """Whether the user gives nothing."""
        return not self.actions and not self.prompts.kinds

    @property
    def undoes(self) -> bool:
        """Whether the user takes the correction of the round before back."""
        return any(isinstance(action, Undo) for action in self.actions)

    def with_handles(self, number: int) -> Turn:
        """It, and so many handles that the user sets, unless the user only waits or takes back, or has set them."""
        missing = number - sum(isinstance(action, SetHandle) for action in self.actions)
        if missing <= 0 or not self.actions or self.undoes:
            return self
        return replace(self, actions=(*self.actions, *(SetHandle(),) * missing))

    @property
    def opens(self) -> bool:
        """Whether a round begins with it."""
        return bool(self.actions) or self.waits

    def to_json(self) -> dict[str, Any]:
        """Plain data for storing; `from_json` is the inverse."""
        data = {"prompts": self.prompts.to_json(), "actions": [{"kind": a.kind, **vars(a)} for a in self.actions]}
        return data | {"afresh": True} if self.afresh else data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Turn:
        """From the plain data of `to_json`."""
        actions = [dict(action) for action in data["actions"]]
        kinds = Action.by_kind()
        made = tuple(kinds[a.pop("kind")](**a) for a in actions)
        return cls(Prompts.from_json(data["prompts"]), made, data.get("afresh", False))


def turns_by_round(stored: Iterable[Mapping[str, Any]]) -> dict[int, list[Turn]]:
    """What the user gave in each round of one session, free turns included.

    stored: the session's turns as they are stored, in their order: `session`, `round`, and `given`, the text of
    `Turn.to_json`.

    Raises:
        IntraBenchError: one is not as it was written.
    """
    rounds: dict[int, list[Turn]] = {}
    for row in stored:
        try:
            turn = Turn.from_json(json.loads(row["given"]))
        except Exception as error:  # anybody may have written it
            raise IntraBenchError(
                f"the turns of session {row['session']} in round {row['round']} cannot be read "
                f"({type(error).__name__}); delete their part in turns and its namesake in rows, and run again"
            ) from error
        rounds.setdefault(row["round"], []).append(turn)
    return rounds


def counting(turns: Sequence[Turn]) -> Sequence[Turn]:
    """The turns that a model must use: all, or those since the user last began afresh."""
    first = max((number for number, turn in enumerate(turns) if turn.afresh), default=0)
    return turns[first:]
