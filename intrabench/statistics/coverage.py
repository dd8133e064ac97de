"""Which targets lines have values of, and which of them they share: means over other targets are not comparable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from intrabench.errors import several
from intrabench.results.schema import STRATA
from intrabench.statistics.notes import FEWER
from intrabench.statistics.scores import TARGET, of_targets

LEAST = 0.5
"""A line with some targets of a data set must have so many, of those that half of the lines have, to be compared."""

OF_TARGET = (*TARGET, "instance", "patient", "target_ml", "target_voxels", *STRATA)
"""Columns that are of the target, whoever prompts and answers: lines that differ in them are of different targets."""


def coverage(scored: pl.DataFrame, by: Sequence[str], within: str = "dataset") -> pl.DataFrame:
    """Of how many targets each line has values: `by`, `within`, ``targets``, and ``of``, those that any line has.

    scored: `scores`. within: a column whose values are apart, as columns of tables are; so are those of `OF_TARGET`. A
    line without a value is not there. half: so many targets half of the lines have, at least.
    """
    keys = list(dict.fromkeys([*by, within]))
    apart = _apart(by, within)
    valued = _valued(scored, keys)
    counts = valued.group_by(keys).agg(pl.len().alias("targets"))
    half = pl.col("targets").sort(descending=True).get((pl.len() - 1) // 2).over(apart)
    every = valued.group_by(apart).agg(pl.struct(TARGET).n_unique().alias("of"))
    found = counts.with_columns(half=half).join(every, on=apart, nulls_equal=True)
    return found.select(*keys, "targets", "half", "of").sort(keys, nulls_last=True)


def partial_lines(covered: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """The lines of `coverage` that cannot be compared, and ``missing``: what they lack, by data set, in words.

    Of two lines none is among them.
    """
    few = covered.filter(pl.col("targets") < LEAST * pl.col("half"))
    if covered.select(by).unique().height - few.select(by).unique().height < 2:
        few = few.clear()
    words = pl.format("{} of {} targets of {}", pl.col("of") - pl.col("targets"), "of", "dataset")
    return few.group_by(by).agg(words.sort_by("dataset").alias("missing")).sort(by, nulls_last=True)


def shared(scored: pl.DataFrame, by: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The sessions of the lines that can be compared, on the targets that they share; and `partial_lines`.

    Of each data set those targets of which all lines with a value there have one; none, if there is no such target.
    """
    left_out = partial_lines(coverage(scored, by), by)
    kept = scored.join(left_out, on=list(by), how="anti", nulls_equal=True)
    valued, apart = _valued(kept, by), _apart(by, "dataset")
    lines = valued.group_by(apart).agg(pl.struct(by).n_unique().alias("_of"))
    targets = valued.group_by(list(dict.fromkeys([*TARGET, *apart]))).agg(pl.len().alias("_lines"))
    common = targets.join(lines, on=apart, nulls_equal=True).filter(pl.col("_lines") == pl.col("_of"))
    return kept.join(common, on=list(TARGET), how="semi", nulls_equal=True), left_out


def on_shared(
    rows: pl.DataFrame, scored: pl.DataFrame, by: Sequence[str], names: Mapping[tuple[Any, ...], str] | None = None
) -> tuple[pl.DataFrame, list[str]]:
    """The rows of lines that can be compared, on the targets that they share; and sentences on what that leaves out.

    scored: `scores` of the rows. names: what lines are called; without, by the columns in which they differ. There are
    no sentences if nothing is left out, and no rows if no target is shared.
    """
    common, missing = shared(scored, by)
    kept = of_targets(rows, common.select(TARGET).unique())
    if not missing.is_empty():
        kept = kept.join(missing.drop("missing"), on=list(by), how="anti", nulls_equal=True)
    differ = [number for number, name in enumerate(by) if scored[name].n_unique() > 1]
    sentences = _about_shared(scored, common)
    for *line, lacks in missing.select(*by, "missing").iter_rows():
        name = names[tuple(line)] if names else ", ".join(str(line[n]) for n in differ if line[n] not in (None, ""))
        sentences.append(f"left out of comparisons: {name}, which lacks {'; '.join(lacks)}")
    return kept, sentences


def unequal(scored: pl.DataFrame, by: Sequence[str], within: str = "dataset") -> pl.DataFrame:
    """What is to be noted at means that are not over all targets that any line has: `coverage` as `adapted` has it."""
    few = coverage(scored, by, within).drop("half").filter(pl.col("targets") < pl.col("of"))
    counts = pl.col("targets", "of").cast(pl.UInt32)
    none = pl.lit(0, pl.UInt32)
    note = pl.format(FEWER + "{} of {}", "targets", "of")
    return few.with_columns(counts, note=note, turns=none, corrections=none).rename({"targets": "sessions"})


def _about_shared(before: pl.DataFrame, after: pl.DataFrame) -> list[str]:
    """On which targets lines are compared, and the data sets that have none of them; empty if these are all."""
    every, common = (frame.filter(pl.col("value").is_not_null()).select(TARGET).unique() for frame in (before, after))
    if common.height == every.height:
        return []
    gone = sorted(set(every["dataset"]) - set(common["dataset"]))
    count = f"lines are compared on the {common.height} of {several(every.height, 'target')} that they share"
    return [count, *(f"they share none of {name}" for name in gone if common.height)]


def _apart(by: Sequence[str], within: str) -> list[str]:
    """The columns whose values are apart: lines are compared only where these are equal."""
    return list(dict.fromkeys([within, *(name for name in by if name in OF_TARGET)]))


def _valued(scored: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """The targets of which each line has a value."""
    return scored.filter(pl.col("value").is_not_null()).select(*dict.fromkeys([*by, *TARGET])).unique()
