"""Scribbles from the label alone, as the autoPET V challenge simulates them for training."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Interval

from intrabench.mask import Mask, grow
from intrabench.prompters.base import Prompter
from intrabench.prompters.strokes import PUBLISHED_SEED, Style, drawn, stroke_on
from intrabench.prompters.user import Turns, User
from intrabench.prompts import Scribble
from intrabench.target import Target

_RING = 2  # voxels around the target, in which background is drawn


@dataclass(frozen=True)
class AutoPetStart(Prompter):
    """Scribbles into parts of the target and of its surroundings, all at once.

    A part is 26-connected; its scribble lies in the slice in which it is largest, and is drawn as by `autopet`. The
    surroundings are the voxels up to two faces away, of which the parts get negative scribbles. Made for whole labels,
    `--dataset NAME+whole`, whose parts are the lesions. parts: how many parts of either are drawn on; of more, these
    are chosen at random. style: as in `autopet`.

    Source: the code of autoPET V (2026), written from its rules; its random draws are not repeated.
    """

    name = "autopet_start"
    style: Style = "centerline"
    parts: Annotated[int, Interval(ge=1, le=1000)] = 5

    def interact(self, user: User) -> Turns:
        """One turn."""
        masks = {1: user.target.mask, 0: _ring(user.target)}
        yield drawn([Scribble(one, label) for label, mask in masks.items() for one in self._strokes(user, mask, label)])

    def _strokes(self, user: User, mask: Mask, label: int) -> Iterator[np.ndarray[tuple[int, ...], np.dtype[np.int64]]]:
        """Rows ``z, y, x`` of each scribble."""
        from scipy import ndimage

        if not mask.any():
            return
        labels, count = ndimage.label(mask.array.T, np.ones((3, 3, 3)))  # in the order of x, y, z
        numbers = np.arange(1, count + 1)
        if count > self.parts:
            numbers = np.sort(user.rng(f"parts {label}").choice(numbers, self.parts, replace=False))
        boxes = ndimage.find_objects(labels)
        for number in numbers.tolist():
            box = boxes[number - 1]
            part = Mask.of((labels[box] == number).T, [mask.start[axis] + box[2 - axis].start for axis in range(3)])
            z = part.start[0] + int(np.count_nonzero(part.array, axis=(1, 2)).argmax())
            yield stroke_on(part.slice(z), user.target.shape, self.style, PUBLISHED_SEED)


def _ring(target: Target) -> Mask:
    """The voxels around the target, but not those that are ignored."""
    from scipy import ndimage

    box = grow(target.mask.box, (_RING,) * 3, target.shape)
    inside = target.mask.crop(box)
    grown = ndimage.binary_dilation(inside, ndimage.generate_binary_structure(3, 1), _RING)
    return Mask.of(grown & ~inside, box[:3]).without(target.ignore)
