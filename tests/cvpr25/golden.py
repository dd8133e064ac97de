"""The golden traces of the CVPR 2025 challenge, and the stub models that they were made with."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from intrabench.models.base import Answer, JointAnswer, JointRequest, Request, VolumeModel
from intrabench.turns import Turn
from intrabench.volume import Volume

GOLDEN = Path(__file__).parents[1] / "golden" / "cvpr25"
CASES = GOLDEN / "cases"
RADIUS, REACH, TOLERANCE = 4, 6, 25
"""Of balls, of the corrections of `refine`, and by how much intensities may differ there."""


@cache
def traces(name: str = "traces") -> dict[tuple[str, str], Any]:
    """The recorded runs by case and predictor."""
    return {(run["case"], run["predictor"]): run for run in json.loads((GOLDEN / f"{name}.json").read_text())["runs"]}


@cache
def arrays(case: str) -> Mapping[str, np.ndarray]:
    with np.load(CASES / f"{case}.npz") as stored:
        return dict(stored)


@dataclass(eq=False)
class Stub(VolumeModel):
    """Answers for all classes at once, as the predictors of the golden data.

    They write the rank of a class, and the challenge reads its label: what they write for the third class of the labels
    1, 2 and 4 is of no class.
    """

    name = "cvpr25_stub"
    accepts = frozenset({"box3d", "point"})
    joint = True
    kind: Literal["boxballs", "empty", "gtfrom3", "refine", "fixed", "failtwo", "never"] = "boxballs"

    def segment_one(self, volume: Volume, request: Request) -> Answer:
        raise NotImplementedError

    def segment_together(self, volume: Volume, request: JointRequest) -> JointAnswer:
        """The label map, and as memory what was written."""
        given = [_Given.of(one.turns) for one in request.requests]
        step = max(sum(len(turn.prompts.points) for turn in one.turns) for one in request.requests)
        written = self._written(volume, given, step, request)
        labels = np.unique(arrays(volume.case)["gts"])[1:]
        ranks = np.zeros(256, np.uint8)
        ranks[labels] = np.arange(1, len(labels) + 1)
        return JointAnswer((0, 0, 0), ranks[written], memory=(step, written))

    def _written(self, volume: Volume, given: Sequence[_Given], step: int, request: JointRequest) -> np.ndarray:
        stored, shape = arrays(volume.case), volume.shape
        if self.kind == "empty":
            return np.zeros(shape, np.uint8)
        if self.kind == "fixed":
            return stored["fixed_prediction"]
        if self.kind == "never" or (self.kind == "failtwo" and step in (2, 4)):
            raise RuntimeError("no file was written")
        if self.kind == "gtfrom3" and step >= 3:
            return stored["gts"]
        if self.kind == "refine":
            return _refined(volume, given, request)
        return _boxes_and_balls(shape, given)


@dataclass(eq=False)
class _Given:
    """What was given for a class: its box, all clicks, and those of the last turn."""

    box: np.ndarray | None
    clicks: list[tuple[tuple[int, int, int], int]]

    @classmethod
    def of(cls, turns: Sequence[Turn]) -> _Given:
        boxes = [turn.prompts.box3d for turn in turns if turn.prompts.box3d is not None]
        points = [row for turn in turns for row in turn.prompts.points.tolist()]
        return cls(boxes[0] if boxes else None, [((z, y, x), label) for z, y, x, label in points])


def _boxes_and_balls(shape: Sequence[int], given: Sequence[_Given]) -> np.ndarray:
    found = np.zeros(shape, np.uint8)
    for value, one in enumerate(given, 1):
        mine = np.zeros(shape, bool)
        if one.box is not None:
            z0, y0, x0, z1, y1, x1 = one.box
            mine[z0:z1, y0:y1, x0:x1] = True
        for at, label in one.clicks:
            mine[_ball(shape, at, RADIUS)] = bool(label)
        found[mine] = value
    return found


def _refined(volume: Volume, given: Sequence[_Given], request: JointRequest) -> np.ndarray:
    shape, image = volume.shape, volume.array.astype(int)
    if request.memory is None and not any(one.clicks for one in given):
        return _ellipsoids(shape, given)
    found = np.zeros(shape, np.uint8) if request.memory is None else request.memory[1].copy()
    for value, (one, new) in enumerate(zip(given, request.new, strict=True), 1):
        if not new:
            continue
        at, label = one.clicks[-1]
        ball = _ball(shape, at, REACH)
        if label:
            found[ball & (abs(image - image[at]) <= TOLERANCE)] = value
        else:
            found[ball & (found == value)] = 0
    return found


def _ellipsoids(shape: Sequence[int], given: Sequence[_Given]) -> np.ndarray:
    found = np.zeros(shape, np.uint8)
    axes = np.ogrid[tuple(slice(side) for side in shape)]
    for value, one in enumerate(given, 1):
        assert one.box is not None
        low, high = one.box[:3], one.box[3:] - 1
        terms = [(2 * at - a - b) ** 2 for at, a, b in zip(axes, low, high, strict=True)]
        nz, ny, nx = (int(side) ** 2 for side in high - low + 1)
        found[terms[0] * ny * nx + terms[1] * nz * nx + terms[2] * nz * ny <= nz * ny * nx] = value
    return found


def _ball(shape: Sequence[int], at: Sequence[int], radius: int) -> np.ndarray:
    axes = np.ogrid[tuple(slice(side) for side in shape)]
    return sum((axis - centre) ** 2 for axis, centre in zip(axes, at, strict=True)) <= radius**2


def clicks_of(turns: pl.DataFrame, session: str) -> dict[int, Any]:
    """The click of each round of a session."""
    found = {}
    for number, given in turns.filter(session=session).select("round", "given").iter_rows():
        for z, y, x, label in json.loads(given)["prompts"].get("points", []):
            found[number] = {"kind": "fg" if label else "bg", "at": [z, y, x]}
    return found
