"""95 % Hausdorff distance."""

from __future__ import annotations

from dataclasses import dataclass

from intrabench.metrics.hausdorff import Percentile


@dataclass(frozen=True)
class HausdorffDistance95(Percentile):
    """95 % Hausdorff distance: the distance that 95 % of the points of a surface keep to the other, the larger way.

    As DeepMind defines it, unless `definition` says otherwise. `hd` takes other percentiles.
    """

    name = "hd95"
    title = "HD95"
    default_column = "hd95_mm"

    @property
    def percent(self) -> float:
        """Always 95."""
        return 95.0
