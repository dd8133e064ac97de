"""Evaluate how well a clickability model fits the clicks of many people on many instances."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, fields

import polars as pl

from intrabench.clickability.base import Clickability
from intrabench.clickability.click_metrics import BOOTSTRAPS, ClickMetrics, click_metrics
from intrabench.clickability.clicked_images import ClickedImage
from intrabench.clickability.clicks_csv import RealClicks
from intrabench.errors import IntraBenchError, foreign, in_words
from intrabench.randomness import stream
from intrabench.statistics.aggregate import aggregation
from intrabench.statistics.resample import AVERAGE, intervals

METRICS = tuple(field.name for field in fields(ClickMetrics))
ALL = "all"
"""The click type of means over all types, which RClicks publishes."""

SCHEMA = {
    "dataset": pl.String,
    "full_stem": pl.String,
    "image_stem": pl.String,
    "click_type": pl.String,
    "clicks": pl.Int64,
    **dict.fromkeys(METRICS, pl.Float64),
}


def evaluate(
    entries: Iterable[RealClicks],
    image_of: Callable[[RealClicks], ClickedImage],
    clickability: Clickability,
    seed: int = 0,
    bootstraps: int = BOOTSTRAPS,
) -> pl.DataFrame:
    """`SCHEMA`: a row per entry, with the number of its clicks and its `click_metrics`.

    The draws depend only on the seed and the entry.

    Raises:
        IntraBenchError: there are no entries, a picture does not fit its clicks, or a map is invalid.
    """
    rows = [_row(entry, image_of(entry), clickability, seed, bootstraps) for entry in entries]
    if not rows:
        raise IntraBenchError("there are no clicks to compare with; choose a data set in the file of clicks")
    return pl.DataFrame(rows, schema=SCHEMA)


def means(evaluated: pl.DataFrame) -> pl.DataFrame:
    """Means of `evaluate`: ``dataset``, ``click_type``, ``metric``, its mean `value` over `stems`, and `low` to `high`.

    The interval is the 95 % bootstrap interval (`intervals`) over pictures, each with all its stems. The click type
    `ALL` is the mean over all stems; with several data sets, the data set `AVERAGE` is the mean over data sets.
    """
    keys = ["dataset", "full_stem", "image_stem", "click_type"]
    each = evaluated.unpivot(METRICS, index=keys, variable_name="metric")
    each = pl.concat([each, each.with_columns(click_type=pl.lit(ALL))])
    one = {"patient": pl.col("image_stem"), "case": pl.col("full_stem"), "target": pl.col("full_stem")}
    scored = each.with_columns(**one, label=pl.lit("click"), failed=pl.lit(False), not_applicable=pl.lit(False))
    found = intervals(scored, ["click_type", "metric"], aggregation("pooled"))
    if evaluated["dataset"].n_unique() == 1:
        found = found.filter(pl.col("dataset") != AVERAGE)
    return found.select("dataset", "click_type", "metric", "value", "low", "high", pl.col("cases").alias("stems"))


def wide(table: pl.DataFrame) -> pl.DataFrame:
    """`means` of several models (column ``model``) with a column of texts per metric: ``0.230 [0.218, 0.241]``."""
    digits = {"pde": 6}
    cell = pl.struct("metric", "value", "low", "high").map_elements(
        lambda one: _cell(one["value"], one["low"], one["high"], digits.get(one["metric"], 3)), pl.String
    )
    keys = ["dataset", "click_type", "model", "stems"]
    return table.with_columns(cell=cell).pivot("metric", index=keys, values="cell").select(*keys, *METRICS)


def _cell(value: float, low: float | None, high: float | None, digits: int) -> str:
    within = "" if low is None or high is None else f" [{low:.{digits}f}, {high:.{digits}f}]"
    return f"{value:.{digits}f}{within}"


def _row(
    entry: RealClicks, clicked: ClickedImage, clickability: Clickability, seed: int, bootstraps: int
) -> dict[str, str | int | float]:
    image, target, error = clicked
    if not image.shape[:2] == target.shape == error.shape == entry.shape:
        raise IntraBenchError(
            f"the clicks of {entry.full_stem} were made on {entry.shape[0]} x {entry.shape[1]} pixels, but its picture "
            f"has {image.shape[0]} x {image.shape[1]}; use the version of the data set that RClicks used"
        )
    random = stream("click_metrics", seed, entry.dataset, entry.full_stem)
    try:
        with foreign():
            probability = clickability.probability(image, target, error)
        found = click_metrics(probability, target, entry.clicks, random, bootstraps)
    except IntraBenchError:
        raise
    except Exception as problem:  # the model's own code may raise anything
        raise IntraBenchError(
            f"{clickability.name} cannot be compared with the clicks of {entry.full_stem} ({in_words(problem)}); "
            "fix the model or leave out this entry"
        ) from problem
    who = {"dataset": entry.dataset, "full_stem": entry.full_stem, "image_stem": entry.image_stem}
    who |= {"click_type": entry.click_type}
    return {**who, "clicks": len(entry.clicks), **asdict(found)}
