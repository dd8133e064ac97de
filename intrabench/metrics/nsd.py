"""Normalised surface Dice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Interval

from intrabench.metrics.base import Metric
from intrabench.metrics.distance import SOURCES, SURFACES, distances_as, whose
from intrabench.metrics.mask_pair import MaskPair
from intrabench.metrics.parts.surface import surface_dice
from intrabench.specs.specs import switch
from intrabench.specs.values import Millimetres


@dataclass(frozen=True)
class NormalisedSurfaceDice(Metric):
    """Normalised surface Dice: the share of both surfaces within a tolerance of the other.

    As DeepMind defines it, unless `definition` says otherwise. tolerance_mm: that tolerance, in mm. spacing: zyx is
    that of the scan; xyz takes the spacing of x for z and that of z for x, as the CVPR 2025 challenge measures files
    that hold it as x, y, z. tolerance_voxels: a tolerance in voxels, which are taken as cubes, instead of mm.
    definition: surface_distance counts surface elements by their areas; monai counts border voxels once each.
    """

    name = "nsd"
    needs = frozenset({"surface"})
    bounds = (0.0, 1.0)
    default_column = "nsd_2mm"

    tolerance_mm: Millimetres = 2.0
    spacing: Literal["zyx", "xyz"] = switch("zyx")
    tolerance_voxels: Annotated[float, Interval(ge=0, le=10_000)] | None = switch(None)
    definition: Literal["surface_distance", "monai"] = switch("surface_distance")

    def __post_init__(self) -> None:
        if self.tolerance_voxels is not None and (self.tolerance_mm != 2.0 or self.spacing != "zyx"):
            raise ValueError("tolerance_voxels takes voxels as cubes; give it without tolerance_mm and spacing")

    def measure(self, pair: MaskPair) -> float:
        """Share of both surfaces, 0 to 1."""
        if self.tolerance_voxels is not None:
            return surface_dice(distances_as(self.definition, pair.in_voxels), self.tolerance_voxels)
        measured = pair if self.spacing == "zyx" else pair.swapped
        return surface_dice(distances_as(self.definition, measured), self.tolerance_mm)

    @property
    def head(self) -> str:
        """What tables call it."""
        voxels = self.tolerance_voxels
        tolerance = f"{self.tolerance_mm:g} mm" if voxels is None else f"{voxels:g} voxel{'s' * (voxels != 1)}"
        turned = f", spacing as {self.spacing}" if self.spacing != "zyx" else ""
        return f"NSD{whose(self.definition)}, {tolerance}{turned}"

    @property
    def description(self) -> str:
        """The first paragraph of the docstring, what counts as surface, and what empty masks count."""
        return f"{super().description} {SURFACES[self.definition]} Both empty: 1; one empty: 0."

    @property
    def source(self) -> str:  # type: ignore[override]
        """Of the definition."""
        return SOURCES[self.definition]
