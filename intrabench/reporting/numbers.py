"""Tables of what protocols report by names of their own, each by its own definitions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from intrabench.protocols import Protocol
from intrabench.reporting.footnotes import Place
from intrabench.reporting.table import Layout, check_columns
from intrabench.statistics.aggregate import aggregate, totals
from intrabench.statistics.coverage import unequal
from intrabench.statistics.measures import best, described, measured, summary
from intrabench.statistics.notes import adapted, cut_short, infinite
from intrabench.statistics.ranking import DIGITS
from intrabench.statistics.statistic import averages

RANK = "mean_rank"
"""The column of protocols whose lines are ranked by all their numbers; equal values share the better rank."""


def numbers_table(rows: pl.DataFrame, layout: Layout, presets: Sequence[Protocol]) -> pl.DataFrame:
    """One line per combination of `layout.by` and data set, and a column for each number of the protocols.

    Each protocol has its own averages. Effort is the mean over sessions that did not fail.
    """
    layout = _by_dataset(layout)
    check_columns(rows, layout.by)
    tables = [_of_protocol(rows.filter(pl.col("protocol") == one.id), layout, one) for one in presets]
    return pl.concat(tables, how="diagonal").sort(layout.by)


def numbers_places(rows: pl.DataFrame, layout: Layout, presets: Sequence[Protocol]) -> list[Place]:
    """What is to be noted at these numbers."""
    keys = _by_dataset(layout).by
    heads = dict.fromkeys(head for one in presets for head, _ in one.numbers)
    lines = [name for name in keys if name != "dataset"]
    found = [Place(adapted(rows, keys, layout.round), keys, [*heads])]
    for one in presets:
        played = rows.filter(pl.col("protocol") == one.id)
        for head, spec in one.numbers:
            scored = measured(played, spec, layout.round, layout.policy)
            means = aggregate(scored, keys, averages([one.id]))
            for noted in (cut_short(played, keys, spec, layout.round), unequal(scored, lines), infinite(means, keys)):
                found.append(Place(noted, keys, [head]))
    return found


def _by_dataset(layout: Layout) -> Layout:
    return replace(layout, by=("protocol", *layout.by, "dataset"))


def numbers_heading(layout: Layout, presets: Sequence[Protocol]) -> str:
    """How the numbers of each protocol were computed."""
    lines = [
        f"{one.id}: " + "; ".join(f"{head} = {_definition(spec)}" for head, spec in one.numbers) for one in presets
    ]
    ranked = " and ".join(one.id for one in presets if one.ranked)
    lines += [f"{RANK} = mean of a line's ranks by the numbers of {ranked}, among the lines here"] if ranked else []
    silent = [one.id for one in presets if any("missing=previous" in spec for _, spec in one.numbers)]
    but = f"; but {', '.join(silent)} leaves out a case without any answer" if silent else ""
    means = {one.id: averages([one.id]).description for one in presets}
    alike = len(set(means.values())) == 1
    how = [*means.values()][:1] if alike else [f"{id}: {text}" for id, text in means.items()]
    return "\n".join([*lines, *how[:-1], f"{how[-1]}; {layout.policy.describe()}{but}"])


def _definition(spec: str) -> str:
    """What a number is, in words."""
    return described(spec).partition(" (")[2][:-1] if summary(spec) else f"{spec} after the last round"


def _of_protocol(rows: pl.DataFrame, layout: Layout, preset: Protocol) -> pl.DataFrame:
    keys, others = list(layout.by), set[tuple[Any, ...]]()
    found = None
    for head, spec in preset.numbers:
        scored = measured(rows, spec, layout.round, layout.policy)
        found = totals(scored, keys) if found is None else found
        values = aggregate(scored, keys, averages([preset.id])).select(*keys, pl.col("value").alias(head))
        found = found.join(values, on=keys, how="left", nulls_equal=True)
        others |= set(unequal(scored, keys[1:-1]).select(keys[1:]).iter_rows()) if preset.ranked else set()
    assert found is not None
    return _with_ranks(found, preset, keys, others) if preset.ranked else found


def _with_ranks(
    found: pl.DataFrame, preset: Protocol, keys: Sequence[str], others: Collection[tuple[Any, ...]]
) -> pl.DataFrame:
    """The lines with `RANK`, the mean of their ranks by all numbers on a data set; lines of `others` have none."""
    alike = pl.Series([line not in others for line in found.select(keys[1:]).iter_rows()])
    ranks = [
        pl.when(alike).then(pl.col(head).round(DIGITS)).rank("min", descending=best(spec) == "high").over("dataset")
        for head, spec in preset.numbers
    ]
    return found.with_columns(pl.mean_horizontal(ranks, ignore_nulls=False).alias(RANK))
