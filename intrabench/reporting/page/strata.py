"""Scores by parts of the targets: by size, and where a line is worst."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass

import polars as pl

from intrabench.metrics.base import Best, merit
from intrabench.reporting.page.grid import digits_of
from intrabench.statistics.aggregate import AGGREGATIONS
from intrabench.statistics.infinite import NOTHING, Infinite, pooled
from intrabench.statistics.resample import as_one_dataset, intervals
from intrabench.target import WHOLE_CASE

SIZES = ("small", "medium", "large")

_TARGET = ("dataset", "case", "target")


def strata(scored: pl.DataFrame, pictures: Set[str] = frozenset()) -> pl.DataFrame:
    """`line`, `size`, `value` (mean over targets with equal weight) with `BESIDE`, and the text `show` of the size.

    Sizes are thirds of all targets by volume, those of `pictures` (photographs, videos: `pictures_of`) apart from those
    of scans, because a pixel has no volume.
    """
    amount = pl.when("picture").then(pl.col("target_ml") * 1000).otherwise("target_ml")  # a pixel counts as 1 mm³
    rows = scored.filter(pl.col("target_ml").is_not_null())
    rows = rows.with_columns(picture=pl.col("dataset").is_in(list(pictures))).with_columns(amount=amount)
    sized = rows.join(_thirds(rows), on=_TARGET)
    names = sized.group_by("size", "picture").agg(
        pl.col("amount").min().alias("least"),
        pl.col("amount").max().alias("most"),
        pl.struct(_TARGET).n_unique().alias("targets"),
    )
    between = pl.struct(pl.all()).map_elements(_between, pl.String)
    shown = names.with_columns(between=between).sort("picture").group_by("size").agg(pl.col("between").str.join(", "))
    shown = shown.select("size", show=pl.format("{}, {}", "size", "between"))
    means = pooled(sized.filter(pl.col("value").is_not_null()), ["line", "size"])
    order = pl.col("size").replace_strict({name: number for number, name in enumerate(SIZES)})
    return means.join(shown, on="size").sort("line", order)


def _between(size: Mapping[str, float]) -> str:
    ends = (size["least"], size["most"])
    shown = (digits_of(end, 0) for end in ends) if size["picture"] else (f"{end:.3g}" for end in ends)
    return f"{' to '.join(dict.fromkeys(shown))} {'pixels' if size['picture'] else 'ml'} ({size['targets']})"


def _thirds(rows: pl.DataFrame) -> pl.DataFrame:
    """The third of all targets of scans, or of pictures, to which each belongs."""
    targets = rows.unique(_TARGET).sort("picture", "amount", *_TARGET)
    place = pl.int_range(pl.len()) * len(SIZES) // pl.len()
    sized = targets.with_columns(
        size=place.over("picture").replace_strict(dict(enumerate(SIZES)), return_dtype=pl.String)
    )
    return sized.select(*_TARGET, "size")


LABELS = 3
"""Of so many labels the worst are told."""


@dataclass(frozen=True)
class Spot:
    """A part of the targets: the mean score, each with equal weight, its interval over patients, and their number.

    kind: label, size, modality or dataset. infinite: among the values. least, most: of sizes, the volumes in ml.
    """

    kind: str
    name: str
    value: float
    low: float | None
    high: float | None
    targets: int
    infinite: Infinite = NOTHING
    least: float | None = None
    most: float | None = None


def weak_spots(sessions: pl.DataFrame, modalities: Mapping[str, str], best: Best) -> dict[int, list[Spot]]:
    """By state, the worst labels, and the worst size, modality and data set with the best one of the same kind.

    sessions: as `AtBudgets.sessions`. modalities: by data set. Kinds of which there is only one are left out.
    """
    played = sessions.filter(pl.col("value").is_not_null(), pl.col("target") != WHOLE_CASE)
    if played.is_empty():
        return {}
    groups = pl.concat([_named(played, kind, one) for kind, one in _kinds(modalities).items()])
    keys = ["state", "kind", "name"]
    named = groups.drop_nulls("name")
    sizes = named.group_by(keys).agg(
        pl.struct(_TARGET).n_unique().alias("targets"),
        pl.col("target_ml").min().alias("least"),
        pl.col("target_ml").max().alias("most"),
    )
    means = pooled(named, keys).join(sizes, on=keys)
    worst_first = [merit(pl.col("net"), best), merit(pl.col("others"), best)]
    ordered = means.sort("state", "kind", *worst_first, "name")
    ordered = ordered.with_columns(
        place=pl.int_range(1, pl.len() + 1).over("state", "kind"), count=pl.len().over("state", "kind")
    )
    ordered = ordered.filter(pl.col("count") > 1)
    last = pl.col("place") == pl.col("count")
    chosen = (
        pl.when(pl.col("kind") == "label")
        .then((pl.col("place") <= LABELS) & ~last)
        .otherwise((pl.col("place") == 1) | last)
    )
    kept = ordered.filter(chosen)
    if kept.is_empty():
        return {}
    flat = as_one_dataset(groups.join(kept.select(keys), on=keys, how="semi"))
    ends = intervals(flat, keys, AGGREGATIONS["pooled"]).filter(pl.col("dataset") == "all")
    found: dict[int, list[Spot]] = {}
    pictures = any(text.startswith("natural") for text in modalities.values())  # pixels have no volume
    for row in (
        kept.join(ends.select(*keys, "low", "high"), on=keys).sort("state", "kind", "place").iter_rows(named=True)
    ):
        volumes = (row["least"], row["most"]) if row["kind"] == "size" and not pictures else (None, None)
        beside = Infinite.beside(row)
        spot = Spot(row["kind"], row["name"], row["value"], row["low"], row["high"], row["targets"], beside, *volumes)
        found.setdefault(row["state"], []).append(spot)
    return found


def _kinds(modalities: Mapping[str, str]) -> dict[str, pl.Expr]:
    names = {dataset: text for dataset, text in modalities.items() if text}
    rank = pl.col("target_ml").rank("min").over("state") - 1  # equal volumes belong to the same third
    third = (rank * len(SIZES) // pl.col("target_ml").count().over("state")).cast(pl.Int64)
    return {
        "label": pl.col("label"),
        "size": third.replace_strict(dict(enumerate(SIZES)), default=None, return_dtype=pl.String),
        "modality": pl.col("dataset").replace_strict(names, default=None, return_dtype=pl.String),
        "dataset": pl.col("dataset"),
    }


def _named(played: pl.DataFrame, kind: str, one: pl.Expr) -> pl.DataFrame:
    return played.with_columns(kind=pl.lit(kind), name=one)
