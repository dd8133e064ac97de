"""Lesions of a target and parts of an answer, both connected components, and which of them belong together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Mask, intersection
from intrabench.metrics.parts.components import Components
from intrabench.metrics.parts.regions import regions_of
from intrabench.metrics.parts.transform import Spacing

CONNECTIVITIES = (6, 18, 26)
"""Voxels that share a face, an edge or a corner."""

Rule = Literal["any", "one_to_one", "optimal", "many_to_one", "merge"]
"""Which lesions and parts belong together, of those that overlap.

any: all pairs with the IoU; a lesion may have several parts, and a part several lesions. optimal: a lesion has one part
and a part one lesion, so that the sum of IoU is the largest there can be. The others take the pairs by falling IoU, and
each part once. one_to_one: a lesion has one part. many_to_one: a lesion has all parts with the IoU. merge: a lesion
that has one gets further parts, whatever their own IoU, that raise the IoU of all together.
"""

AUTOPET = "autoPET V, metrics.py of lab-midas/autoPETV, 2026"
"""The definition of `dmm`, `fpv` and `fnv`."""

MORE = 1e-6
"""By so much IoU a pair more counts in the optimal rule, as in panoptica."""

_WORDS: Mapping[Rule, str] = {
    "any": "one part may match several lesions",
    "one_to_one": "each lesion and each part match once",
    "optimal": "each lesion and each part match once, so that the sum of IoU is the largest",
    "many_to_one": "several parts may match one lesion",
    "merge": "more parts are added if they raise the IoU of all together",
}


def matching_words(rule: Rule, iou: float) -> str:
    """When a lesion and a part match, in a sentence."""
    return f"A match has {f'an IoU of at least {iou:g}' if iou else 'a common voxel'}; {_WORDS[rule]}."


def check_matching(connectivity: int, iou: float = 0.0) -> None:
    """Refuse parameters that mean nothing."""
    if connectivity not in CONNECTIVITIES:
        raise ValueError(f"connectivity={connectivity} is unknown; give 6, 18 or 26")
    if not 0 <= iou <= 1:
        raise ValueError(f"iou={iou:g} is no overlap; give 0 to 1")


@dataclass(frozen=True, eq=False)
class Matching:
    """The lesions and parts that belong together by a rule.

    right: (m,) whether a part has a lesion. parts: (n,) how many parts a lesion has. iou: (n,) overlap of a lesion with
    all its parts together; 0: it has none.
    """

    right: NDArray[np.bool_]
    parts: NDArray[np.int64]
    iou: NDArray[np.float64]

    @property
    def found(self) -> NDArray[np.bool_]:
        """(n,) whether a lesion has a part."""
        return self.parts > 0

    @property
    def dice(self) -> NDArray[np.float64]:
        """(n,) the same overlap as Dice."""
        return 2 * self.iou / (1 + self.iou)

    @property
    def f1(self) -> float | None:
        """2 TP / (2 TP + FP + FN); None without lesions and parts. TP are the lesions that were found."""
        found, wrong = int(self.found.sum()), int((~self.right).sum())
        total = found + len(self.found) + wrong
        return 2 * found / total if total else None

    @property
    def panoptic_quality(self) -> float | None:
        """The IoU of the lesions that were found, summed, over TP + FP / 2 + FN / 2; None without lesions and parts."""
        f1, found = self.f1, self.found.sum()
        return float(self.iou.sum() / found) * f1 if f1 and found else f1


@dataclass(frozen=True, eq=False)
class Lesions:
    """n lesions and m parts of an answer; rows ``lesion, part, common voxels`` of those that touch.

    Lesions and parts are numbered from 0.
    """

    of_truth: Components
    of_answer: Components
    touching: NDArray[np.int64]

    @classmethod
    def of(cls, truth: Mask, answer: Mask, connectivity: int) -> Lesions:
        """Find the components of both, each in its own box, and compare them."""
        return cls.between(*(Components.of(mask, connectivity) for mask in (truth, answer)))

    @classmethod
    def between(cls, lesions: Components, parts: Components) -> Lesions:
        """Compare components, in the common box."""
        common = intersection(lesions.box, parts.box)
        if common is None:
            return cls(lesions, parts, np.zeros((0, 3), np.int64))
        return cls(lesions, parts, _touching(lesions.within(common), parts.within(common)))

    @classmethod
    def labelled(cls, truth: NDArray[Any], answer: NDArray[Any]) -> Lesions:
        """Those of two label maps of one shape, in which 0 is background and numbers have no gaps."""
        return cls(Components(truth), Components(answer), _touching(truth, answer))

    @property
    def truth(self) -> NDArray[np.int64]:
        """(n,) voxels of each lesion."""
        return self.of_truth.sizes

    @property
    def answer(self) -> NDArray[np.int64]:
        """(m,) voxels of each part."""
        return self.of_answer.sizes

    @cached_property
    def iou(self) -> NDArray[np.float64]:
        """The IoU of each pair in `touching`."""
        lesion, part, common = self.touching.T
        return common / (self.truth[lesion] + self.answer[part] - common)

    def matched(self, rule: Rule = "any", iou: float = 0.0) -> Matching:
        """Those that belong together by a rule, where they overlap with at least this IoU; computed once."""
        if (rule, iou) not in self._matched:
            self._matched[rule, iou] = self._matching(self._pairs(rule, iou))
        return self._matched[rule, iou]

    @cached_property
    def _matched(self) -> dict[tuple[Rule, float], Matching]:
        return {}

    def _pairs(self, rule: Rule, iou: float) -> NDArray[np.bool_]:
        """Which rows of `touching` belong together; of pairs with the same IoU the earlier part comes first."""
        enough = self.iou >= iou
        if rule == "any":
            return enough
        if rule == "optimal":
            return self._optimal(enough)
        kept, used = np.zeros(len(enough), bool), np.zeros(len(self.answer), bool)
        best, common, both = np.zeros(len(self.truth)), np.zeros(len(self.truth)), self.truth.astype(float)
        lesions, parts, shared = self.touching.T
        for pair in np.lexsort((lesions, parts, -self.iou)):
            lesion, part = lesions[pair], parts[pair]
            more, total = common[lesion] + shared[pair], both[lesion] + self.answer[part] - shared[pair]
            keep = enough[pair]
            if best[lesion]:
                keep = more / total > best[lesion] if rule == "merge" else keep and rule == "many_to_one"
            if keep and not used[part]:
                kept[pair] = used[part] = True
                common[lesion], both[lesion], best[lesion] = more, total, more / total
        return kept

    def _optimal(self, enough: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Those of the rows that are `enough` with the largest sum of IoU; of equal sums the one of more pairs."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import min_weight_full_bipartite_matching

        lesions, rows = np.unique(self.touching[enough, 0], return_inverse=True)
        alone = np.arange(len(lesions))  # a lesion without a part has a column of its own
        columns = np.append(self.touching[enough, 1], len(self.answer) + alone)
        gain = np.append(1 + MORE + self.iou[enough], np.ones(len(lesions)))
        shape = len(lesions), len(self.answer) + len(lesions)
        graph = coo_array((gain, (np.append(rows, alone), columns)), shape)
        _, chosen = min_weight_full_bipartite_matching(graph.tocsr(), maximize=True)
        kept = np.zeros(len(enough), bool)
        kept[enough] = chosen[rows] == self.touching[enough, 1]
        return kept

    def _matching(self, kept: NDArray[np.bool_]) -> Matching:
        lesion, part, shared = self.touching[kept].T
        parts = np.bincount(lesion, minlength=len(self.truth))
        common, sizes = (
            np.bincount(lesion, weights=one, minlength=len(self.truth)) for one in (shared, self.answer[part])
        )
        right = np.bincount(part, minlength=len(self.answer)) > 0
        return Matching(right, parts, common / (self.truth + sizes - common))

    def region_dice(self, spacing_mm: Spacing) -> NDArray[np.float64]:
        """(n,) the Dice of each lesion with that of the answer which is nearest to it, whose region it is in.

        A voxel that is equally near to several lesions is in the region of the first in z, y, x order.
        """
        if not len(self.truth):
            return np.zeros(0)
        common = np.bincount(self.touching[:, 0], weights=self.touching[:, 2], minlength=len(self.truth))
        inside = np.zeros(len(self.truth) + 1, np.int64)
        for plane in self._regions(spacing_mm):  # of all at once numpy would make whole numbers of 8 bytes
            inside += np.bincount(plane.ravel(), minlength=len(inside))
        return 2 * common / (self.truth + inside[1:])

    def in_regions(self, spacing_mm: Spacing) -> Iterator[tuple[Mask, Mask]]:
        """Of each of n > 0 lesions its mask, and that of the answer in its region."""
        from scipy.ndimage import find_objects

        every = ((self.of_truth.labels, self.of_truth.start), (self._regions(spacing_mm), self.of_answer.start))
        places = [find_objects(labels.astype(np.int32), len(self.truth)) for labels, _ in every]
        for number, boxes in enumerate(zip(*places, strict=True), start=1):
            truth, answer = (
                Mask.empty()
                if box is None
                else Mask.of(labels[box] == number, [a + b.start for a, b in zip(start, box, strict=True)])
                for (labels, start), box in zip(every, boxes, strict=True)
            )
            yield truth, answer

    def _regions(self, spacing_mm: Spacing) -> NDArray[Any]:
        if spacing_mm not in self._found_regions:
            self._found_regions[spacing_mm] = regions_of(self.of_truth, self.of_answer, spacing_mm)
        return self._found_regions[spacing_mm]

    @cached_property
    def _found_regions(self) -> dict[Spacing, NDArray[Any]]:
        return {}


def _touching(lesions: NDArray[Any], parts: NDArray[Any]) -> NDArray[np.int64]:
    inside = lesions > 0
    lesion, part = lesions[inside].astype(np.int64) - 1, parts[inside].astype(np.int64) - 1
    lesion, part = lesion[part >= 0], part[part >= 0]
    width = int(part.max(initial=0)) + 1
    pairs, common = np.unique(lesion * width + part, return_counts=True)
    return np.column_stack([pairs // width, pairs % width, common])
