"""The base class of clickability models, which predict where people click."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Bools as Bools  # for classes of workspaces, too
from intrabench.specs.component import Component

Image = NDArray[np.uint8] | None
Floats = NDArray[np.floating]
Spacing = Sequence[float]


class Clickability(Component):
    """A subclass is a dataclass with a `name`, its parameters, and `probability`.

    `version` changes whenever the same error could get other probabilities.
    looks: whether the model needs the image. If so, it gets the whole slice in which the click is made; otherwise it
    gets only the neighbourhood of the error, in a slice or in the volume.
    """

    version = "1"
    looks: ClassVar[bool] = False

    @property
    def other_weights(self) -> str:
        """The identifier of weights other than the default ones, for the specs of prompters; else empty."""
        return ""

    @abstractmethod
    def probability(self, image: Image, target: Bools, error: Bools, spacing_mm: Spacing = (1.0, 1.0)) -> Floats:
        """The likelihood of a click on each pixel, 0 or more, in the shape of `error`; it need not be normalised.

        image: RGB ``(y, x, 3)``, None unless the model `looks`. target, error: ``(y, x)`` or ``(z, y, x)``; the click
        is on the error, whose pixels are either missed or wrongly included.
        """
