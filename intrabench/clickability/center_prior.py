"""Clicks near the centre of what is looked at: what a saliency model has to beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Interval
from numpy.typing import NDArray

from intrabench.clickability.saliency import Saliency


@dataclass(frozen=True)
class CenterPrior(Saliency):
    """People look at the centre of pictures: a Gaussian in the middle of the error's neighbourhood, whatever it shows.

    sigma: its standard deviation, as a share of each side.
    """

    name = "center_prior"
    sigma: Annotated[float, Interval(ge=0.01, le=10)] = 0.25

    def saliency(self, crop: NDArray[np.uint8]) -> NDArray[np.floating]:
        """1 in the middle."""
        y, x = ((np.arange(side) + 0.5) / side - 0.5 for side in crop.shape[:2])
        return np.exp(-(y[:, None] ** 2 + x[None] ** 2) / (2 * self.sigma**2))
