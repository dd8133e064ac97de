"""All metrics of one round."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Real

from intrabench.errors import foreign, in_words
from intrabench.mask import Mask
from intrabench.metrics.base import Metric
from intrabench.metrics.mask_pair import MaskPair
from intrabench.target import Target
from intrabench.volume import Volume


@dataclass
class Scores:
    """The columns of a row, None where a metric has no value; and what went wrong, by the column of the metric."""

    dice: float
    columns: dict[str, float | int | None]
    problems: dict[str, str] = field(default_factory=dict)


def score(target: Target, answer: Mask, metrics: Sequence[Metric], image: Volume | None = None) -> Scores:
    """Voxel counts, Dice and IoU, which every row has, and the columns of `metrics`, without the ignored voxels.

    A metric that fails has no value, and the others keep theirs.
    """
    needed = any("image" in metric.needs for metric in metrics)
    pair = MaskPair(target, answer, image if needed else None)
    counts = pair.overlap
    voxels = {
        "fp_voxels": counts.false_positives,
        "fn_voxels": counts.false_negatives,
        "pred_voxels": counts.answer,
    }
    found = Scores(counts.dice, {**voxels, "dice": counts.dice, "iou": counts.iou})
    for metric in metrics:
        try:
            with foreign():
                found.columns[metric.column] = _checked(metric.measure(pair))
        except Exception as error:  # the metric's own code may raise anything
            found.columns[metric.column] = None
            found.problems[metric.column] = in_words(error)
    return found


def _checked(value: object) -> float | None:
    """A value in the type of the rows."""
    if value is None:
        return None
    if not isinstance(value, Real):
        raise TypeError(f"measure returned {type(value).__name__}, expected a number, or None if there is no value")
    number = float(value)
    if math.isnan(number):
        raise ValueError("measure returned NaN; return None if there is no value")
    return number
