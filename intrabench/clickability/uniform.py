"""Clicks anywhere on the error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from intrabench.clickability.base import Clickability, Floats, Image, Spacing
from intrabench.mask import Bools


@dataclass(frozen=True)
class Uniform(Clickability):
    """All wrong pixels are equally likely ("UD" of RClicks)."""

    name = "uniform"

    def probability(self, image: Image, target: Bools, error: Bools, spacing_mm: Spacing = (1.0, 1.0)) -> Floats:
        """1 on the error, 0 elsewhere."""
        return error.astype(np.float32)
