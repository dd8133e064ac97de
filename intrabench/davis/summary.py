"""The summary of DAVIS Interactive: quality against the time that the user waited.

As davisinteractive 1.0.4: one point of the curve for each interaction k, at the time T_k that a sample takes on average
up to there and the mean quality M_k of all objects; from (0, 0) on, and with the last quality until the longest time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl

METRICS = {"J": "jaccard", "F": "contour", "J_AND_F": "j_and_f"}
"""The columns of reports by the names of metrics."""
THRESHOLD_S = 60.0

Quality = Literal["J", "F", "J_AND_F"]


@dataclass(frozen=True)
class Curve:
    """Quality at each time; step: between two points it is that of the one before, else on the line between them.

    The line credits a method with quality before it has answered at all.
    """

    time_s: tuple[float, ...]
    quality: tuple[float, ...]

    @property
    def auc(self) -> float:
        """The mean quality over the time, on lines."""
        time, quality = np.array(self.time_s), np.array(self.quality)
        area = ((quality[1:] + quality[:-1]) / 2 * np.diff(time)).sum()
        return float(area / time.max()) if time.max() > 0 else 0.0

    @property
    def auc_step(self) -> float:
        """The same in steps."""
        time, quality = np.array(self.time_s), np.array(self.quality)
        return float((quality[:-1] * np.diff(time)).sum() / time.max()) if time.max() > 0 else 0.0

    def at(self, seconds: float, step: bool = False) -> float:
        """The quality after some seconds."""
        if step:
            return self.quality[int(np.searchsorted(self.time_s, seconds, side="right")) - 1]
        return float(np.interp(seconds, self.time_s, self.quality))


def curve(
    report: pl.DataFrame,
    samples: Mapping[tuple[str, int], int],
    interactions: int,
    max_time: float | None,
    metric: Quality = "J_AND_F",
    failed_time: float | None = None,
) -> Curve:
    """The curve of a report with one row per sequence, scribble_idx, interaction, object_id and frame.

    samples: the number of objects of each ``(sequence, scribble_idx)``. max_time: per object. Interactions that a
    sample lacks have the quality of its last one, 0 if there is none. failed_time: what each of them takes; None:
    nothing, as published, so that failing is fast.
    """
    column = METRICS[metric]
    keys = ["interaction", "sequence", "scribble_idx", "object_id"]
    mean = report.group_by(keys).agg(pl.col(column).mean(), pl.col("timing").mean())
    found = {tuple(row[:4]): row[4:] for row in mean.select(*keys, column, "timing").iter_rows()}
    qualities, times = np.zeros((interactions, sum(samples.values()))), np.zeros((interactions, len(samples)))
    row = 0
    for place, ((sequence, scribble), objects) in enumerate(samples.items()):
        for one in range(1, objects + 1):
            last = 0.0
            for number in range(1, interactions + 1):
                quality, seconds = found.get((number, sequence, scribble, one), (last, failed_time or 0.0))
                qualities[number - 1, row], times[number - 1, place], last = quality, seconds, quality
            row += 1
    reached = np.cumsum(times.mean(axis=1)) if samples else np.zeros(interactions)
    quality_of = qualities.mean(axis=1) if row else np.zeros(interactions)
    longest = _longest(report, samples, interactions, max_time)
    final = float(quality_of[-1]) if interactions else 0.0
    return Curve((0.0, *reached.tolist(), longest), (0.0, *quality_of.tolist(), final))


def _longest(
    report: pl.DataFrame, samples: Mapping[tuple[str, int], int], interactions: int, max_time: float | None
) -> float:
    """The end of the time axis: that of an average sequence, or of the slowest answer in each interaction."""
    if max_time is None:
        slowest: Any = report["timing"].max() if len(report) else 0.0
        return interactions * float(slowest)
    objects = {sequence: count for (sequence, _), count in samples.items()}
    return max_time * sum(objects.values()) / max(len(objects), 1)


def summary(found: Curve, metric: Quality = "J_AND_F", threshold_s: float = THRESHOLD_S) -> dict[str, Any]:
    """The published summary of a curve."""
    return {
        "auc": found.auc,
        "metric_at_threshold": {"threshold": threshold_s, metric: found.at(threshold_s)},
        "curve": {"time": list(found.time_s), metric: list(found.quality)},
    }
