"""A clickability model of your own: one file, one class, one method."""

from __future__ import annotations

from dataclasses import dataclass

from intrabench.clickability.base import Bools, Clickability, Floats, Image, Spacing


@dataclass(frozen=True)
class Bright(Clickability):
    """The brighter a wrong pixel is, the likelier it is clicked."""

    name = "bright"
    looks = True  # at the image, and so at one slice

    def probability(self, image: Image, target: Bools, error: Bools, spacing_mm: Spacing = (1.0, 1.0)) -> Floats:
        """The mean of the colours."""
        assert image is not None  # because it looks
        return image.mean(axis=2)
