"""A sound model, and for each promise of the contract one that breaks it: what `intrabench check` has to find."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from intrabench.mask import Mask
from intrabench.models.base import Answer, Failure, Model, Predictor, Request, VolumeModel
from intrabench.models.box_fill import BoxFill
from intrabench.volume import Volume


@dataclass(eq=False)
class Filling(VolumeModel):
    """Fills boxes, as long as they touch the volume."""

    name = "filling"
    accepts = frozenset({"box3d"})

    def segment_one(self, volume: Volume, request: Request) -> Answer:
        return Answer(self.fill(volume, request))

    def fill(self, volume: Volume, request: Request) -> Mask:
        filled = BoxFill().segment_one(volume, request).update
        if not filled.any():
            raise ValueError("the box lies outside")
        return filled


class Slow(Filling):
    """Takes a fiftieth of a second."""

    def segment_one(self, volume: Volume, request: Request) -> Answer:
        time.sleep(0.02)
        return super().segment_one(volume, request)


class Deaf(Filling):
    """Ignores its prompts."""

    def segment_one(self, volume: Volume, request: Request) -> Answer:
        return Answer(Mask.of(volume.array[:1] > 0))


class Fickle(Filling):
    """Answers differently each time."""

    def segment_one(self, volume: Volume, request: Request) -> Answer:
        self.calls = getattr(self, "calls", 0) + 1
        return Answer(Mask.of(np.ones((1, 1, self.calls))))


class Reaching(Filling):
    """Answers outside of the volume."""

    def fill(self, volume: Volume, request: Request) -> Mask:
        filled = super().fill(volume, request)
        return Mask.union([filled, Mask.of(np.ones((1, 1, 1)), (0, 0, volume.shape[2]))])


class Raising(Filling):
    """Fails for valid prompts."""

    def segment_one(self, volume: Volume, request: Request) -> Answer:
        raise KeyError("no such layer")


class Filed(Filling):
    """Depends on the order in which the file stores its axes."""

    def fill(self, volume: Volume, request: Request) -> Mask:
        filled = super().fill(volume, request)
        forward = (np.diag(volume.grid.affine) > 0).all()
        return filled if forward else Mask.of(filled.array[:1], filled.start)


class Greedy(Filling):
    """Takes a prompt from outside for one of the whole volume."""

    def segment_one(self, volume: Volume, request: Request) -> Answer:
        filled = BoxFill().segment_one(volume, request).update
        return Answer(filled if filled.any() else Mask.of(np.ones(volume.shape)))


class Remembering(Filling):
    """Cannot do without its memory: shrinks the box by the number of answers that it remembers."""

    def segment_one(self, volume: Volume, request: Request) -> Answer:
        filled, seen = self.fill(volume, request), request.memory or 0
        return Answer(Mask.of(filled.array[seen:], (filled.start[0] + seen, *filled.start[1:])), memory=seen + 1)


@dataclass(eq=False)
class Together(Model):
    """Answers all requests by one function of all of them."""

    name = "together"
    accepts = frozenset({"box3d"})
    answers: Callable[[Volume, Sequence[Request]], list[Any]] = field(default=lambda volume, requests: [])

    @contextmanager
    def open(self, volume: Volume) -> Iterator[Predictor]:
        yield Opened(self, volume)


class Opened(Predictor):
    def __init__(self, model: Together, volume: Volume) -> None:
        self.model, self.volume = model, volume

    def segment(self, requests: Sequence[Request]) -> list[Answer | Failure]:
        return self.model.answers(self.volume, requests)


def joined(volume: Volume, requests: Sequence[Request]) -> list[Any]:
    """All get what all asked for, if they asked for anything."""
    filled = [BoxFill().segment_one(volume, request).update for request in requests]
    return [Answer(Mask.union(filled) if mask.any() else mask) for mask in filled]


def spoiled(volume: Volume, requests: Sequence[Request]) -> list[Any]:
    """One bad request fails all."""
    filled = [BoxFill().segment_one(volume, request).update for request in requests]
    return [Answer(mask) if all(m.any() for m in filled) else Failure("error", "one was bad") for mask in filled]


def raising(volume: Volume, requests: Sequence[Request]) -> list[Any]:
    """One bad request ends it all."""
    return [Answer(Filling().fill(volume, request)) for request in requests]


class Unloadable(Filling):
    """Cannot be loaded."""

    def load(self) -> None:
        raise RuntimeError("the driver is too old")
