"""Base of models that divide a neighbourhood between seeds of the target and seeds of the background."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Interval

from intrabench.mask import Bools, Floats
from intrabench.models.base import Answer, Request, VolumeModel
from intrabench.models.parts.neighbourhood import Frame, Labels, SeedRadius
from intrabench.models.parts.seeds import TARGET, UNKNOWN, Hints, seeded, with_labels
from intrabench.prompts import Derived
from intrabench.specs.specs import switch
from intrabench.specs.values import Millimetres, Positive, Voxels
from intrabench.volume import Volume


@dataclass(eq=False)
class SeededModel(VolumeModel):
    """A subclass writes `divide`, and gets seeds from all prompts so far, as a person draws them in an editor.

    A correction changes the answer so far around the points that contradict it; pieces without a target seed are
    dropped.
    """

    dims = 3
    accepts = frozenset({"point", "box2d", "box3d", "scribble"})
    feeds_back = True
    covers = "the neighbourhood of the prompts"
    any_plane = True

    margin_mm: Millimetres = 10.0
    size_mm: Positive = 12.0
    seed_mm: SeedRadius = 1.0
    middle: Annotated[float, Interval(gt=0, le=1)] = 0.5
    max_voxels: Voxels = 300_000
    derived: Derived = switch("none")

    @abstractmethod
    def divide(self, frame: Frame, image: Floats, seeds: Labels) -> Bools:
        """The target's cells. seeds: `TARGET`, `BACKGROUND` or `UNKNOWN` for each cell, with some target."""

    def segment_one(self, volume: Volume, request: Request) -> Answer:
        """Divide what the prompts leave open; valid for the whole volume, and empty without a target."""
        hints = Hints.of(request, volume.spacing_mm, self.seed_mm, self.size_mm)
        fine = hints.frame(volume, self.margin_mm)
        if fine is None:  # there are no prompts
            return Answer(request.mask)
        frame = fine.coarse(self.max_voxels)
        zones = hints.zones(frame)
        seeds = hints.labels(frame, zones, self.middle)
        inside = seeds == TARGET
        if inside.any() and (seeds == UNKNOWN).any():
            inside = seeded(self.divide(frame, frame.image(volume.array), seeds), inside)
        # on coarse cells several prompts share one
        sure = seeds if frame is fine else hints.labels(fine, zones.refined(frame), self.middle)
        return Answer(with_labels(hints, fine, frame.refine(inside.astype(np.float64)) > 0.5, sure))
