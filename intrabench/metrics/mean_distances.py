"""Mean distances between surfaces: from one to the other, and of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from intrabench.metrics.distance import SurfaceDistance, distances_as, whose
from intrabench.metrics.mask_pair import MaskPair
from intrabench.metrics.parts.surface import mean_distance

METRICS_RELOADED = "L. Maier-Hein et al., Metrics reloaded, Nature Methods 2024, arXiv 2206.01653"
"""The names ASSD and MASD."""


@dataclass(frozen=True)
class AverageSurfaceDistance(SurfaceDistance):
    """Average surface distance (ASD): the mean distance of all points of one surface to the other.

    way: to_target is the mean over the answer's surface, which grows with what is wrongly included; to_answer is that
    over the target's, which grows with what is left out.
    """

    name = "asd"
    title = "ASD"

    way: Literal["to_target", "to_answer"] = "to_target"

    def between(self, pair: MaskPair) -> float:
        """The mean over one surface."""
        found = distances_as(self.definition, pair)
        return mean_distance(found.answer if self.way == "to_target" else found.truth)

    @property
    def full_title(self) -> str:
        """ASD, which way, and whose."""
        return f"ASD {self.way.replace('_', ' ')}{whose(self.definition)}"


@dataclass(frozen=True)
class MeanAverageSurfaceDistance(SurfaceDistance):
    """Mean average surface distance (MASD): the mean of `asd` of both ways, so that both surfaces count the same.

    MedPy before 0.5 called this ASSD.
    """

    name = "masd"
    title = "MASD"

    def between(self, pair: MaskPair) -> float:
        """The mean of both means."""
        found = distances_as(self.definition, pair)
        return (mean_distance(found.truth) + mean_distance(found.answer)) / 2

    @property
    def source(self) -> str:  # type: ignore[override]
        """Of the name, and of the definition."""
        return f"{METRICS_RELOADED}; {super().source}"


@dataclass(frozen=True)
class AverageSymmetricSurfaceDistance(MeanAverageSurfaceDistance):
    """Average symmetric surface distance (ASSD): the mean distance of all points of both surfaces to the other one."""

    name = "assd"
    title = "ASSD"

    def between(self, pair: MaskPair) -> float:
        """The mean over both surfaces."""
        found = distances_as(self.definition, pair)
        return mean_distance(found.truth, found.answer)
