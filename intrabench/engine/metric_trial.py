"""Metrics of the user's own are tried on boxes, so that a mistake in their code shows before anything is played."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from intrabench.engine.executors.timeout import interrupted_after
from intrabench.errors import IntraBenchError, in_words
from intrabench.identity.versions import ships
from intrabench.mask import Mask
from intrabench.metrics.base import Metric
from intrabench.metrics.partition_metric import PartitionMetric
from intrabench.metrics.score import Scores, score
from intrabench.target import Target
from intrabench.volume import Volume

SHAPE, SPACING_MM = (8, 24, 20), (3.0, 1.0, 1.0)
SECONDS = 60.0
"""How long a metric may take for all boxes; sessions have the limit of their worker."""
BOXES = "boxes that overlap, are equal, or are missed"


def try_out(metrics: Sequence[Metric]) -> list[str]:
    """A sentence for each metric of the user's own that has no value on any pair of boxes.

    Raises:
        IntraBenchError: one fails on all of them, or takes too long. One that fails on some may need what boxes are
            not.
    """
    said = []
    for metric in metrics:
        if ships(metric) or isinstance(metric, PartitionMetric):
            continue
        try:
            with warnings.catch_warnings(), interrupted_after(SECONDS):
                warnings.simplefilter("ignore")  # of numpy, where the answer is empty
                tried = list(_scores(metric))
            reasons = [reason for scores in tried for reason in scores.problems.values()]
        except TimeoutError as error:
            tried, reasons = [], [in_words(error)]
        if len(reasons) >= len(tried):
            raise IntraBenchError(
                f"metric {metric.column} fails on {BOXES}: {reasons[0]}"
                f"{'' if ' in line ' in reasons[0] else _place(metric)}; correct it, or omit it"
            )
        if not reasons and all(scores.columns[metric.column] is None for scores in tried):
            said.append(f"metric {metric.column} has no value on {BOXES}")
    return said


def _scores(metric: Metric) -> Iterator[Scores]:
    """The scores of an answer that overlaps the target, of one that is it, and of an empty one."""
    truth = _box((2, 4, 5), (6, 14, 15))
    target = Target("boxes", "box", 1, truth, SHAPE, SPACING_MM)
    image = Volume.from_canonical(np.arange(np.prod(SHAPE), dtype=np.float32).reshape(SHAPE), SPACING_MM)
    for answer in (_box((3, 6, 7), (7, 18, 17)), truth, Mask.empty()):
        yield score(target, answer, [metric], image, before=_box((3, 5, 6), (5, 12, 12)), prompted=(3, 5))


def _box(start: tuple[int, int, int], end: tuple[int, int, int]) -> Mask:
    return Mask(start, np.ones(np.subtract(end, start), bool))


def _place(metric: Metric) -> str:
    """Where its `measure` is, as `in_words` says it."""
    with suppress(OSError, TypeError):  # of a class that was typed in
        _, line = inspect.getsourcelines(type(metric).measure)
        return f", in line {line} of {Path(inspect.getfile(type(metric))).name}"
    return ""
