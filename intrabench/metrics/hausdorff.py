"""Hausdorff distance at any percentile."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Interval

from intrabench.metrics.distance import Definition, SurfaceDistance, distances_as, whose
from intrabench.metrics.mask_pair import MaskPair
from intrabench.specs.specs import switch


@dataclass(frozen=True)
class Percentile(SurfaceDistance):
    """Base of Hausdorff distances.

    definition: surface_distance counts surface elements by their areas; monai counts border voxels once each; medpy
    takes the percentile of the border voxels of both masks together.
    """

    @property
    @abstractmethod
    def percent(self) -> float:
        """0 to 100; 100 is the largest distance of all."""

    def between(self, pair: MaskPair) -> float:
        """The percentile."""
        return hausdorff_as(self.definition, pair, self.percent)

    @property
    def full_title(self) -> str:
        """HD, which, and whose."""
        return f"HD{'' if self.percent == 100 else f'{self.percent:g}'}{whose(self.definition)}"

    @property
    def summary(self) -> str:
        """Of which percentage, and what becomes of the two ways."""
        if self.percent == 100:
            return "Hausdorff distance: the largest distance of a point of one surface to the other surface."
        ways = "both ways together" if self.definition == "medpy" else "the larger of both ways"
        head = f"{self.percent:g} % Hausdorff distance: the distance that {self.percent:g} % of the points of"
        return f"{head} a surface keep to the other surface, {ways}."


@dataclass(frozen=True)
class HausdorffDistance(Percentile):
    """Hausdorff distance: the distance that a percentage of the points of a surface keep to the other surface.

    percentile: that percentage; 100 is the largest distance of all.
    """

    name = "hd"
    title = "HD"

    percentile: Annotated[float, Interval(ge=0, le=100)] = switch(100.0)

    @property
    def percent(self) -> float:
        """The parameter."""
        return self.percentile


def hausdorff_as(definition: Definition, pair: MaskPair, percentile: float) -> float:
    """The percentile as surface-distance, MedPy or MONAI takes it, of two masks that are not empty."""
    from intrabench.metrics.parts.borders import together
    from intrabench.metrics.parts.surface import hausdorff

    if definition == "medpy":
        return together(pair.border_distances).percentile(percentile)
    return hausdorff(distances_as(definition, pair), percentile)
