"""The clicks of autoPET IV: drawn before anything is answered, on lesions and on what else is bright."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Index, Mask, masks_of
from intrabench.prompters.base import Prompter
from intrabench.prompters.errors import deepest
from intrabench.prompters.user import Turns, User
from intrabench.prompts import Prompts
from intrabench.specs.values import Count
from intrabench.target import Target
from intrabench.turns import Click, Turn
from intrabench.volume import Volume

BRIGHT = 99.75
"""Percentile of the voxels beside the target above which the last channel of the image is background to click."""


@dataclass(frozen=True)
class LesionClicks(Prompter):
    """No prompts at first; then a click on a lesion and one on bright background in each round, whatever was answered.

    Lesions are the 26-connected parts of the target. As many of them as there are clicks, drawn at random, are clicked
    in their deepest voxel, in voxels; further clicks go to their border voxels, one lesion after the other. The same
    holds for background: the 26-connected parts that are brighter than 99.75 % of all voxels beside the target, in the
    last channel of the image (PET); but further clicks there go anywhere in the part. Made for whole labels,
    `--dataset NAME+whole`.

    clicks: on either side, one per round.

    Source: autoPET IV (lab-midas/autoPETCTIV), written from its rules; its random numbers are not repeated.
    """

    name = "lesion_clicks"
    empty_targets = True
    clicks: Count = 10

    def interact(self, user: User) -> Turns:
        """A turn without anything, then the clicks of each round."""
        positive = self._places(_parts(user.target.mask), user.rng("lesions"), border=True)
        bright = [] if user.image is None else _parts(_bright(user.image, user.target))
        negative = self._places(bright, user.rng("background"), border=False)
        yield Turn(Prompts())
        for number in range(self.clicks):
            rows = [(*side[number], label) for side, label in ((positive, 1), (negative, 0)) if side]
            if not rows:
                return
            yield Turn(Prompts(points=np.array(rows)), (Click(),) * len(rows))

    def _places(self, parts: list[Mask], rng: np.random.Generator, border: bool) -> list[Index]:
        """As many voxels as there are clicks; none without parts."""
        if not parts:
            return []
        chosen = [parts[number] for number in rng.permutation(len(parts))[: self.clicks]]
        centres = [deepest(part, (1, 1, 1), "voxel")[0] for part in chosen]
        edges = [_border(part) if border else part.coordinates() for part in chosen[: self.clicks - len(centres)]]
        further = ([tuple(map(int, rng.choice(rows))) for rows in edges] for _ in range(self.clicks))
        return [*centres, *((z, y, x) for lap in further for z, y, x in lap)][: self.clicks]


def _parts(mask: Mask) -> list[Mask]:
    from scipy import ndimage

    labels, _ = ndimage.label(mask.array, np.ones((3, 3, 3)))
    return list(masks_of(labels, mask.start).values())


def _border(part: Mask) -> NDArray[np.intp]:
    """(n, 3) the voxels of a part with a face to the outside."""
    from scipy import ndimage

    inner = ndimage.binary_erosion(np.pad(part.array, 1))[1:-1, 1:-1, 1:-1]
    return np.argwhere(part.array & ~inner) + np.array(part.start)


def _bright(image: Volume, target: Target) -> Mask:
    """What is brighter than nearly everything beside the target."""
    pet = image.array if image.array.ndim == 3 else image.array[..., -1]
    beside = np.ones(pet.shape, dtype=bool)
    box = target.mask.box
    beside[tuple(map(slice, box[:3], box[3:]))] = ~target.mask.array
    return Mask.of(beside & (pet > np.percentile(pet[beside], BRIGHT)))
