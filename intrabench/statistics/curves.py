"""Scores as functions of effort: against interactions, time or rounds. Everything here is computed from `steps`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.mask import Floats
from intrabench.metrics.base import merit
from intrabench.metrics.distance import Distance
from intrabench.statistics.aggregate import Aggregation, per_label
from intrabench.statistics.resample import AVERAGE, difference
from intrabench.statistics.scores import rises
from intrabench.statistics.steps import Steps

CLICKS = 20
"""Clicks of RClicks' sessions, one per round."""
GRID = 200
"""Number of points of a curve, unless they are given or fewer efforts occur."""


def curve(
    played: Steps,
    by: Sequence[str],
    how: Aggregation,
    against: str = "interactions",
    grid: Sequence[float] | None = None,
) -> pl.DataFrame:
    """The aggregated value of each line at each effort: `by`, `dataset` (and `AVERAGE`), `spent`, `value`.

    grid: ascending efforts. Default: all that occur, or `GRID` evenly spaced ones from 0 to the largest. Every line has
    all of them, with its last states carried forward. At the largest effort the value equals that of `aggregate`;
    against rounds, at every round.
    """
    effort = played.effort(against)
    points = np.unique(effort) if grid is None else np.asarray(grid, float)
    if grid is None and points.size > GRID:
        points = np.linspace(0, points[-1], GRID)
    lines, weights = _weights(played.sessions, by, how)
    # A curve is a cumulative sum: a step adds its rise, times the weight of its session, at the first point of the grid
    # that is not before it. So every row is read once, however many points there are.
    entered = pl.DataFrame({"_session": played.session}).with_row_index("_step").join(weights, on="_session")
    step, line, weight = (entered[name].to_numpy() for name in ("_step", "_line", "weight"))
    shape = lines.height, points.size + 1  # the last column is beyond the grid
    place = line * shape[1] + np.searchsorted(points, effort[step])

    def risen(after: Floats, before: Floats) -> Floats:
        """(lines, points) The sum of all increases up to each point."""
        rises = np.bincount(place, after - before, minlength=shape[0] * shape[1])
        return rises.reshape(shape).cumsum(axis=1)[:, :-1]

    after, before = played.value[step], played.before[step]
    first = played.first[step]
    start = [np.where(first, one, 0) for one in (np.where(np.isfinite(before), before, 0) * weight, np.isinf(before))]
    begun, unbegun = (np.bincount(line, one, minlength=lines.height)[:, None] for one in start)
    value = begun + risen(*(np.where(np.isfinite(one), one, 0) * weight for one in (after, before)))
    infinite = unbegun + risen(np.isinf(after) * 1.0, np.isinf(before) * 1.0)
    found = lines.join(pl.DataFrame({"spent": points}), how="cross", maintain_order="left_right")
    found = found.with_columns(pl.Series("value", np.where(infinite > 0, np.inf, value).ravel()))
    complete = pl.len() == played.sessions["dataset"].n_unique()
    average = found.group_by(*by, "spent").agg(pl.col("value").mean(), complete.alias("complete"))
    average = average.filter("complete").with_columns(dataset=pl.lit(AVERAGE)).select(found.columns)
    return pl.concat([found, average]).sort(*by, pl.col("dataset") == AVERAGE, "dataset", "spent")


def reached(
    played: Steps, by: Sequence[str], thresholds: Sequence[float] = (0.7, 0.8, 0.9), against: str = "interactions"
) -> pl.DataFrame:
    """`by`, `dataset`, `threshold`: how many sessions `reached` it, at which `median` effort, and how many `never`."""
    check_bounded(played)
    needed = pl.concat(
        played.scored(played.reach(against, threshold)).with_columns(threshold=pl.lit(threshold, pl.Float64))
        for threshold in thresholds
    )
    there = pl.col("value").is_finite()
    return (
        needed.drop_nulls("value")
        .group_by(*by, "dataset", "threshold")
        .agg(
            there.sum().alias("reached"),
            pl.col("value").filter(there).median().alias("median"),
            (~there).sum().alias("never"),
        )
        .sort(*by, "dataset", "threshold")
    )


def regressions(played: Steps, by: Sequence[str], margin: float = 0.01) -> pl.DataFrame:
    """`by`, `dataset`: how many `corrections` there were, which share made the score `worse`, and the `worst_drop`.

    margin: tolerated decrease (or increase, if less is better). A failed correction has the worst value.
    """
    corrections = played.sessions.select(*by, "dataset")[played.session].with_columns(pl.Series("drop", drops(played)))
    return (
        corrections.filter(~played.first)
        .group_by(*by, "dataset")
        .agg(
            pl.len().alias("corrections"),
            (pl.col("drop") > margin).mean().alias("worse"),
            pl.col("drop").max().alias("worst_drop"),
        )
        .sort(*by, "dataset")
    )


def trapezoids(played: Steps, first: int, last: int) -> Floats:
    """(sessions) The area under the scores of the rounds from `first` to `last`, one wide each."""
    check_finite(played)
    values = [played.at("round", number) for number in range(first, last + 1)]
    area: Floats = np.sum(values, axis=0) - (values[0] + values[-1]) / 2
    return area


def drops(played: Steps) -> Floats:
    """(steps) The amount by which each step made the score worse, or 0."""
    gain = difference(*(merit(value, played.metric.best) for value in (played.value, played.before)))
    return np.maximum(np.round(-gain, 12), 0)  # rounded, so that 0.81 to 0.80 counts as 0.01


def check_bounded(played: Steps) -> None:
    """Refuse metrics of which there is no threshold, because they do not rise from 0."""
    if not rises(played.metric):
        name = played.metric.column
        raise IntraBenchError(f"{name} does not rise from 0, so nothing is reached; take one from 0 to 1, such as dice")


def check_finite(played: Steps) -> None:
    """Refuse metrics of which there is no area: an answer that is missing counts as infinite, or values are signed."""
    metric = played.metric
    if metric.best == "zero":
        raise IntraBenchError(f"{metric.column} is signed, so there is no area under it; take another, such as dice")
    if math.isinf(metric.worst) and not metric.worst_column:
        bound = f"{metric.name}:miss=diagonal" if isinstance(metric, Distance) else "one that is finite, such as dice"
        raise IntraBenchError(
            f"{metric.column} is infinite for an answer that is missing, so there is no area under it; take {bound}"
        )


def _weights(sessions: pl.DataFrame, by: Sequence[str], how: Aggregation) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Lines (`by` and data set), and the `weight` of each `_session` (row) in the mean of its `_line` (row).

    A mean of means is a weighted sum: a session's weight is the product of 1 / size of all its means.
    """
    columns = dict.fromkeys([*by, "dataset", "label", "case", "target"])
    counted = sessions.select(*columns, "value").with_columns(_session=pl.int_range(pl.len())).drop_nulls("value")
    entered = per_label(counted).with_columns(weight=1.0)
    finer = entered
    for step in how.steps:
        keys = list(dict.fromkeys([*by, *step]))
        finer = finer.group_by(keys).agg(pl.len().alias("_size"))
        entered = entered.join(finer, on=keys, nulls_equal=True)
        entered = entered.with_columns(pl.col("weight") / pl.col("_size")).drop("_size")
    keys = [*by, "dataset"]
    lines = entered.select(keys).unique().sort(keys).with_columns(_line=pl.int_range(pl.len()))
    entered = entered.join(lines, on=keys, nulls_equal=True)
    return lines.drop("_line"), entered.group_by("_session", "_line").agg(pl.col("weight").sum())
