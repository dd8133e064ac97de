"""Models of where people click: the base of all of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8] | None
Bools = NDArray[np.bool_]
Floats = NDArray[np.floating]
Spacing = Sequence[float]


class Clickability(ABC):
    """A subclass is a dataclass with a `name`, its parameters, and `probability`.

    `version` changes whenever the same error could get other probabilities.
    looks: whether it needs the image, and so the whole slice in which a click is made; otherwise it is given the
    neighbourhood of the error alone, in a slice or in the volume.
    """

    name: ClassVar[str]
    version: ClassVar[str] = "1"
    looks: ClassVar[bool] = False

    @property
    def other_weights(self) -> str:
        """What weights other than its own are called in the names of prompters; empty without them."""
        return ""

    @abstractmethod
    def probability(self, image: Image, target: Bools, error: Bools, spacing_mm: Spacing = (1.0, 1.0)) -> Floats:
        """How likely a click is on each pixel, 0 or more, of the shape of `error`; it need not be normalised.

        image: RGB ``(y, x, 3)``, None unless it `looks`. target, error: ``(y, x)`` or ``(z, y, x)``, on which the
        click is made; the error is what is missed or what is too much, never both.
        """
