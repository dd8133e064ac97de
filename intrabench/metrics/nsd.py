"""Normalised surface Dice."""

from __future__ import annotations

from dataclasses import dataclass

from intrabench.metrics.base import Metric
from intrabench.metrics.mask_pair import MaskPair


@dataclass(frozen=True)
class NormalisedSurfaceDice(Metric):
    """Normalised surface Dice: the share of both surfaces within a tolerance of the other, as DeepMind defines it.

    Both empty: 1; one empty: 0.
    """

    name = "nsd"
    needs = frozenset({"surface"})
    default_column = "nsd_2mm"

    tolerance_mm: float = 2.0

    def __post_init__(self) -> None:
        if not self.tolerance_mm >= 0:
            raise ValueError(f"tolerance_mm={self.tolerance_mm:g} is not a distance; give 0 or more")

    def measure(self, pair: MaskPair) -> float:
        """Share of both surfaces' area, 0 to 1."""
        from intrabench.metrics.parts.surface import surface_dice

        return surface_dice(pair.surface_distances, self.tolerance_mm)

    @property
    def head(self) -> str:
        """What tables call it."""
        return f"NSD, {self.tolerance_mm:g} mm"
