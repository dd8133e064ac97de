"""Which other targets of the case an answer fits better than its own: it segments the liver, not the lesion."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Box, Mask, intersection
from intrabench.metrics.mask_pair import MaskPair
from intrabench.metrics.parts.overlap import Overlap
from intrabench.target import Target

FITS_BETTER = "fits_better"
"""The column of rows: the ids of targets, joined by ``+``; empty: none fits better; null: nobody looked."""

MARGIN = 0.05
"""By so much the Dice must be higher, than with the target, and of several together than of each of them alone."""
NAMED = 3
"""So many targets are named; of more only their number is told."""
MOST_BYTES = 64 << 20
"""Memory for the masks of a case, in bits of their boxes; in cases with more nobody looks."""


@dataclass(frozen=True, eq=False)
class _Packed:
    """A target, one bit for each voxel of its box."""

    id: str
    person: str
    box: Box
    bits: NDArray[np.uint8]

    @property
    def mask(self) -> Mask:
        return Mask.unpack(self.box[:3], _sides(self.box), self.bits)


class OtherTargets:
    """All targets of a case, for their own sessions to look at the others. read: gives them.

    They are read when an answer is first compared that is not nearly right, and then kept.
    """

    def __init__(self, read: Callable[[], Sequence[Target]]) -> None:
        self._read, self._lock = read, Lock()
        self._packed: Sequence[_Packed] | None = None

    def fitting_better(self, pair: MaskPair) -> str | None:
        """The other target, or the union of targets, that the answer of a pair fits better than its own by `MARGIN`.

        Its own may be part of a union. Where other people drew the same, only targets of the same person count. Returns
        their ids in the order of the case, as `FITS_BETTER` has them.
        """
        target, answer, own = pair.target, pair.answer, pair.overlap.dice
        others = target.siblings
        if not len(others) or not answer.any() or own > 1 - MARGIN:
            return ""
        if sum(prod(_sides(info.box)) for info in others) > 8 * MOST_BYTES:
            return None
        found = list(self._touching(target, answer))
        alone = max((one for one in found if one[0] != target.id), key=lambda one: one[2].dice, default=None)
        names, dice = ([alone[0]], alone[2].dice) if alone else ([], 0.0)
        union, of_union = _best_union(found, answer)
        if len(union) > 1 and of_union > dice + MARGIN:
            names, dice = union, of_union
        return _listed(names) if dice > own + MARGIN else ""

    def _touching(self, target: Target, answer: Mask) -> Iterator[tuple[str, Mask, Overlap]]:
        """The targets that have voxels in common with an answer, in the order of the case."""
        for one in self._all():
            if one.person == target.person and intersection(one.box, answer.box):
                mask = one.mask
                overlap = Overlap.of(mask, answer)
                if overlap.common:
                    yield one.id, mask, overlap

    def _all(self) -> Sequence[_Packed]:
        with self._lock:  # sessions are measured in several threads
            if self._packed is None:
                self._packed = [_Packed(one.id, one.person, one.mask.box, one.mask.pack()) for one in self._read()]
            return self._packed


def _best_union(found: Sequence[tuple[str, Mask, Overlap]], answer: Mask) -> tuple[list[str], float]:
    """The ids of the targets that the answer fits best together, and its Dice with them."""
    # To add a target to a union raises the Dice exactly if twice the share of it that is in the answer is above the
    # Dice so far. So, of targets without common voxels, the best union are the first few by that share.
    chosen, union, dice = list[str](), Mask.empty(), 0.0
    for id, mask, overlap in sorted(found, key=lambda one: one[2].common / one[2].truth, reverse=True):
        if 2 * overlap.common / overlap.truth <= dice:
            break
        larger = Mask.union([union, mask])
        if (raised := Overlap.of(larger, answer).dice) > dice:
            chosen, union, dice = [*chosen, id], larger, raised
    return [id for id, *_ in found if id in chosen], dice


def _listed(ids: Sequence[str]) -> str:
    more = [f"{len(ids) - NAMED} more"] if len(ids) > NAMED else []
    return "+".join([*ids[:NAMED], *more])


def _sides(box: Box) -> tuple[int, int, int]:
    return box[3] - box[0], box[4] - box[1], box[5] - box[2]
