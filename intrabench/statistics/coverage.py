"""Which targets lines have values of, and which of them they share: means over other targets are not comparable."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from intrabench.errors import several
from intrabench.statistics.notes import FEWER

TARGET = ("dataset", "case", "label", "target")
"""Columns that name a target; its seeds are averages of the same target."""

LEAST = 0.5
"""The least share of a data set's targets that a line with some of them must have to be compared."""


def coverage(scored: pl.DataFrame, by: Sequence[str], within: str = "dataset") -> pl.DataFrame:
    """Of how many targets each line has values: `by`, `within`, ``targets``, and ``of``, those that any line has.

    scored: `scores`. within: a column whose values are apart, as columns of tables are. Lines without a value have 0
    targets there.
    """
    valued = _valued(scored, [*by, within])
    names = valued.group_by(within).agg(pl.struct(TARGET).n_unique().alias("of"))
    lines = scored.select(by).unique()
    counts = valued.group_by([*by, within]).agg(pl.len().alias("targets"))
    every = lines.join(names, how="cross")
    return (
        every.join(counts, on=[*by, within], how="left", nulls_equal=True)
        .with_columns(pl.col("targets").fill_null(0))
        .select(*by, within, "targets", "of")
        .sort(*by, within, nulls_last=True)
    )


def partial_lines(covered: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """The lines of `coverage` that cannot be compared, and ``missing``: what they lack, by data set, in words.

    Lines without any value in a data set are not among them: nobody takes their mean there for that of others.
    """
    few = covered.filter((pl.col("targets") > 0) & (pl.col("targets") < LEAST * pl.col("of")))
    words = pl.format("{} of {} targets of {}", pl.col("of") - pl.col("targets"), "of", "dataset")
    return few.group_by(by).agg(words.sort_by("dataset").alias("missing")).sort(by, nulls_last=True)


def shared(scored: pl.DataFrame, by: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The sessions of the lines that can be compared, on the targets that they share; and `partial_lines`.

    Of each data set those targets of which all lines with a value there have one; none, if there is no such target.
    """
    left_out = partial_lines(coverage(scored, by), by)
    kept = scored.join(left_out, on=list(by), how="anti", nulls_equal=True)
    valued = _valued(kept, by)
    lines = valued.group_by("dataset").agg(pl.struct(by).n_unique().alias("_of"))
    targets = valued.group_by(TARGET).agg(pl.len().alias("_lines")).join(lines, on="dataset")
    common = targets.filter(pl.col("_lines") == pl.col("_of"))
    return kept.join(common, on=list(TARGET), how="semi", nulls_equal=True), left_out


def on_shared(rows: pl.DataFrame, scored: pl.DataFrame, by: Sequence[str]) -> tuple[pl.DataFrame, list[str]]:
    """The rows of lines that can be compared, on the targets that they share; and sentences on what that leaves out.

    scored: `scores` of the rows.
    """
    common, missing = shared(scored, by)
    kept = rows.join(common.select(TARGET).unique(), on=list(TARGET), how="semi", nulls_equal=True)
    lines = kept.join(missing.drop("missing"), on=list(by), how="anti", nulls_equal=True)
    words = ["; ".join(lacks) for lacks in missing["missing"]]
    differ = [name for name in by if scored[name].n_unique() > 1]
    names = [", ".join(str(part) for part in line if part not in (None, "")) for line in missing.select(differ).rows()]
    lacking = [f"left out of comparisons: {name}, which lacks {lack}" for name, lack in zip(names, words, strict=True)]
    return lines, [*filter(None, [about_shared(scored, common)]), *lacking]


def unequal(scored: pl.DataFrame, by: Sequence[str], within: str = "dataset") -> pl.DataFrame:
    """What is to be noted at means that are not over all targets that any line has: `coverage` as `adapted` has it."""
    covered = coverage(scored, by, within)
    few = covered.filter((pl.col("targets") > 0) & (pl.col("targets") < pl.col("of")))
    counts = pl.col("targets", "of").cast(pl.UInt32)
    none = pl.lit(0, pl.UInt32)
    note = pl.format(FEWER + "{} of {}", "targets", "of")
    return few.with_columns(counts, note=note, turns=none, corrections=none).rename({"targets": "sessions"})


def about_shared(before: pl.DataFrame, after: pl.DataFrame) -> str:
    """A sentence that says on which targets lines are compared; empty if these are all."""
    every, common = (frame.filter(pl.col("value").is_not_null()).select(TARGET).n_unique() for frame in (before, after))
    return f"lines are compared on the {common} of {several(every, 'target')} that they share" if common < every else ""


def _valued(scored: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """The targets of which each line has a value."""
    return scored.filter(pl.col("value").is_not_null()).select(*dict.fromkeys([*by, *TARGET])).unique()
