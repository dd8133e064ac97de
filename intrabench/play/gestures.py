"""What the hand of a person did on the page, with the time that it took, and the turn that it makes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from intrabench.errors import kind as type_of
from intrabench.play.validate import Refused
from intrabench.prompts import STROKES, PromptKind, Prompts, Stroke
from intrabench.specs.values import is_a
from intrabench.turns import Action, Turn, drawing

MOST, LONGEST = 500, 20_000
"""The gestures of a turn, and the points of a stroke."""

KINDS = ("click", "box2d", "box3d", *(stroke.kind for stroke in STROKES.values()))
"""The kinds of gestures; all but a click make a prompt of the same name."""


@dataclass(frozen=True)
class Tool:
    """A tool of the page. kind: of its gestures. label: 1 target, 0 background. prompt: the kind that it makes.

    shape: how it is drawn: ``click``, ``box2d``, ``box3d``, ``stroke`` or ``loop``, which is a closed stroke.
    """

    id: str
    name: str
    kind: str
    label: int
    prompt: PromptKind
    shape: str


def tools() -> list[Tool]:
    """The tools of the page, in the order of their keys."""
    found = [
        Tool("target", "click on the target", "click", 1, "point", "click"),
        Tool("background", "click on background", "click", 0, "point", "click"),
        Tool("box2d", "box in this slice", "box2d", 1, "box2d", "box2d"),
        Tool("box3d", "box through slices", "box3d", 1, "box3d", "box3d"),
    ]
    for kind, closed in ((stroke.kind, stroke.closed) for stroke in STROKES.values()):
        where = ("around the target",) if closed else ("on the target", "on background")
        found += [
            Tool(kind if label else f"{kind} 0", f"{kind} {place}", kind, label, kind, "loop" if closed else "stroke")
            for label, place in zip((1, 0), where, strict=False)
        ]
    return found


@dataclass(frozen=True)
class Gesture:
    """One thing that the hand did.

    place, in canonical voxels: of a click ``z, y, x``; of a box, half-open, ``z, y0, x0, y1, x1`` or ``z0, y0, x0, z1,
    y1, x1``; of a scribble and a lasso rows ``z, y, x``. label: 1 target, 0 background. seconds: that the person was
    active for it. at: when it was done, in seconds since 1970.
    """

    kind: str
    place: Sequence[Any]
    label: int = 1
    seconds: float = 0.0
    at: float = 0.0

    @classmethod
    def from_json(cls, data: Any) -> Gesture:
        """From what a page sent, ``{"kind": "click", "place": [3, 40, 52], "label": 1, "seconds": 1.4, "at": ...}``.

        Raises:
            Refused: it is not like that.
        """
        if not isinstance(data, Mapping):
            raise Refused(f"a gesture is {type_of(data)}, expected an object with kind and place")
        if unknown := data.keys() - cls.__annotations__.keys():
            raise Refused(f"a gesture has {min(map(str, unknown))!r}, expected kind, place, label, seconds and at")
        if missing := {"kind", "place"} - data.keys():
            raise Refused(f"a gesture has no {min(missing)}; give its kind and its place")
        return cls(**data)


def turn_of(gestures: Sequence[Gesture]) -> Turn:
    """The turn that gestures make; each costs its action, and a stroke of a single voxel that of a click.

    Raises:
        Refused: there is none, or one is not as it should be. Whether prompts lie in the volume is not checked here.
    """
    if not gestures:
        raise Refused("there is nothing to ask the model for; click, or draw something first")
    if len(gestures) > MOST:
        raise Refused(f"{len(gestures)} gestures at once are too many; ask for the answer after {MOST} at most")
    for gesture in gestures:
        _check(gesture)
    volumes = [gesture.place for gesture in gestures if gesture.kind == "box3d"]
    if len(volumes) > 1:
        raise Refused("two boxes around the whole target at once; take one of them back")
    try:
        strokes = [_stroke(one) for one in gestures]
        prompts = Prompts(
            points=_rows([(*one.place, one.label) for one in gestures if one.kind == "click"], 4),
            boxes2d=_rows([one.place for one in gestures if one.kind == "box2d"], 5),
            box3d=np.array(volumes[0]) if volumes else None,
        ).with_strokes(filter(None, strokes))
    except (ValueError, TypeError, OverflowError) as error:
        raise Refused(f"a gesture has a place that is none: {str(error)[:200]}") from error
    kinds = Action.by_kind()
    each = zip(gestures, strokes, strict=True)
    return Turn(prompts, tuple(drawing(stroke) if stroke else kinds[gesture.kind]() for gesture, stroke in each))


def check_time(seconds: float, at: float) -> None:
    """Refuse times that no clock shows.

    Raises:
        Refused: one is no number, below 0, or more than a day (seconds).
    """
    for name, value, most in (("seconds", seconds, 86_400.0), ("at", at, 1e11)):
        if not (is_a(float, value) or is_a(int, value)) or not 0 <= value <= most or not math.isfinite(value):
            raise Refused(f"{name} are {value!r:.40}, expected a number from 0 to {most:.0f}")


def _check(gesture: Gesture) -> None:
    if gesture.kind not in KINDS:
        raise Refused(f"a gesture is of the kind {gesture.kind!r:.40}, expected {', '.join(KINDS)}")
    if not is_a(int, gesture.label) or gesture.label not in (0, 1):
        raise Refused(f"a {gesture.kind} has the label {gesture.label!r:.40}, expected 1 (target) or 0 (background)")
    if gesture.kind in ("box2d", "box3d") and not gesture.label:
        raise Refused("a box cannot be drawn around background; draw a scribble or click")
    if not isinstance(gesture.place, list | tuple) or not 0 < len(gesture.place) <= LONGEST:
        raise Refused(f"a {gesture.kind} has no place, or one of more than {LONGEST} points")
    check_time(gesture.seconds, gesture.at)


def _stroke(gesture: Gesture) -> Stroke | None:
    """The stroke that a gesture is, if it is one."""
    kinds = (stroke for stroke in STROKES.values() if stroke.kind == gesture.kind)
    return next((stroke(_rows(gesture.place, 3), gesture.label) for stroke in kinds), None)


def _rows(rows: Sequence[Any], width: int) -> Any:
    found = np.array(rows) if rows else np.zeros((0, width), dtype=np.int64)
    if rows and not found.size:
        raise ValueError("it has no numbers")
    return found
