"""One client of a served model: the image that it opened, and what it drew so far, in rounds as of any session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.errors import IntraBenchError, NotApplicable, foreign, in_words
from intrabench.mask import Box, Mask, joint_box
from intrabench.models.base import Failure, Model, Predictor, Request, open_image
from intrabench.play.adapt import adapt
from intrabench.play.gestures import Gesture, turn_of
from intrabench.play.lockstep import ask
from intrabench.play.validate import Refused, check_prompts, checked_update
from intrabench.prompts import Abilities
from intrabench.randomness import stream
from intrabench.specs.values import is_a
from intrabench.turns import Turn
from intrabench.volume import Volume

MM = (1.0, 1.0, 1.0)
"""The spacing of images of which nobody says it."""


class ModelFailure(IntraBenchError):
    """The model failed; the message says how."""


@dataclass(frozen=True)
class Progress:
    """Where a target stands. pending: what was drawn since the last answer."""

    mask: Mask = field(default_factory=Mask.empty)
    turns: tuple[Turn, ...] = ()
    memory: Any = None
    pending: tuple[Gesture, ...] = ()


@dataclass(frozen=True)
class Change:
    """What an interaction changed.

    ran: whether the model was asked. box: outside of it the mask is as before; None: everywhere.
    """

    ran: bool
    box: Box | None = None
    mask: NDArray[np.bool_] | None = None


class ClientSession:
    """The image of a client. One thread calls it at a time.

    spacing_mm: ``z, y, x``, of images that come without. What is refused changes nothing.
    """

    def __init__(self, model: Model, spacing_mm: Sequence[float] | None = None) -> None:
        self._model, self._spacing_mm = model, spacing_mm
        self._stack = ExitStack()
        self._image: Predictor | None = None
        self.volume: Volume | None = None
        self._now = Progress()
        self._before: Progress | None = None
        self._number = 0  # of the target, as its session's name

    def close(self) -> None:
        """Release the image."""
        self._image, self.volume = None, None
        with foreign():
            self._stack.close()

    def set_image(self, array: NDArray[Any], properties: Mapping[str, Any]) -> None:
        """Open an image ``(channel, z, y, x)`` instead of the one before.

        properties: `spacing` ``z, y, x`` in mm and `modality`, if the client knows them.

        Raises:
            Refused: it is no image of the model's kind.
            ModelFailure: the model cannot open it.
        """
        if array.ndim != 4:
            raise Refused(f"an image of the shape {array.shape} was sent, expected (channel, z, y, x)")
        if array.dtype.kind == "f" and not np.isfinite(array.sum(dtype=np.float64)):
            raise Refused("the image has voxels that are NaN or infinite; replace them with real intensities")
        channels = np.ascontiguousarray(np.moveaxis(array, 0, -1)) if len(array) > 1 else array[0]
        if self._model.grey_only and channels.ndim == 4:
            raise Refused(f"the model takes one grey value per voxel, but this image has {len(array)} channels")
        spacing = _spacing(properties.get("spacing")) or self._spacing_mm or MM
        modality = properties.get("modality", "")
        try:
            volume = Volume.from_canonical(channels, spacing)
        except ValueError as error:
            raise Refused(str(error)) from error
        # Only now is the image before given up, because what is refused changes nothing.
        self.close()
        self._restart()
        try:
            with foreign():
                opened = replace(volume, modality=modality if isinstance(modality, str) else "")
                self._image = self._stack.enter_context(open_image(self._model, opened))
        except Exception as error:
            raise ModelFailure(f"the model cannot open the image: {in_words(error)}") from error
        self.volume = opened

    def _restart(self) -> None:
        self._now, self._before, self._number = Progress(), None, self._number + 1

    def reset(self) -> None:
        """Begin another target."""
        self._open()
        self._restart()

    def begin_with(self, mask: Mask) -> None:
        """Begin with a mask, which the next prompts correct."""
        self._open()
        before = self._now
        self._restart()
        self._now, self._before = Progress(mask), before

    def add(self, gesture: Gesture, predict: bool) -> Change:
        """Take what was drawn, and ask the model if `predict`.

        Raises:
            Refused, ModelFailure: why, in a sentence for the person.
        """
        volume, _ = self._open()
        if gesture.kind == "box3d" and 1 in _sizes(gesture) and "box3d" not in self._model.abilities.accepts:
            raise Refused("this model takes boxes in planes of the first axis only; draw the box there, or click")
        check_prompts(turn_of([gesture]).prompts, volume.shape)
        grown = replace(self._now, pending=(*self._now.pending, gesture))
        change, after = self._answer(grown) if predict else (Change(False), grown)
        self._before, self._now = self._now, after
        return change

    def predict(self) -> Change:
        """Ask the model about what was drawn since its last answer.

        Raises:
            Refused, ModelFailure: as of `add`.
        """
        self._open()
        if not self._now.pending:
            return Change(False)
        change, self._now = self._answer(self._now)
        return change

    def end_turn(self) -> None:
        """What was drawn so far was a turn of its own, whose answer is the mask that is there already.

        Raises:
            Refused: as of `add`.
        """
        self._open()
        if self._now.pending:
            self._now = replace(self._now, turns=(*self._now.turns, self._adapted_turn(self._now)), pending=())

    def undo(self) -> Change:
        """Take the last interaction back, once."""
        self._open()
        if self._before is None:
            return Change(False)
        change = _change(self._now.mask, self._before.mask)
        self._now, self._before = self._before, None
        return change

    def _open(self) -> tuple[Volume, Predictor]:
        if self.volume is None or self._image is None:
            raise Refused("there is no image yet; send one first")
        return self.volume, self._image

    def _adapted_turn(self, now: Progress) -> Turn:
        """What is pending, as the model takes it."""
        turn, first = turn_of(now.pending), not now.turns and not now.mask.any()
        rng = partial(stream, "client", len(now.turns))  # clients have no seed
        try:
            return adapt(turn, self._model.abilities, now.mask, rng, first=first, earlier=now.turns)[0]
        except NotApplicable as reason:
            raise Refused(f"the model cannot take this: {in_words(reason)}") from reason

    def _answer(self, now: Progress) -> tuple[Change, Progress]:
        """The answer to what is pending."""
        volume, image = self._open()
        turns = (*now.turns, self._adapted_turn(now))
        (answer,) = ask(image, [Request(f"target {self._number}", turns, now.mask, now.memory)])
        if isinstance(answer, Failure):
            raise ModelFailure(f"the model failed: {answer.message}")
        try:
            mask = now.mask.overwrite(checked_update(answer, volume.shape), answer.valid)
        except Refused as error:
            raise ModelFailure(f"the model failed: {error}") from error
        return _change(now.mask, mask), Progress(mask, turns, answer.memory)


def takes(abilities: Abilities) -> dict[str, bool]:
    """What clients may send, by the names of the protocol: what the model takes, or what is converted for it."""
    accepts = abilities.accepts
    boxes = bool(accepts & {"point", "box2d", "box3d"})
    return {
        "points": "point" in accepts or boxes,  # a correction; a model of boxes refuses a first click
        "bbox2d": boxes,
        "bbox3d": boxes,
        "scribble": "scribble" in accepts or boxes,
        "lasso": "lasso" in accepts or boxes,
    }


def _sizes(gesture: Gesture) -> list[int]:
    return [gesture.place[axis + 3] - gesture.place[axis] for axis in range(3)]


def _spacing(value: Any) -> tuple[float, float, float] | None:
    """The spacing that a client sent; None if it sent none that can be."""
    if not isinstance(value, list) or len(value) != 3:
        return None
    if not all((is_a(float, mm) or is_a(int, mm)) and 1e-4 < mm < 1e6 for mm in value):
        return None
    return float(value[0]), float(value[1]), float(value[2])


def _change(before: Mask, after: Mask) -> Change:
    """The box in which two masks can differ, and what is there now.

    To search it for where they do differ takes longer than to send it: what is equal compresses to nothing.
    """
    box = joint_box(before, after)
    return Change(True) if box is None else Change(True, box, after.array if after.box == box else after.crop(box))
