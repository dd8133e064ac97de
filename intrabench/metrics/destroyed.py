"""What a correction destroyed."""

from __future__ import annotations

from dataclasses import dataclass

from intrabench.metrics.base import Metric
from intrabench.metrics.mask_pair import MaskPair


@dataclass(frozen=True)
class Destroyed(Metric):
    """Share of the voxels that were right before the round and are wrong after it.

    Counted are the voxels that belong to the target or to either answer; all others are right before and after. Lost
    target and new background count alike. 0: the round destroyed nothing, whatever it left to correct; 1: all that was
    right is wrong. It has no value in round 0, nor where the answer before had nothing of the target: right was only
    background then, and any new voxel outside the target would count as all of it.
    """

    name = "destroyed"
    title = "Destroyed"
    best = "low"
    worst = 1.0
    bounds = (0.0, 1.0)
    needs = frozenset({"before"})

    def measure(self, pair: MaskPair) -> float | None:
        """|right before and wrong now| / |right before|, within the union of target and both answers."""
        if pair.before is None:
            return None
        truth, then, now = pair.truth_array, pair.before.crop(pair.box), pair.answer_array
        if not (then & truth).any():
            return None
        right = (then == truth) & (truth | now)  # in neither there was nothing to destroy
        return float((right & (now != truth)).sum() / right.sum())
