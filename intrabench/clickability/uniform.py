"""Clicks anywhere on the error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from intrabench.clickability.base import Clickability


@dataclass(frozen=True)
class Uniform(Clickability):
    """Every wrong pixel is as likely as any other ("UD" of RClicks)."""

    name = "uniform"

    def probability(
        self,
        image: NDArray[np.uint8] | None,
        target: NDArray[np.bool_],
        error: NDArray[np.bool_],
        spacing_mm: Sequence[float] = (1.0, 1.0),
    ) -> NDArray[np.floating]:
        """1 on the error, 0 elsewhere."""
        return error.astype(np.float32)
