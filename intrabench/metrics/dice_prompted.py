"""Dice on the slices that the hand prompted."""

from __future__ import annotations

from dataclasses import dataclass

from intrabench.metrics.base import Metric
from intrabench.metrics.mask_pair import MaskPair


@dataclass(frozen=True)
class DicePrompted(Metric):
    """Dice on prompted slices: twice the common voxels over the voxels of both masks, of these slices together.

    They are the slices on which the hand has drawn, clicked or scribbled so far, in whatever direction the session goes
    through the scan; derived prompts (of an interpolation or a propagation) do not count, and a 3D box is on no slice.
    Both empty there: 1; one empty: 0. No value before the first such prompt.
    """

    name = "dice_prompted"
    title = "Dice on prompted slices"
    bounds = (0.0, 1.0)

    def measure(self, pair: MaskPair) -> float | None:
        """Dice, 0 to 1; None without a prompted slice."""
        return pair.overlap_on(list(pair.prompted)).dice if pair.prompted else None
