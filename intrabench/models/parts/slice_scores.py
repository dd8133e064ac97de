"""How sure a model of slices is of each voxel of its answer (`Answer.scores`), kept only where its masks are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Box, Mask, box_slices


class SliceScores:
    """Scores of slices, each in the box of its own mask; elsewhere nothing is claimed, so nothing has to be known."""

    def __init__(self) -> None:
        self._parts: list[tuple[Box, NDArray[np.float32]]] = []

    def add(self, mask: Mask, scores: NDArray[np.floating[Any]]) -> None:
        """Keep the scores ``(y, x)`` of one whole slice where its mask is."""
        if mask.any():
            self._parts.append((mask.box, scores[box_slices(mask.box)[1:]].astype(np.float32)))

    def within(self, box: Box) -> NDArray[np.float32] | None:
        """The scores in a box that holds all masks, -inf where there is no mask; None if there are no scores."""
        if not self._parts:
            return None
        found = np.full([box[axis + 3] - box[axis] for axis in range(3)], -np.inf, np.float32)
        for part, scores in self._parts:
            there = found[part[0] - box[0], part[1] - box[1] : part[4] - box[1], part[2] - box[2] : part[5] - box[2]]
            np.maximum(there, scores, out=there)
        return found
