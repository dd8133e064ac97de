"""Dice by the size of the target."""

from __future__ import annotations

import polars as pl

SIZES = ("small", "medium", "large")


def strata(scored: pl.DataFrame) -> pl.DataFrame:
    """`line`, `size`, `value` (mean over targets with equal weight) and the text `show` of the size.

    Sizes are thirds of all targets by volume.
    """
    sized = scored.filter(pl.col("target_ml").is_not_null()).join(_thirds(scored), on=["dataset", "case", "target"])
    names = sized.group_by("size").agg(
        pl.col("target_ml").min().alias("least"),
        pl.col("target_ml").max().alias("most"),
        pl.struct("dataset", "case", "target").n_unique().alias("targets"),
    )
    names = names.with_columns(
        show=pl.struct(pl.all()).map_elements(
            lambda size: f"{size['size']}, {size['least']:.3g} to {size['most']:.3g} ml ({size['targets']})", pl.String
        )
    )
    means = sized.filter(pl.col("value").is_not_null()).group_by("line", "size").agg(pl.col("value").mean())
    order = pl.col("size").replace_strict({name: number for number, name in enumerate(SIZES)})
    return means.join(names.select("size", "show"), on="size").sort("line", order)


def _thirds(scored: pl.DataFrame) -> pl.DataFrame:
    """The third of all targets by volume to which each belongs."""
    targets = scored.filter(pl.col("target_ml").is_not_null()).unique(["dataset", "case", "target"])
    targets = targets.sort("target_ml", "dataset", "case", "target").select("dataset", "case", "target")
    place = pl.int_range(pl.len()) * len(SIZES) // pl.len()
    return targets.with_columns(size=place.replace_strict(dict(enumerate(SIZES)), return_dtype=pl.String))
