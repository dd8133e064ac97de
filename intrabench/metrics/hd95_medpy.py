"""95 % Hausdorff distance as MedPy takes it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from intrabench.mask import Box, Mask
from intrabench.metrics.base import Metric
from intrabench.metrics.mask_pair import MaskPair
from intrabench.metrics.parts.nearest import Nearest
from intrabench.metrics.parts.transform import Corner, Voxels


@dataclass(frozen=True)
class MedPyHausdorffDistance95(Metric):
    """95 % Hausdorff distance as MedPy takes it, in voxels or mm: of both ways together, from voxel to voxel.

    The surface of a mask is its voxels that have a face to the outside, and the percentile is that of all distances of
    both surfaces, each voxel counted once. Both empty: 0; one empty: the diagonal of the scan, as ToothFairy3 has it. A
    failed session counts as infinite. spacing: voxel ignores the size of voxels.
    """

    name = "hd95_medpy"
    best = "low"
    worst = math.inf
    bounds = (0.0, math.inf)
    needs = frozenset({"spacing"})

    spacing: Literal["voxel", "mm"] = "voxel"

    @property
    def head(self) -> str:
        """What tables call it."""
        return f"HD95 of MedPy, {self.unit}"

    @property
    def unit(self) -> str:  # type: ignore[override]
        """Of the distance."""
        return {"voxel": "voxels", "mm": "mm"}[self.spacing]

    def measure(self, pair: MaskPair) -> float:
        """The 95th percentile of the distances of both surfaces."""
        size = {"mm": pair.spacing_mm, "voxel": (1.0, 1.0, 1.0)}[self.spacing]
        truth, answer = pair.truth, pair.answer
        if not truth.any() and not answer.any():
            return 0.0
        if not truth.any() or not answer.any():
            return float(np.linalg.norm(np.multiply(pair.target.shape, size)))
        borders = [(_border(mask), _corners(mask.box)) for mask in (truth, answer)]
        far = [
            Nearest(goals, *around, size).distances(asking, *within)
            for (goals, around), (asking, within) in (borders, borders[::-1])
        ]
        return float(np.percentile(np.hstack(far), 95))


def _border(mask: Mask) -> Voxels:
    """(3, n) the voxels of a mask with a face to the outside, or to the end of the scan."""
    from scipy import ndimage

    inner = ndimage.binary_erosion(mask.array)
    return np.argwhere(mask.array & ~inner).T + np.reshape(mask.start, (3, 1))


def _corners(box: Box) -> tuple[Corner, Corner]:
    """The first and the last voxel of a box."""
    z0, y0, x0, z1, y1, x1 = box
    return (z0, y0, x0), (z1 - 1, y1 - 1, x1 - 1)
