"""All metrics of one round: what a session needs at once, and what only its row needs, which may be measured later."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Real

from intrabench.errors import foreign, in_words
from intrabench.identity.versions import ships
from intrabench.mask import Mask
from intrabench.metrics.base import SLACK, Metric
from intrabench.metrics.mask_pair import MaskPair
from intrabench.metrics.other_targets import FITS_BETTER, OtherTargets
from intrabench.target import Target
from intrabench.volume import Volume


@dataclass
class Scores:
    """The columns of a row, None where a metric has no value; and what went wrong, by the column of the metric."""

    dice: float
    columns: dict[str, float | int | str | None]
    problems: dict[str, str] = field(default_factory=dict)

    @property
    def message(self) -> str:
        """What went wrong, in one text; empty: nothing."""
        return "; ".join(f"metric {column}: {reason}" for column, reason in self.problems.items())


def without_problems(error: str, columns: Sequence[str]) -> str:
    """The `error` of a row without what went wrong with the metrics of these columns, as `Scores.message` tells it."""
    theirs = tuple(f"metric {column}: " for column in columns)
    return "; ".join(one for one in re.split(r"; (?=metric \S+: )", error) if not one.startswith(theirs))


def score(
    target: Target,
    answer: Mask,
    metrics: Sequence[Metric],
    image: Volume | None = None,
    before: Mask | None = None,
    prompted: Sequence[int] = (),
) -> Scores:
    """Voxel counts, Dice and IoU, which every row has, and the columns of `metrics`, without the ignored voxels.

    before: the answer of the round before. prompted: as of `MaskPair`. A metric that fails has no value, and the others
    keep theirs.
    """
    scoring = Scoring(target, answer, metrics, image, before, prompted)
    scoring.measure()
    return scoring.scores()


class Scoring:
    """The scores of an answer that nobody changes any more, as `score` gives them.

    Voxel counts, Dice and IoU are known at once, and so are metrics of the user's own, whose code need not bear
    threads. Left for `measure`, in any thread, are the other metrics that ship: these only read; and which of the
    `others` the answer fits better.
    """

    def __init__(
        self,
        target: Target,
        answer: Mask,
        metrics: Sequence[Metric],
        image: Volume | None = None,
        before: Mask | None = None,
        prompted: Sequence[int] = (),
        others: OtherTargets | None = None,
    ) -> None:
        needed = {need for metric in metrics for need in metric.needs}
        seen, old = (image if "image" in needed else None), (before if "before" in needed else None)
        pair = MaskPair(target, answer, seen, old, tuple(prompted))
        counts = pair.overlap
        self.dice = counts.dice
        self._values: dict[str, float | int | str | None] = {
            "fp_voxels": counts.false_positives,
            "fn_voxels": counts.false_negatives,
            "pred_voxels": counts.answer,
            "dice": counts.dice,
            "iou": counts.iou,
        }
        self._failures: dict[str, Exception | str] = {}
        missing = [metric for metric in metrics if metric.column not in self._values]
        self._others = others
        self.columns = (*self._values, *([] if others is None else [FITS_BETTER]), *(one.column for one in missing))
        self._left = [metric for metric in missing if ships(metric)]
        for metric in missing:
            if not ships(metric):
                self._measure_foreign(metric, pair)
        self._pair = pair if self._left or others is not None else None

    @property
    def voxels(self) -> int:
        """The size of the joint box of both masks, on which the time of `measure` depends; 0: nothing is left."""
        if self._pair is None:
            return 0
        z0, y0, x0, z1, y1, x1 = self._pair.box
        return (z1 - z0) * (y1 - y0) * (x1 - x0)

    def measure(self) -> None:
        """Measure what is left, and forget the masks."""
        if self._pair is None:
            return
        for metric in self._left:
            try:
                self._values[metric.column] = checked_value(metric, metric.measure(self._pair))
            except Exception as error:  # out of memory, which its frames would keep
                self._failures[metric.column] = error.with_traceback(None)
        if self._others is not None:
            try:
                self._values[FITS_BETTER] = self._others.fitting_better(self._pair)
            except Exception as error:  # the store may be damaged
                self._failures[FITS_BETTER] = error.with_traceback(None)
        self._pair = None

    def scores(self) -> Scores:
        """The scores, after `measure`."""
        failed = {column: self._failures[column] for column in self.columns if column in self._failures}
        problems = {column: why if isinstance(why, str) else in_words(why) for column, why in failed.items()}
        return Scores(self.dice, {column: self._values.get(column) for column in self.columns}, problems)

    def _measure_foreign(self, metric: Metric, pair: MaskPair) -> None:
        try:
            with foreign():
                self._values[metric.column] = checked_value(metric, metric.measure(pair))
        except Exception as error:  # the metric's own code may raise anything
            self._failures[metric.column] = in_words(error)


def checked_value(metric: Metric, value: object) -> float | None:
    """A value of a metric in the type of the rows.

    Raises:
        TypeError, ValueError: it is no number, or none that the metric can have.
    """
    if value is None:
        return None
    if not isinstance(value, Real):
        raise TypeError(f"measure returned {type(value).__name__}, expected a number, or None if there is no value")
    number = float(value)
    if math.isnan(number):
        raise ValueError("measure returned NaN; return None if there is no value")
    low, high = metric.bounds
    if not low - SLACK <= number <= high + SLACK:
        raise ValueError(f"measure returned {number:g}, outside of its bounds {low:g} to {high:g}; correct one of them")
    return number
