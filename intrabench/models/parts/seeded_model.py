"""Base of models that divide a neighbourhood between seeds of the target and seeds of the background."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from annotated_types import Interval

from intrabench.mask import Bools, Floats, Mask
from intrabench.models.base import Answer, Request, VolumeModel
from intrabench.models.parts.neighbourhood import Frame, Hints, Labels, SeedRadius
from intrabench.prompts import Derived
from intrabench.specs.specs import switch
from intrabench.specs.values import Millimetres, Voxels
from intrabench.volume import Volume

UNKNOWN, BACKGROUND, TARGET = -1, 0, 1


@dataclass(eq=False)
class SeededModel(VolumeModel):
    """A subclass writes `divide`, and gets seeds from all prompts so far, as a person draws them in an editor.

    Each answer is computed afresh from all seeds; pieces without a target seed are dropped.
    """

    dims = 3
    accepts = frozenset({"point", "box2d", "box3d", "scribble"})
    covers = "the neighbourhood of the prompts"
    any_plane = True

    margin_mm: Millimetres = 10.0
    radius_mm: Millimetres = 30.0
    seed_mm: SeedRadius = 1.0
    touch_mm: Millimetres = 12.0
    middle: Annotated[float, Interval(gt=0, le=1)] = 0.5
    max_voxels: Voxels = 300_000
    derived: Derived = switch("none")

    @abstractmethod
    def divide(self, frame: Frame, image: Floats, seeds: Labels) -> Bools:
        """The target's cells. seeds: `TARGET`, `BACKGROUND` or `UNKNOWN` for each cell, with some target."""

    def segment_one(self, volume: Volume, request: Request) -> Answer:
        """Divide the neighbourhood; the answer is valid for the whole volume. Without a target seed it is empty."""
        hints = replace(Hints.of(request), mask=Mask.empty())
        fine = hints.frame(volume, self.margin_mm, self.radius_mm)
        if fine is None:  # there are no prompts
            return Answer(request.mask)
        frame = fine.coarse(self.max_voxels)
        seeds = self.seeds(frame, hints)
        if not (seeds == TARGET).any():
            return Answer(Mask.empty())
        divided = _seeded(self.divide(frame, frame.image(volume.array), seeds), seeds == TARGET)
        inside = (frame.refine(divided.astype(np.float64)) > 0.5) & fine.room(hints, self.seed_mm, self.touch_mm)
        sure = fine.seeds(hints.points, self.seed_mm)  # on a coarse grid several share a cell
        return Answer(Mask.of(np.where(sure == UNKNOWN, inside, sure == TARGET), fine.box[:3]))

    def seeds(self, frame: Frame, hints: Hints) -> Labels:
        """Points and strokes are seeds of their label; what they leave open follows from boxes, or from the border.

        Outside of boxes is background, and their middle is target, unless negative points are near. Without boxes the
        border of the neighbourhood is background, and that of the volume if it is smaller.
        """
        drawn = frame.seeds(hints.points, self.seed_mm)
        room = frame.room(hints, self.seed_mm, self.touch_mm)
        if room.all():
            room = frame.interior(of_volume=True)
        seeds = np.where(room, UNKNOWN, BACKGROUND).astype(np.int8)
        if len(hints.blocks):
            _, level = frame.boxes(hints.blocks)
            middle = (level >= min(1 - self.middle**2, level.max())) & room
            far = middle & (frame.distance_mm(drawn == BACKGROUND) > self.touch_mm)
            seeds[far if far.any() else middle] = TARGET
        return np.where(drawn == UNKNOWN, seeds, drawn).astype(np.int8)


def _seeded(cells: Bools, seeds: Bools) -> Bools:
    """The pieces of `cells`, 26-connected, that have a seed."""
    from scipy import ndimage

    pieces, _ = ndimage.label(cells, np.ones((3, 3, 3)))
    return np.isin(pieces, np.setdiff1d(pieces[seeds], 0))
