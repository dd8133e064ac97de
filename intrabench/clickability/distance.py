"""Clicks deep inside the error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from intrabench.clickability.base import Clickability, Floats, Image, Spacing
from intrabench.mask import Bools


@dataclass(frozen=True)
class Distance(Clickability):
    """The likelihood of a pixel is its distance from the border of the error in millimetres ("DT" of RClicks).

    As published, the image's border is not a boundary: an error that is cut off there is deepest at the border.
    """

    name = "distance"

    def probability(self, image: Image, target: Bools, error: Bools, spacing_mm: Spacing = (1.0, 1.0)) -> Floats:
        """The distance divided by its maximum; 1 everywhere if all pixels are wrong, 0 everywhere if none is."""
        import edt

        if error.all():
            return np.ones(error.shape, np.float32)
        voxels = np.ascontiguousarray(error).view(np.uint8)
        depth = np.asarray(edt.edt(voxels, anisotropy=tuple(spacing_mm), black_border=False))
        depth /= max(float(depth.max()), np.finfo(np.float32).tiny)
        return depth
