"""Scores by the size of the target."""

from __future__ import annotations

from collections.abc import Mapping, Set

import polars as pl

from intrabench.reporting.page.grid import digits_of

SIZES = ("small", "medium", "large")

_TARGET = ("dataset", "case", "target")


def strata(scored: pl.DataFrame, pictures: Set[str] = frozenset()) -> pl.DataFrame:
    """`line`, `size`, `value` (mean over targets with equal weight) and the text `show` of the size.

    Sizes are thirds of all targets by volume, those of `pictures` (photographs, videos: `pictures_of`) apart from those
    of scans, because a pixel has no volume.
    """
    amount = pl.when("picture").then(pl.col("target_ml") * 1000).otherwise("target_ml")  # a pixel counts as 1 mm³
    known = scored.filter(pl.col("target_ml").is_not_null())
    known = known.with_columns(picture=pl.col("dataset").is_in(list(pictures))).with_columns(amount=amount)
    sized = known.join(_thirds(known), on=_TARGET)
    names = sized.group_by("size", "picture").agg(
        pl.col("amount").min().alias("least"),
        pl.col("amount").max().alias("most"),
        pl.struct(_TARGET).n_unique().alias("targets"),
    )
    between = pl.struct(pl.all()).map_elements(_between, pl.String)
    shown = names.with_columns(between=between).sort("picture").group_by("size").agg(pl.col("between").str.join(", "))
    shown = shown.select("size", show=pl.format("{}, {}", "size", "between"))
    means = sized.filter(pl.col("value").is_not_null()).group_by("line", "size").agg(pl.col("value").mean())
    order = pl.col("size").replace_strict({name: number for number, name in enumerate(SIZES)})
    return means.join(shown, on="size").sort("line", order)


def _between(size: Mapping[str, float]) -> str:
    ends = (size["least"], size["most"])
    shown = (digits_of(end, 0) for end in ends) if size["picture"] else (f"{end:.3g}" for end in ends)
    return f"{' to '.join(dict.fromkeys(shown))} {'pixels' if size['picture'] else 'ml'} ({size['targets']})"


def _thirds(known: pl.DataFrame) -> pl.DataFrame:
    """The third of all targets of scans, or of pictures, to which each belongs."""
    targets = known.unique(_TARGET).sort("picture", "amount", *_TARGET)
    place = pl.int_range(pl.len()) * len(SIZES) // pl.len()
    sized = targets.with_columns(
        size=place.over("picture").replace_strict(dict(enumerate(SIZES)), return_dtype=pl.String)
    )
    return sized.select(*_TARGET, "size")
