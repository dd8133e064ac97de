"""Split labels without instances into connected components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from intrabench.mask import Mask, masks_of

RANKS = {6: 1, 18: 2, 26: 3}
"""Along how many axes at once a neighbour may lie, by connectivity."""


@dataclass(frozen=True)
class Instances:
    """The rule that splits a mask into instances: its connected components, largest first.

    connectivity: 6 (faces), 18 (edges) or 26 (corners) neighbours. dilation: the mask is grown by this many voxels, in
    the same neighbourhood, before components are found, so that close pieces count as one; the instances are not grown.
    min_voxels: smaller instances are left out.

    Raises:
        ValueError: another connectivity, or a negative dilation.
    """

    connectivity: Literal[6, 18, 26] = 26
    dilation: int = 0
    min_voxels: int = 1

    def __post_init__(self) -> None:
        if self.connectivity not in RANKS:
            raise ValueError(f"connectivity={self.connectivity} is unknown; give 6, 18 or 26")
        if self.dilation < 0:
            raise ValueError(f"dilation={self.dilation} is negative; give 0 or more voxels")

    def split(self, mask: Mask) -> list[Mask]:
        """The instances of `mask`; equal sizes are ordered by their first voxels in z, y, x order."""
        from scipy import ndimage

        if not mask.any():
            return []
        structure = ndimage.generate_binary_structure(3, RANKS[self.connectivity])
        margin = self.dilation
        inside = np.pad(mask.array, margin)
        grown = ndimage.binary_dilation(inside, structure, iterations=margin) if margin else inside
        numbered, _ = ndimage.label(grown, structure=structure)
        numbered[~inside] = 0
        found = masks_of(numbered, [first - margin for first in mask.start]).values()
        return sorted((part for part in found if part.voxels >= self.min_voxels), key=lambda part: -part.voxels)

    def describe(self) -> str:
        """The rule in words, for cards."""
        words = [f"{self.connectivity}-connected components, largest first"]
        if self.dilation:
            words.append(f"joined over gaps of up to {2 * self.dilation} voxels")
        if self.min_voxels > 1:
            words.append(f"of at least {self.min_voxels} voxels")
        return ", ".join(words)
