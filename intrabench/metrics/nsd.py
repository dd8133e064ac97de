"""Normalised surface Dice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from intrabench.metrics.base import Metric
from intrabench.metrics.mask_pair import MaskPair
from intrabench.specs.specs import switch
from intrabench.specs.values import Millimetres


@dataclass(frozen=True)
class NormalisedSurfaceDice(Metric):
    """Normalised surface Dice: the share of both surfaces within a tolerance of the other, as DeepMind defines it.

    Both empty: 1; one empty: 0. tolerance_mm: that tolerance, in mm. spacing: zyx is that of the scan; xyz takes the
    spacing of x for z and that of z for x, as the CVPR 2025 challenge measures files that hold it as x, y, z.
    """

    name = "nsd"
    needs = frozenset({"surface"})
    bounds = (0.0, 1.0)
    default_column = "nsd_2mm"

    tolerance_mm: Millimetres = 2.0
    spacing: Literal["zyx", "xyz"] = switch("zyx")

    def measure(self, pair: MaskPair) -> float:
        """Share of both surfaces' area, 0 to 1."""
        from intrabench.metrics.parts.surface import surface_dice

        measured = pair if self.spacing == "zyx" else pair.swapped
        return surface_dice(measured.surface_distances, self.tolerance_mm)

    @property
    def head(self) -> str:
        """What tables call it."""
        return f"NSD, {self.tolerance_mm:g} mm" + (f", spacing as {self.spacing}" if self.spacing != "zyx" else "")
