"""The base of metrics of superpixels: one number for a partition of an image and an annotation."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from intrabench.errors import IntraBenchError
from intrabench.metrics.base import Metric
from intrabench.metrics.mask_pair import MaskPair

if TYPE_CHECKING:
    from intrabench.superpixels.partitions.pair import PartitionPair


@dataclass(frozen=True)
class PartitionMetric(Metric):
    """Base of the metrics of superpixels; a subclass writes `compare`.

    Pictures are measured in pixels, volumes with neighbours in three dimensions and in millimetres. Source of those
    that ship: Stutz, Hermans, Leibe: Superpixels: an evaluation of the state of the art, CVIU 2018, and its program.
    """

    @abstractmethod
    def compare(self, pair: PartitionPair) -> float | None:
        """The value of a partition; None if it is undefined."""

    def measure(self, pair: MaskPair) -> float | None:
        """Refuses: a mask is no partition."""
        raise IntraBenchError(f"{self.name} measures superpixels; measure it with intrabench superpixels run")
