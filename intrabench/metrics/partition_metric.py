"""The base of metrics of superpixels: one number for a partition of an image and an annotation."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from intrabench.errors import IntraBenchError
from intrabench.metrics.base import Best, Metric
from intrabench.metrics.mask_pair import MaskPair
from intrabench.specs.component import of_function

if TYPE_CHECKING:
    from intrabench.superpixels.partitions.pair import PartitionPair


@dataclass(frozen=True)
class PartitionMetric(Metric):
    """Base of the metrics of superpixels; a subclass writes `compare`.

    Pictures are measured in pixels, volumes in millimetres: those of boundaries and shapes in slices z, as a stack of
    pictures (`PartitionPair.in_slices`), all others as a whole. Source of those that ship: Stutz, Hermans, Leibe:
    Superpixels: an evaluation of the state of the art, CVIU 2018, and its program.
    """

    @abstractmethod
    def compare(self, pair: PartitionPair) -> float | None:
        """The value of a partition; None if it is undefined."""

    def measure(self, pair: MaskPair) -> float | None:
        """Refuses: a mask is no partition."""
        raise IntraBenchError(f"{self.name} measures superpixels; measure it with intrabench superpixels run")


def partition_metric(
    name: str, title: str, unit: str = "", *, best: Best = "high", most: float = math.inf, version: str = "1"
) -> Callable[[Callable[..., float | None]], type[PartitionMetric]]:
    """Make a metric of a function of a `PartitionPair` with values from 0 to `most`; see `Metric` and `of_function`."""
    about: dict[str, Any] = {"name": name, "title": title, "unit": unit, "best": best, "bounds": (0.0, most)}
    about["version"] = version
    about["worst"] = 0.0 if best == "high" else most
    return lambda function: of_function(PartitionMetric, "compare", function, **about)
