"""Superpixels beyond means: how images differ, whether more superpixels are better, how metrics and methods compare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.metrics import lookup
from intrabench.metrics.base import Metric, merit
from intrabench.registry import registry
from intrabench.statistics.correlations import pearson
from intrabench.statistics.resample import AVERAGE, intervals
from intrabench.statistics.superpixels import HOW, SuperpixelScores, as_scores

SPREAD = ("rec", "ue_np", "ev")
"""The metrics of which the paper shows the worst image and the standard deviation."""
TRADED = (*SPREAD, "co", "cpu_s")
"""What a parameter trades: fit, compactness, time."""
_CURVE = ("dataset", "method")


def spread(found: SuperpixelScores, metrics: Sequence[str] = SPREAD) -> pl.DataFrame:
    """A line per data set, method and number: mean, min, max and standard deviation over images of each metric.

    As `COLUMN`, `COLUMN_min`, `COLUMN_max` and `COLUMN_sd` (of all images, not of a sample); also of `sp`, the number
    of superpixels. Figures 9 and 10 of the paper show the min of Rec and EV, the max of UE and K, and the deviations.
    """
    columns = ["sp", *(column for column in metrics if column != "sp")]
    numbers = []
    for column in columns:
        one = pl.col(column)
        numbers += [one.mean(), one.min().name.suffix("_min"), one.max().name.suffix("_max")]
        numbers += [one.std(ddof=0).name.suffix("_sd")]
    return found.images.group_by(*_CURVE, "asked").agg(pl.len().alias("images"), *numbers).sort(*_CURVE, "asked")


def stability(found: SuperpixelScores, metrics: Sequence[str] = SPREAD) -> pl.DataFrame:
    """A line per data set, method and metric: whether more superpixels are better, as a stable method's are.

    Of the steps from one number of superpixels to the next, `steady` is the share in which the mean over images does
    not get worse, `setback` by how much it does at most; `steady_worst` and `setback_worst` are those of the worst
    image. Null of a single number.
    """
    lines = spread(found, metrics).sort("sp")
    rows = []
    for (dataset, method), curve in lines.group_by(*_CURVE, maintain_order=True):
        for column in metrics:
            metric = lookup.metric(column)
            ends = {"": column, "_worst": f"{column}_{'min' if metric.best == 'high' else 'max'}"}
            row: dict[str, Any] = {"dataset": dataset, "method": method, "metric": column, "numbers": curve.height}
            for suffix, name in ends.items():
                steps = np.diff(merit(curve[name].drop_nulls().to_numpy(), metric.best))
                row[f"steady{suffix}"] = float((steps >= 0).mean()) if steps.size else None
                row[f"setback{suffix}"] = float(max(0.0, -steps.min())) if steps.size else None
            rows.append(row)
    schema: dict[str, Any] = dict.fromkeys(("dataset", "method", "metric"), pl.String) | {"numbers": pl.Int64}
    schema |= dict.fromkeys(("steady", "setback", "steady_worst", "setback_worst"), pl.Float64)
    return pl.DataFrame(rows, schema, orient="row").sort(*_CURVE, maintain_order=True)


def correlations(found: SuperpixelScores, metrics: Sequence[str]) -> pl.DataFrame:
    """Pearson's correlation of every two metrics over the annotations of a data set, by method and number.

    As Table C.5 of the paper, whose program takes every annotation of an image. found: a line per annotation. A line
    per metric, `metric`, with a column per metric; null where one does not vary, or with fewer than 3 annotations.
    """
    parts = []
    for (dataset, method, asked), lines in found.images.group_by(*_CURVE, "asked", maintain_order=True):
        values = lines.select(pl.col(metrics).cast(pl.Float64)).drop_nulls()
        measured = [column.to_numpy() for column in values]
        columns = {
            name: pl.Series([pearson(one, other) for other in measured], dtype=pl.Float64)
            for name, one in zip(metrics, measured, strict=True)
        }
        about = {"dataset": dataset, "method": method, "asked": asked, "annotations": values.height}
        first = [pl.lit(value).alias(name) for name, value in about.items()]
        parts.append(pl.DataFrame({"metric": metrics, **columns}).select(*first, pl.all()))
    return pl.concat(parts)


def differences(found: SuperpixelScores, a: str, b: str, metrics: Sequence[str] = TRADED) -> pl.DataFrame:
    """By how much method B is better than A on the images of both, such as two implementations of one method.

    A line per data set and number that both were asked for: `K_a` and `K_b`, the mean numbers they made, and of each
    metric the mean over images, `COLUMN`, with its interval of 95 %, `COLUMN_low` to `COLUMN_high`. Positive is better,
    whatever the metric.

    Raises:
        IntraBenchError: they have no image and number in common.
    """
    keys = ["dataset", "case", "patient", "asked"]
    one, other = (found.images.filter(pl.col("method") == name) for name in (a, b))
    both = one.join(other, on=keys, suffix="_b").with_columns(failed=pl.col("failed").cast(int) + pl.col("failed_b"))
    if both.is_empty():
        raise IntraBenchError(f"{a} and {b} have no image and number of superpixels in common; run both alike")
    table = both.group_by("dataset", "asked").agg(
        pl.len().alias("images"), pl.col("sp").mean().alias("K_a"), pl.col("sp_b").mean().alias("K_b")
    )
    for column in metrics:
        best = lookup.metric(column).best
        apart = both.with_columns(
            (merit(pl.col(f"{column}_b"), best) - merit(pl.col(column), best)).alias("difference"),
            method=pl.col("asked").cast(pl.String),
        ).drop_nulls("difference")
        if apart.is_empty():
            table = table.with_columns(
                pl.lit(None, pl.Float64).alias(f"{column}{end}") for end in ("", "_low", "_high")
            )
            continue
        part = intervals(as_scores(apart, "difference"), ["method"], HOW).filter(pl.col("dataset") != AVERAGE)
        part = part.select("dataset", pl.col("method").cast(pl.Int64).alias("asked"), "value", "low", "high")
        part = part.rename({"value": column, "low": f"{column}_low", "high": f"{column}_high"})
        table = table.join(part, on=["dataset", "asked"], how="left")
    return table.sort("dataset", "asked")


def trade_offs(found: SuperpixelScores) -> pl.DataFrame:
    """How means change with one parameter of a method, as `sweep_figures` draws them.

    A row per value of the parameter, `strength`, with `kind`, the method, `parameter`, `name`, the method with its
    other parameters and the number asked for, `dataset`, `what`, a metric of `TRADED`, and its mean, `value`.
    """
    curves = found.curves.filter(~pl.col("method").str.contains("tuned="))  # whose parameters change with the number
    have = [lookup.metric(column) for column in TRADED if column in curves.columns]
    schema = {"method": pl.String, "kind": pl.String, "parameter": pl.String, "rest": pl.String, "strength": pl.Float64}
    points = pl.DataFrame(list(_points(curves["method"].unique().sort().to_list())), schema, orient="row")
    if points.is_empty() or not have:
        return pl.DataFrame(schema={**schema, "name": pl.String, "dataset": pl.String, "value": pl.Float64})
    values = _by_heading(curves, have).join(points, on="method")
    values = values.with_columns(name=pl.format("{}, {}", "rest", "asked"))
    alike = ["kind", "parameter", "dataset", "what", "name"]
    values = values.filter(pl.col("strength").n_unique().over(alike) > 1)
    headings = pl.Enum([metric.head for metric in have])
    return values.sort("kind", "parameter", "dataset", pl.col("what").cast(headings), "asked", "name", "strength")


def _by_heading(curves: pl.DataFrame, metrics: Sequence[Metric]) -> pl.DataFrame:
    values = curves.select("dataset", "method", "asked", *(pl.col(one.column).alias(one.head) for one in metrics))
    long = values.unpivot(index=["dataset", "method", "asked"], variable_name="what")
    return long.filter(pl.col("value").is_not_null())


def _points(methods: Sequence[str]) -> Iterator[tuple[str, str, str, str, float]]:
    """Of each numeric parameter of each method: method, its name, parameter, the spec without it, and its value."""
    for method in methods:
        spec, space, other = method.partition(" (")
        with suppress(IntraBenchError):  # a class of a workspace that is not here
            made: Any = registry.make("superpixels", spec)
            name, _, parameters = made.short_spec.partition(":")
            parts = [part for part in parameters.split(",") if part]
            for parameter, value in vars(made).items():
                if isinstance(value, (int, float)) and not isinstance(value, bool):
                    rest = ",".join(part for part in parts if not part.startswith(f"{parameter}="))
                    yield method, name, parameter, f"{name}{':' if rest else ''}{rest}{space}{other}", float(value)
