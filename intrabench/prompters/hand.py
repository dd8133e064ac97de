"""User error model: clicks and boxes land beside the intended position, and some clicks have the wrong sign."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from annotated_types import Interval
from numpy.typing import NDArray

from intrabench.mask import Floats
from intrabench.prompters.base import Modifier
from intrabench.prompters.user import User
from intrabench.prompts import Prompts, Stroke
from intrabench.specs.specs import switch
from intrabench.specs.values import Millimetres, Share
from intrabench.turns import Turn


@dataclass(frozen=True)
class Hand(Modifier):
    """The user error model, for any prompter, as in ``box_interp:n=3+hand:jitter_mm=2``.

    jitter_mm: standard deviation of the positions of clicks, strokes (within the slice) and edges of boxes. miss_rate:
    share of clicks with the wrong sign. box_slack: boxes are enlarged by this share of their size on each side. Prompts
    derived from the user's move along with them. The effort stays the same.

    Source: ours.
    """

    name = "hand"
    jitter_mm: Millimetres = switch(0.0)
    miss_rate: Share = switch(0.0)
    box_slack: Annotated[float, Interval(ge=0, le=100)] = switch(0.0)

    @property
    def steady(self) -> bool:
        """Whether the hand makes no errors."""
        return self == Hand()

    def move(self, turn: Turn, user: User) -> Turn:
        """The turn with the errors of this hand."""
        prompts = turn.prompts
        moved = replace(
            prompts,
            points=self._points(prompts, user),
            boxes2d=self._boxes2d(prompts, user),
            box3d=None if prompts.box3d is None else self._box3d(prompts.box3d, user),
        )
        counts = Counter[str]()
        return replace(turn, prompts=moved.with_strokes(self._stroke(one, counts, user) for one in prompts.strokes))

    def _shifts(self, user: User, purpose: str, spacing_mm: Any, count: int) -> Floats:
        """Rows of random shifts in voxels, with one column per entry of `spacing_mm`."""
        noise = user.rng(purpose).normal(size=(count, len(spacing_mm)))
        return np.asarray(noise * self.jitter_mm / np.asarray(spacing_mm), dtype=np.float64)

    def _points(self, prompts: Prompts, user: User) -> NDArray[np.int64]:
        points, clicked = prompts.points.copy(), prompts.clicked
        shifts = self._shifts(user, "points", user.target.spacing_mm[1:], len(prompts.clicked_points))
        points[:, 1:3] = np.rint(points[:, 1:3] + _along(points[:, 0], clicked, shifts))
        points[:, 1:3] = points[:, 1:3].clip(0, np.array(user.target.shape[1:]) - 1)
        wrong = np.zeros(len(points), dtype=bool)
        wrong[clicked] = user.rng("sign").random(len(shifts)) < self.miss_rate
        points[wrong, 3] = 1 - points[wrong, 3]
        return points

    def _boxes2d(self, prompts: Prompts, user: User) -> NDArray[np.int64]:
        boxes = prompts.boxes2d.copy()
        drawn = prompts.drawn_boxes2d[:, 1:]
        shifts = self._shifts(user, "boxes", user.target.spacing_mm[1:] * 2, len(drawn)) + self._slack(drawn)
        moved = boxes[:, 1:] + _along(boxes[:, 0], prompts.drawn, shifts)
        boxes[:, 1:] = _inside(moved, user.target.shape[1:]) if len(boxes) else boxes[:, 1:]
        return boxes

    def _box3d(self, box: NDArray[np.int64], user: User) -> NDArray[np.int64]:
        shifts = self._shifts(user, "box", user.target.spacing_mm * 2, 1) + self._slack(box[None])
        return _inside(box[None] + shifts, user.target.shape)[0]

    def _slack(self, boxes: NDArray[np.int64]) -> Floats:
        """The shifts of the edges ``low..., high...`` of boxes caused by the slack."""
        half = boxes.shape[1] // 2
        grown = self.box_slack * (boxes[:, half:] - boxes[:, :half])
        return np.hstack([-grown, grown])

    def _stroke(self, stroke: Stroke, counts: Counter[str], user: User) -> Stroke:
        """A stroke keeps its shape; the whole stroke is shifted. counts: the strokes of each kind before it."""
        points = stroke.points.copy()
        (shift,) = self._shifts(user, f"{stroke.kind} {counts[stroke.kind]}", user.target.spacing_mm[1:], 1)
        counts[stroke.kind] += 1
        points[:, 1:3] = np.rint(points[:, 1:3] + shift).clip(0, np.array(user.target.shape[1:]) - 1)
        return replace(stroke, points=points)


def _along(z: NDArray[np.int64], by_hand: Any, shifts: Floats) -> Floats:
    """Shifts of all prompts; those of derived prompts are interpolated between the nearest prompts made by hand."""
    moved = np.zeros((len(z), shifts.shape[1]))
    if len(shifts) == 0:
        return moved
    moved[by_hand] = shifts
    order = np.argsort(z[by_hand], kind="stable")
    for column in range(shifts.shape[1]):
        knots = z[by_hand][order], shifts[order, column]
        moved[~by_hand, column] = np.interp(z[~by_hand], *knots)
    return moved


def _inside(boxes: Floats, shape: Any) -> NDArray[np.int64]:
    """Half-open boxes ``low..., high...``, rounded to whole voxels, inside the volume and at least one voxel wide."""
    half = boxes.shape[1] // 2
    low = np.rint(boxes[:, :half]).clip(0, np.array(shape) - 1)
    high = np.minimum(np.maximum(np.rint(boxes[:, half:]), low + 1), shape)
    return np.hstack([low, high]).astype(np.int64)
