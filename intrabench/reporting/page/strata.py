"""Scores by parts of the targets: by size, and where a line is worst."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import polars as pl

from intrabench.errors import several
from intrabench.metrics.base import Best, merit
from intrabench.reporting.page.grid import digits_of
from intrabench.statistics.aggregate import AGGREGATIONS
from intrabench.statistics.infinite import NOTHING, Infinite, pooled
from intrabench.statistics.resample import as_one_dataset, intervals
from intrabench.statistics.sizes import with_sizes
from intrabench.target import WHOLE_CASE

_TARGET = ("dataset", "case", "target")


def strata(scored: pl.DataFrame, pictures: Set[str] = frozenset(), ends: Sequence[float] = ()) -> pl.DataFrame:
    """`line`, `size`, `value` (mean over targets with equal weight) with `BESIDE`, and the text `show` of the size.

    Sizes are groups of `with_sizes`. If all targets of scans, or of `pictures` (photographs, videos: `pictures_of`),
    have one label, or between given ends, the text has their volumes, or their pixels, because a pixel has no volume.
    """
    sized = with_sizes(scored, ends).drop_nulls("size")
    sized = sized.with_columns(picture=pl.col("dataset").is_in(list(pictures)))
    names = sized.group_by("size", "picture").agg(
        pl.col("target_ml").min().alias("least"),
        pl.col("target_ml").max().alias("most"),
        pl.struct(_TARGET).n_unique().alias("targets"),
    )
    labels = sized.group_by("picture").agg(pl.struct("dataset", "label").n_unique().alias("labels"))
    names = names.join(labels, on="picture").with_columns(bare=pl.lit(bool(ends)) | (pl.col("labels") > 1))
    between = pl.struct(pl.all()).map_elements(_between, pl.String)
    shown = names.with_columns(between=between).sort("picture").group_by("size").agg(pl.col("between").str.join(", "))
    shown = shown.select("size", show=pl.format("{}, {}", "size", "between"))
    means = pooled(sized.filter(pl.col("value").is_not_null()), ["line", "size"])
    return means.join(shown, on="size").sort("line", "size")


def _between(size: Mapping[str, Any]) -> str:
    targets = several(size["targets"], "picture" if size["picture"] else "target")
    if size["bare"]:
        return targets
    scale, unit = (1000, "pixels") if size["picture"] else (1, "ml")  # a pixel counts as 1 mm³
    shown = (digits_of(scale * size[end], 0) if size["picture"] else f"{size[end]:.3g}" for end in ("least", "most"))
    return f"{' to '.join(dict.fromkeys(shown))} {unit} ({size['targets']})"


LABELS = 3
"""Of so many labels the worst are told."""


@dataclass(frozen=True)
class Spot:
    """A part of the targets: the mean score, each with equal weight, its interval over patients, and their number.

    kind: label, size, modality or dataset. infinite: among the values. least, most: of thirds of a single label by
    size, the volumes in ml.
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


def weak_spots(
    sessions: pl.DataFrame, modalities: Mapping[str, str], best: Best, ends: Sequence[float] = ()
) -> dict[int, list[Spot]]:
    """By state, the worst labels, and the worst size, modality and data set with the best one of the same kind.

    sessions: as `AtBudgets.sessions`. modalities: by data set. ends: as of `with_sizes`. Kinds of which there is only
    one are left out.
    """
    played = sessions.filter(pl.col("value").is_not_null(), pl.col("target") != WHOLE_CASE)
    if played.is_empty():
        return {}
    played = with_sizes(played, ends)
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
    limits = intervals(flat, keys, AGGREGATIONS["pooled"]).filter(pl.col("dataset") == "all")
    found: dict[int, list[Spot]] = {}
    pictures = any(text.startswith("natural") for text in modalities.values())  # pixels have no volume
    alike = not (ends or pictures) and played.select("dataset", "label").n_unique() == 1
    for row in (
        kept.join(limits.select(*keys, "low", "high"), on=keys).sort("state", "kind", "place").iter_rows(named=True)
    ):
        volumes = (row["least"], row["most"]) if row["kind"] == "size" and alike else (None, None)
        beside = Infinite.beside(row)
        spot = Spot(row["kind"], row["name"], row["value"], row["low"], row["high"], row["targets"], beside, *volumes)
        found.setdefault(row["state"], []).append(spot)
    return found


def _kinds(modalities: Mapping[str, str]) -> dict[str, pl.Expr]:
    names = {dataset: text for dataset, text in modalities.items() if text}
    return {
        "label": pl.col("label"),
        "size": pl.col("size").cast(pl.String),
        "modality": pl.col("dataset").replace_strict(names, default=None, return_dtype=pl.String),
        "dataset": pl.col("dataset"),
    }


def _named(played: pl.DataFrame, kind: str, one: pl.Expr) -> pl.DataFrame:
    return played.with_columns(kind=pl.lit(kind), name=one)
