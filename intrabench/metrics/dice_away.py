"""Dice on the slices at some distance from the prompted ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from intrabench.errors import IntraBenchError
from intrabench.metrics.base import Metric
from intrabench.metrics.mask_pair import MaskPair
from intrabench.specs.values import Count


@dataclass(frozen=True)
class DiceAway(Metric):
    """Dice away from prompts: on slices of the target, `least` to `most` slices from the nearest prompted one.

    Prompted slices are those of `dice_prompted`; slices beyond the ends of the target, whose voxels `beyond_ends`
    counts, are left out. Voxels of all these slices are counted together. No value without a prompted slice, or if no
    slice of the target is that far. most: None means to the ends of the target.
    """

    name = "dice_away"
    title = "Dice away from prompts"
    bounds = (0.0, 1.0)

    least: Count = 1
    most: Count | None = None

    def __post_init__(self) -> None:
        if self.most is not None and self.most < self.least:
            raise IntraBenchError(f"dice_away: most={self.most} is less than least={self.least}; exchange them")

    @property
    def head(self) -> str:
        """What tables call it, ``Dice 3 to 5 slices away``."""
        if self.most == self.least:
            return f"Dice {self.least} slice{'s' * (self.least > 1)} away"
        return f"Dice {self.least} {'or more' if self.most is None else f'to {self.most}'} slices away"

    def measure(self, pair: MaskPair) -> float | None:
        """Dice, 0 to 1; None if there are no such slices."""
        own = pair.truth.occupied_slices
        if not pair.prompted or not len(own):
            return None
        slices = np.arange(own[0], own[-1] + 1)
        away = np.abs(slices[:, None] - np.array(pair.prompted)).min(axis=1)
        chosen = slices[(away >= self.least) & (away <= (self.most or np.inf))]
        return pair.overlap_on(chosen.tolist()).dice if len(chosen) else None
