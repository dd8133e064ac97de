"""Which targets lines have values of, and which of them they share: means over other targets are not comparable."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from intrabench.errors import several

TARGET = ("dataset", "case", "label", "target")
"""Columns that name a target; its seeds are averages of the same target."""

LEAST = 0.5
"""The least share of a data set's targets that a line must have to be ranked."""


def coverage(scored: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Of how many targets each line has values: `by`, ``dataset``, ``targets``, and ``of``, those that any line has.

    scored: `scores`. Lines without a value in a data set have 0 targets there.
    """
    valued = _valued(scored, by)
    names = valued.group_by("dataset").agg(pl.struct(TARGET).n_unique().alias("of"))
    lines = scored.select(by).unique()
    counts = valued.group_by([*by, "dataset"]).agg(pl.len().alias("targets"))
    every = lines.join(names, how="cross")
    return (
        every.join(counts, on=[*by, "dataset"], how="left", nulls_equal=True)
        .with_columns(pl.col("targets").fill_null(0))
        .select(*by, "dataset", "targets", "of")
        .sort(*by, "dataset", nulls_last=True)
    )


def partial_lines(covered: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """The lines of `coverage` that cannot be ranked, and ``missing``: what they lack, by data set, in words."""
    few = covered.filter(pl.col("targets") < LEAST * pl.col("of"))
    words = (
        pl.when(pl.col("targets") == 0)
        .then(pl.col("dataset"))
        .otherwise(pl.format("{} of {} targets of {}", pl.col("of") - pl.col("targets"), "of", "dataset"))
    )
    return few.group_by(by).agg(words.sort_by("dataset").alias("missing")).sort(by, nulls_last=True)


def shared(scored: pl.DataFrame, by: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The sessions of the lines that can be ranked, on the targets of which each has a value; and `partial_lines`.

    Nothing is left of a data set in which these lines share no target.
    """
    left_out = partial_lines(coverage(scored, by), by)
    kept = scored.join(left_out, on=list(by), how="anti", nulls_equal=True)
    lines = kept.select(by).unique().height
    common = _valued(kept, by).group_by(TARGET).agg(pl.len().alias("_lines")).filter(pl.col("_lines") == lines)
    return kept.join(common, on=list(TARGET), how="semi", nulls_equal=True), left_out


def unequal(covered: pl.DataFrame) -> pl.DataFrame:
    """The lines and data sets of `coverage` whose mean is not over all targets that any line has, with a ``note``."""
    few = covered.filter((pl.col("targets") > 0) & (pl.col("targets") < pl.col("of")))
    return few.with_columns(note=pl.format("mean of {} of the {} targets that lines here have", "targets", "of"))


def about_shared(before: pl.DataFrame, after: pl.DataFrame) -> str:
    """A sentence that says on which targets lines are compared; empty if these are all."""
    every, common = (frame.filter(pl.col("value").is_not_null()).select(TARGET).n_unique() for frame in (before, after))
    return f"of the {several(every, 'target')} only the {common} that the lines share count" if common < every else ""


def _valued(scored: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """The targets of which each line has a value."""
    return scored.filter(pl.col("value").is_not_null()).select(*by, *TARGET).unique()
