"""95 % Hausdorff distance."""

from __future__ import annotations

from dataclasses import dataclass

from intrabench.metrics.hausdorff import Percentile


@dataclass(frozen=True)
class HausdorffDistance95(Percentile):
    """95 % Hausdorff distance: what 95 % of the surface of each mask keeps to that of the other.

    As DeepMind defines it, unless `definition` says otherwise. `hd` takes other percentiles.
    """

    name = "hd95"
    title = "HD95"
    default_column = "hd95_mm"

    @property
    def percent(self) -> float:
        """Always 95."""
        return 95.0
