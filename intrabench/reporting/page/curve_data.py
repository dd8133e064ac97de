"""The points of the curves, as plain data for the page."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from typing import Any

import polars as pl

from intrabench.reporting.page.tables import EFFORT
from intrabench.statistics.aggregate import USUAL, Aggregation
from intrabench.statistics.budgets import AtBudgets, Budget, at_budgets
from intrabench.statistics.resample import AVERAGE
from intrabench.statistics.steps import EFFORTS, Steps


def curve_data(played: Steps, lines: pl.DataFrame, how: Aggregation, found: AtBudgets | None = None) -> dict[str, Any]:
    """Lines by name, and a point per data set (if there are several, the average first), line and round.

    found: `at_budgets` of at least all `rounds_of` the lines, if that is there already.
    """
    found = found or at_budgets(played, how, rounds_of(lines))
    names = played.sessions["dataset"].unique().sort().to_list()
    datasets = [AVERAGE, *names] if len(names) > 1 else names
    points: list[list[Any]] = []
    for number, scored in _after_rounds(played, lines):
        table = _values(found, number, scored).join(_spent(scored), on=["line", "dataset"], how="left")
        table = table.filter(pl.col("value").is_finite(), pl.col("dataset").is_in(datasets)).sort("line", "dataset")
        for point in table.to_dicts():
            numbers = [point[name] for name in ("value", "low", "high", *EFFORT)]
            points.append([datasets.index(point["dataset"]), point["line"], number, *map(finite, numbers)])
    return {
        "title": played.metric.head,
        "lines": lines.sort("line")
        .select(pl.col("shown").alias("prompter"), pl.col("label").alias("model"), "notes")
        .to_dicts(),
        "datasets": datasets,
        "efforts": [{"name": name} for name in EFFORT.values()],
        "points": points,
    }


def rounds_of(lines: pl.DataFrame) -> list[Budget]:
    """Every round that a line reached."""
    return [Budget("round", number) for number in range(int(lines["rounds"].max() or 0) + 1)]  # type: ignore[arg-type]


def _values(found: AtBudgets, number: int, scored: pl.DataFrame) -> pl.DataFrame:
    """`intervals` by line after a round, of the lines that reached it."""
    places, lines = found.places.get(Budget("round", number), {}), set(scored["line"].unique())
    states = {place.state: line for line, place in places.items() if line in lines}
    table = found.table.filter(pl.col("state").is_in(list(states)))
    return table.with_columns(line=pl.col("state").replace_strict(states, return_dtype=scored.schema["line"]))


def _after_rounds(played: Steps, lines: pl.DataFrame) -> Iterator[tuple[int, pl.DataFrame]]:
    """For each round, the last state of each session up to it, of the lines that reached the round."""
    efforts = {EFFORTS[against]: values for against, values in played.efforts.items()}
    steps = pl.DataFrame({"_row": played.session, "value": played.value, **efforts})
    who = ("line", "dataset", "patient", "case", "label", "target")
    sessions = played.sessions.select(*who, "failed", "not_applicable")
    sessions = sessions.join(lines.select("line", "rounds"), on="line", maintain_order="left")
    sessions = sessions.with_columns(_row=pl.int_range(pl.len()))
    for number in range(int(lines["rounds"].max() or 0) + 1):  # type: ignore[arg-type]
        states = steps.filter(pl.col("round") <= number).group_by("_row", maintain_order=True).last()
        yield number, sessions.filter(pl.col("rounds") >= number).join(states, on="_row")


def _spent(scored: pl.DataFrame) -> pl.DataFrame:
    """Mean effort per line and data set, and over all sessions of a line, as in tables."""
    usual = scored.filter(USUAL)
    means = [pl.col(name).mean() for name in EFFORT]
    average = usual.group_by("line", pl.lit(AVERAGE).alias("dataset")).agg(means)
    return pl.concat([usual.group_by("line", "dataset").agg(means), average])


def finite(value: float | None) -> float | None:
    """A number with seven digits; what is not finite is none, for JSON has no name for it."""
    return float(f"{value:.7g}") if value is not None and isfinite(value) else None
