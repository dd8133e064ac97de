"""The base classes of perturbations."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Floats32
from intrabench.specs.component import Component
from intrabench.target import Target
from intrabench.volume import Volume

PERCENTILES = (0.5, 99.5)


@dataclass(frozen=True)
class Perturbation(Component):
    """What changes an image, and where its targets are then. The grid stays as it is.

    version: changes whenever the same image comes out differently. neutral: the value of its parameter that would
    change nothing; None if there is none.
    """

    version = "1"
    neutral: ClassVar[float | None] = 0.0

    @abstractmethod
    def apply(self, volume: Volume, rng: np.random.Generator) -> NDArray[Any]:
        """The changed intensities, of the shape of `volume`; numbers that its type cannot hold are rounded later."""

    def moved(self, target: Target) -> Target:
        """The target as it lies in the changed image."""
        return target


@dataclass(frozen=True)
class IntensityChange(Perturbation):
    """Base of those that change intensities only; a subclass writes `change`."""

    @abstractmethod
    def change(self, image: Floats32, rng: np.random.Generator) -> NDArray[Any]:
        """The changed intensities ``(channel, z, y, x)``; `image` may be written into.

        In them 0 and 1 are the 0.5 and 99.5 percentiles of the image.
        """

    def apply(self, volume: Volume, rng: np.random.Generator) -> NDArray[Any]:
        """Scale to percentiles, change, and scale back."""
        array = volume.array
        low, high = (float(end) for end in np.percentile(array, PERCENTILES))
        span = high - low or 1.0
        scaled = ((array.astype(np.float32) - low) / span).astype(np.float32)
        channels = scaled[None] if scaled.ndim == 3 else np.moveaxis(scaled, -1, 0).copy()
        found = self.change(channels, rng) * span + low
        return found[0] if scaled.ndim == 3 else np.moveaxis(found, 0, -1)
