"""Convert prompts that a model does not take. Effort never changes; rows record the conversion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.errors import NotApplicable
from intrabench.mask import Array, Box, Mask
from intrabench.prompts import (
    STROKES,
    Abilities,
    PromptKind,
    Prompts,
    Stroke,
    StrokePoints,
    counting_boxes2d,
    extent_of,
)
from intrabench.turns import Turn

NEITHER = "the model takes neither boxes nor points"
PROPAGATION = "slice propagation needs a model that answers slice by slice"
ONLY_TEXT = "the model takes no text, and this turn has nothing else"
ONLY_DERIVED = "this turn has only derived prompts, which a model of volumes gets by its parameter derived=all"
FORGETFUL = (
    "corrections without the earlier prompts (previous=drop) need a model that takes its own last answer (feeds_back); "
    "use previous=keep"
)


def adapt(
    turn: Turn,
    abilities: Abilities,
    mask: Mask,
    rng: Callable[[str], np.random.Generator],
    *,
    first: bool,
    earlier: Sequence[Turn] = (),
    strict: bool = False,
) -> tuple[Turn, list[str]]:
    """The turn as the model can take it, and the conversions made (``box2d->point``, ``ignored``, ...).

    `mask` is the answer so far. `rng` gives the random stream of a purpose, as `User.rng` does. `earlier` are the turns
    that still count, as the model took them. Corrections for models that take only boxes use mask and earlier turns.

    Raises:
        NotApplicable: there is no fair conversion, or `strict` forbids every conversion.
    """
    accepts = abilities.accepts
    if turn.waits:
        return turn, []
    if abilities.dims == 3 and not turn.actions:
        raise NotApplicable(PROPAGATION)
    if turn.afresh and not first and not abilities.builds_on_mask:
        raise NotApplicable(FORGETFUL)
    # The order matters, for what one step makes the next may have to convert: strokes become boxes or points, and boxes
    # become other boxes or points. Derived prompts go only then, because a box of the hand may have been made of them.
    # Points are last: where they have to become boxes, those need the boxes of this turn and of earlier ones.
    prompts, notes = turn.prompts, list[str]()
    if "text" in prompts.kinds - accepts:
        prompts = replace(prompts, text=None)
        notes.append("text ignored")
        if not prompts.kinds:
            raise NotApplicable(ONLY_TEXT)
    for kind in (stroke.kind for stroke in sorted(STROKES.values(), key=lambda stroke: not stroke.closed)):
        if kind in prompts.kinds - accepts:
            prompts, made = _strokes(prompts, kind, abilities, rng)
            notes += made
    if "box2d" in prompts.kinds - accepts:
        prompts, note = _boxes2d(prompts, accepts)
        notes.append(note)
    if "box3d" in prompts.kinds - accepts:
        prompts, note = _box3d(prompts, abilities)
        notes.append(note)
    if abilities.one_box and len(np.unique(prompts.boxes2d[:, 0])) < len(prompts.boxes2d):
        prompts = _one_box_per_slice(prompts)
        notes.append("boxes->box")
    if abilities.dims == 3 and abilities.derived == "none" and prompts.derived:
        prompts = prompts.by_hand
        notes.append("derived->drawn")
        if not prompts.kinds:
            raise NotApplicable(ONLY_DERIVED)
    if "point" in prompts.kinds - accepts:
        prompts, note = _points(prompts, accepts, mask, first, earlier)
        notes.append(note)
    if strict:
        refuse(notes)
    return replace(turn, prompts=prompts), notes


def outside(turn: Turn, reach: Box | None) -> list[str]:
    """``outside crop`` if a prompt of the turn, or a part of it, lies where the model cannot answer; None: nowhere."""
    if reach is None:
        return []
    extents = turn.prompts.extents()
    beyond = (extents[:, :3] < reach[:3]) | (extents[:, 3:] > reach[3:])
    return ["outside crop"] if beyond.any() else []


def refuse(notes: Sequence[str]) -> None:
    """Refuse the conversions, as ``--strict`` wants it."""
    if notes:
        raise NotApplicable(f"--strict forbids the adaptation {', '.join(notes)}")


def _strokes(
    prompts: Prompts, kind: PromptKind, abilities: Abilities, rng: Callable[[str], np.random.Generator]
) -> tuple[Prompts, list[str]]:
    """Open strokes become points. Closed ones become 2D boxes; negative ones cannot, because boxes have no sign."""
    strokes = [stroke for stroke in prompts.strokes if stroke.kind == kind]
    others = prompts.with_strokes(stroke for stroke in prompts.strokes if stroke.kind != kind)
    if not strokes[0].closed and abilities.strokes_as_points:
        rows = [_points_of(one, abilities.strokes, rng(f"{kind} {number}")) for number, one in enumerate(strokes)]
        whole = [len(some) == len(stroke.points) for some, stroke in zip(rows, strokes, strict=True)]
        notes = [f"{kind}->point"] * any(whole) + [f"{kind}->one point"] * (not all(whole))
        return _with_points(others, rows), notes
    if not strokes[0].closed:
        note = f"{kind}->point" if "point" in abilities.accepts else f"{kind}->box"
        return _with_points(others, [stroke.rows for stroke in strokes]), [note]
    if any(stroke.label != 1 for stroke in strokes):
        raise NotApplicable(f"a negative {kind} has no counterpart for a model that takes no {kind}")
    return _with_boxes(others, [_flat(stroke.extent) for stroke in strokes]), [f"{kind}->box2d"]


def _points_of(stroke: Stroke, which: StrokePoints, rng: np.random.Generator) -> Array:
    """The points of an open stroke that a model of volumes gets, rows ``z, y, x, label``."""
    if which == "all" or (which == "one_negative" and stroke.label):
        return stroke.rows
    return rng.choice(stroke.rows, 1)


def _boxes2d(prompts: Prompts, accepts: frozenset[PromptKind]) -> tuple[Prompts, str]:
    drawn = prompts.drawn_boxes2d
    others = replace(prompts, boxes2d=np.zeros((0, 5), np.int64), drawn=None)
    if len(drawn) == 0:
        if others.kinds:
            return others, "derived->drawn"
        raise NotApplicable("derived 2D boxes need a model that takes 2D boxes")
    if "box3d" in accepts:
        z, low, high = drawn[:, 0], drawn[:, 1:3].min(axis=0), drawn[:, 3:5].max(axis=0)
        tight = np.array([z.min(), *low, z.max() + 1, *high])
        if prompts.box3d is not None:
            tight = np.concatenate([np.minimum(tight, prompts.box3d)[:3], np.maximum(tight, prompts.box3d)[3:]])
        return replace(others, box3d=tight), "box2d->box3d"
    if "point" in accepts:
        centre = np.column_stack([drawn[:, 0], (drawn[:, 1:3] + drawn[:, 3:5] - 1) // 2, np.ones(len(drawn))])
        return _with_points(others, [centre]), "box2d->point"
    raise NotApplicable(NEITHER)


def _one_box_per_slice(prompts: Prompts) -> Prompts:
    """The tight box of the 2D boxes of each slice; it counts as drawn if one of them was."""
    rows, drawn = [], []
    for z in np.unique(prompts.boxes2d[:, 0]):
        here = prompts.boxes2d[:, 0] == z
        boxes = prompts.boxes2d[here]
        rows.append([z, *boxes[:, 1:3].min(axis=0), *boxes[:, 3:].max(axis=0)])
        drawn.append(np.asarray(prompts.drawn)[here].any())
    return replace(prompts, boxes2d=np.array(rows), drawn=np.array(drawn))


def _box3d(prompts: Prompts, abilities: Abilities) -> tuple[Prompts, str]:
    """The same 2D box on each slice without an own one, which says more.

    A model of volumes gets only the middle one and finds the other slices itself.
    """
    assert prompts.box3d is not None
    z0, y0, x0, z1, y1, x1 = prompts.box3d
    accepts = abilities.accepts
    if "box2d" in accepts:
        slices = range(z0, z1) if abilities.dims == 2 else [(z0 + z1 - 1) // 2]
        rows = np.array(
            [(z, y0, x0, y1, x1) for z in slices if z not in prompts.boxes2d[:, 0]], dtype=np.int64
        ).reshape(-1, 5)
        return _with_boxes(replace(prompts, box3d=None), [rows]), "box3d->box2d"
    if "point" in accepts:
        centre = [(z0 + z1 - 1) // 2, (y0 + y1 - 1) // 2, (x0 + x1 - 1) // 2, 1]
        return _with_points(replace(prompts, box3d=None), [np.array([centre])]), "box3d->point"
    raise NotApplicable(NEITHER)


def _points(
    prompts: Prompts, accepts: frozenset[PromptKind], mask: Mask, first: bool, earlier: Sequence[Turn]
) -> tuple[Prompts, str]:
    """Corrections for models that take only boxes: per slice, the tight box of earlier box, mask and positive points.

    Without the earlier box, a mask that is too small would shrink the user's box.
    """
    if not accepts & {"box2d", "box3d"}:
        raise NotApplicable(NEITHER)
    if first and not prompts.kinds & {"box2d", "box3d"}:
        raise NotApplicable("an initial point has no counterpart for a model that takes only boxes")
    positive = prompts.points[prompts.points[:, 3] == 1]
    without = replace(prompts, points=np.zeros((0, 4), np.int64), clicked=None)
    if first or len(positive) == 0:  # a first box says more than points in the same turn
        return without, "ignored"
    if "box2d" in accepts:
        drawn, _ = counting_boxes2d([turn.prompts for turn in earlier])
        rows = []
        for z in map(int, np.unique(positive[:, 0])):
            around = [positive[positive[:, 0] == z, :3], mask.slice(z).coordinates()]
            for _, y0, x0, y1, x1 in drawn[drawn[:, 0] == z]:
                around.append(np.array([(z, y0, x0), (z, y1 - 1, x1 - 1)]))
            rows.append(_flat(extent_of(np.vstack(around))))
        return _with_boxes(without, rows), "point->box2d"
    around = [positive[:, :3], mask.coordinates()]
    for box in [turn.prompts.box3d for turn in earlier if turn.prompts.box3d is not None]:
        around.append(np.array([box[:3], box[3:] - 1]))
    return replace(without, box3d=extent_of(np.vstack(around))), "point->box3d"


def _with_points(prompts: Prompts, rows: Sequence[Array]) -> Prompts:
    """The prompts and points of the hand, each of `rows` with rows ``z, y, x, label``."""
    points = np.vstack([prompts.points, *rows])
    return replace(prompts, points=points, clicked=_by_hand_since(prompts.clicked, points))


def _with_boxes(prompts: Prompts, rows: Sequence[Array]) -> Prompts:
    """The prompts and boxes of the hand, each of `rows` with rows ``z, y0, x0, y1, x1``."""
    boxes = np.vstack([prompts.boxes2d, *rows])
    return replace(prompts, boxes2d=boxes, drawn=_by_hand_since(prompts.drawn, boxes))


def _by_hand_since(flags: Any, rows: Array) -> NDArray[np.bool_]:
    """Flags of the first rows, and true for all others."""
    return np.append(flags, np.ones(len(rows) - len(flags), dtype=bool))


def _flat(box: Array) -> Array:
    """A box of one slice as a 2D box ``z, y0, x0, y1, x1``."""
    return np.delete(box, 3)
