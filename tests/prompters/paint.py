"""A model for tests that answers from the prompts alone, slice by slice: discs around points, boxes filled."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import numpy as np

from intrabench.mask import Mask, Region
from intrabench.models.base import Answer, Failure, Model, Predictor, Request
from intrabench.volume import Volume


@dataclass(eq=False)
class Paint(Model):
    """Fills boxes, paints a disc for a positive point and wipes one for a negative point."""

    name = "paint"
    dims = 2
    accepts = frozenset({"point", "box2d"})
    feeds_back = True
    radius: float = 2.5

    def open(self, volume: Volume) -> AbstractContextManager[Predictor]:
        return nullcontext(_Canvas(volume.shape, self.radius))


class _Canvas(Predictor):
    def __init__(self, shape: tuple[int, int, int], radius: float) -> None:
        self.shape, self.radius, self.requests = shape, radius, list[Request]()

    def segment(self, requests: Sequence[Request]) -> list[Answer | Failure]:
        self.requests += requests
        return [self._answer(request) for request in requests]

    def _answer(self, request: Request) -> Answer:
        planes = request.mask.to_array(self.shape)
        slices = request.turns[-1].prompts.slices()
        given = [turn.prompts for turn in request.given]
        y, x = np.ogrid[: self.shape[1], : self.shape[2]]
        for z in slices:
            for box in [row for prompts in given for row in prompts.boxes2d if row[0] == z][-1:]:
                planes[z] = (y >= box[1]) & (x >= box[2]) & (y < box[3]) & (x < box[4])
            for _, b, a, label in [row for prompts in given for row in prompts.points if row[0] == z]:
                planes[z][(y - b) ** 2 + (x - a) ** 2 <= self.radius**2] = bool(label)
        return Answer(Mask.of(planes), Region(slices=slices))
