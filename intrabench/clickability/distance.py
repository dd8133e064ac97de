"""Clicks deep inside the error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from intrabench.clickability.base import Bools, Clickability, Floats, Image, Spacing


@dataclass(frozen=True)
class Distance(Clickability):
    """As likely as a wrong pixel is far from all that is right ("DT" of RClicks), in millimetres.

    The border of the image is no boundary, as published: an error that is cut off there is deepest at the border.
    """

    name = "distance"

    def probability(self, image: Image, target: Bools, error: Bools, spacing_mm: Spacing = (1.0, 1.0)) -> Floats:
        """The distance over the largest distance; 1 everywhere where nothing is right, 0 where nothing is wrong."""
        import edt

        if error.all():
            return np.ones(error.shape, np.float32)
        voxels = np.ascontiguousarray(error).view(np.uint8)
        depth = np.asarray(edt.edt(voxels, anisotropy=tuple(spacing_mm), black_border=False))
        depth /= max(float(depth.max()), np.finfo(np.float32).tiny)
        return depth
