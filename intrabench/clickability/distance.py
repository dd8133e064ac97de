"""Clicks deep inside the error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from intrabench.clickability.base import Clickability


@dataclass(frozen=True)
class Distance(Clickability):
    """As likely as a wrong pixel is far from all that is right ("DT" of RClicks), in millimetres.

    The border of the image is no boundary, as published: an error that is cut off there is deepest at the border.
    """

    name = "distance"

    def probability(
        self,
        image: NDArray[np.uint8] | None,
        target: NDArray[np.bool_],
        error: NDArray[np.bool_],
        spacing_mm: Sequence[float] = (1.0, 1.0),
    ) -> NDArray[np.floating]:
        """The distance over the largest distance; 1 everywhere where nothing is right, 0 where nothing is wrong."""
        import edt

        if error.all():
            return np.ones(error.shape, np.float32)
        voxels = np.ascontiguousarray(error).view(np.uint8)
        depth = np.asarray(edt.edt(voxels, anisotropy=tuple(spacing_mm), black_border=False))
        depth /= max(float(depth.max()), np.finfo(np.float32).tiny)
        return depth
