"""How many lesions were found, and how many parts of an answer are lesions, of all sizes or of some."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from annotated_types import Gt
from numpy.typing import NDArray

from intrabench.metrics.base import Metric
from intrabench.metrics.mask_pair import MaskPair
from intrabench.metrics.mean_distances import METRICS_RELOADED
from intrabench.metrics.parts.lesions import Rule, check_matching, matching_words
from intrabench.specs.specs import short_spec_of
from intrabench.specs.values import NotNegative, Share

Above = Annotated[float, Gt(0)]


@dataclass(frozen=True)
class _LesionRate(Metric):
    bounds = (0.0, 1.0)
    needs = frozenset({"spacing"})
    source = METRICS_RELOADED

    least_ml: NotNegative = 0.0
    below_ml: Above | None = None
    least_mm: NotNegative = 0.0
    below_mm: Above | None = None
    iou: Share = 0.0
    matching: Rule = "any"
    connectivity: int = 26

    def __post_init__(self) -> None:
        check_matching(self.connectivity, self.iou)
        if self._in_ml and self._in_mm:
            raise ValueError("sizes are given in ml and in mm; give one of them")
        least, below, unit = self._bin
        if below is not None and below <= least:
            raise ValueError(f"below_{unit}={below:g} is not above least_{unit}={least:g}, so no size is in between")

    @property
    def _in_ml(self) -> bool:
        return self.least_ml > 0 or self.below_ml is not None

    @property
    def _in_mm(self) -> bool:
        return self.least_mm > 0 or self.below_mm is not None

    @property
    def _bin(self) -> tuple[float, float | None, str]:
        return (self.least_mm, self.below_mm, "mm") if self._in_mm else (self.least_ml, self.below_ml, "ml")

    @property
    def _size(self) -> str:
        """The bin in words, ``0.1 to 1 ml``; empty: all sizes."""
        least, below, unit = self._bin
        if not self._in_ml and not self._in_mm:
            return ""
        if below is None:
            return f"{least:g} {unit} or more"
        return f"{least:g} to {below:g} {unit}" if least else f"below {below:g} {unit}"

    @property
    def head(self) -> str:
        """What tables call it, ``Lesion recall, 0.1 to 1 ml``."""
        rest = short_spec_of(replace(self, least_ml=0.0, below_ml=None, least_mm=0.0, below_mm=None)).partition(":")[2]
        return ", ".join(filter(None, [self.title, self._size])) + (f" ({rest})" if rest else "")

    @property
    def description(self) -> str:
        """The first paragraph of the docstring, the size, and when a lesion and a part match."""
        size = f" Only sizes of {self._size}{' in diameter' * self._in_mm} count." if self._size else ""
        return f"{super().description}{size} {matching_words(self.matching, self.iou)}"

    def share(self, pair: MaskPair, sizes: NDArray[np.int64], good: NDArray[np.bool_]) -> float | None:
        """The share of the good ones of those whose size is in the bin; None if there are none."""
        least, below, unit = self._bin
        measured = np.array([diameter_mm(pair.ml(one)) if unit == "mm" else pair.ml(one) for one in sizes])
        chosen = good[(measured >= least) & (measured < (math.inf if below is None else below))]
        return float(chosen.mean()) if len(chosen) else None


@dataclass(frozen=True)
class LesionRecall(_LesionRate):
    """Lesion recall: the share of the lesions that were found, each of them a connected component of the target.

    No answer: 0. No lesion of the size: no value. least_ml, below_ml: only lesions of at least this and below that
    volume. least_mm, below_mm: the same by the diameter of a ball of that volume. iou: a lesion is found by a part of
    the answer with at least this IoU; 0 is one common voxel. matching: any lets a part find several lesions; optimal
    takes pairs with the largest sum of IoU, each lesion and part once; the others take pairs by falling IoU, and each
    part once: one_to_one, many_to_one (a lesion takes all parts with the IoU), and merge (a lesion that has a part
    takes more, if they raise the IoU of all together). connectivity: voxels that share a face (6), an edge (18) or a
    corner (26) are of one component.
    """

    name = "lesion_recall"
    title = "Lesion recall"

    def measure(self, pair: MaskPair) -> float | None:
        """The share, 0 to 1; None without lesions of the size."""
        lesions = pair.lesions(self.connectivity)
        return self.share(pair, lesions.truth, lesions.matched(self.matching, self.iou).found)


@dataclass(frozen=True)
class LesionPrecision(_LesionRate):
    """Lesion precision: the share of the components of the answer that are a lesion of the target.

    No answer to lesions: 0, so that misses count. No part of the size, or both empty: no value. least_ml, below_ml,
    least_mm, below_mm, iou, matching, connectivity: as of `lesion_recall`, of parts of the answer.
    """

    name = "lesion_precision"
    title = "Lesion precision"

    def measure(self, pair: MaskPair) -> float | None:
        """The share, 0 to 1; None without parts of the size."""
        lesions = pair.lesions(self.connectivity)
        if len(lesions.truth) and not len(lesions.answer):
            return 0.0
        return self.share(pair, lesions.answer, lesions.matched(self.matching, self.iou).right)


def diameter_mm(ml: float) -> float:
    """The diameter of a ball of this volume."""
    return math.cbrt(6000 * ml / math.pi)
