"""The sessions of a results folder that count: what outputs of lines are made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from intrabench.datasets.base import Dataset
from intrabench.results.current import IDENTITY, current
from intrabench.results.current import PROTOCOL as RULES
from intrabench.results.fast_queries import keys
from intrabench.results.labels import MODEL, PROMPTER, PROTOCOL
from intrabench.results.origin import datasets_of
from intrabench.results.runs import read_records
from intrabench.results.schema import SCHEMA, STRATA
from intrabench.results.selection import EVERYTHING, Selection
from intrabench.statistics.coverage import on_shared
from intrabench.statistics.difficulty import described, divided
from intrabench.statistics.soundness import some_rows
from intrabench.statistics.statistic import Statistic
from intrabench.statistics.superpixels import prompted

STATISTICAL = tuple(
    name
    for name in SCHEMA
    if name
    not in {
        *("contract", "plane", "prompts_hash", "fp_voxels", "fn_voxels", "fits_better", "prompt_s", "batch"),
        *("peak_memory_mb", "peak_gpu_mb", "device", "package_versions_hash", "ended"),
    }
)
"""The columns of rows that all outputs read; a million rows with all would take much memory."""

NOTHING_SHARED = "no target has a value of every line, so lines are not compared"


@dataclass(frozen=True)
class Evaluation:
    """The sessions of a results folder that count, by lines, and the statistic that an output shows of them.

    rows: with ``line`` and ``name``. lines: `lines_of`. datasets: by spec, or why one is not available. left_out:
    sentences on sessions that do not count. compared: sentences on what was left out so that lines share their targets.
    comparable: whether they share any. selection: which of the sessions of the folder these are.
    """

    root: Path
    rows: pl.DataFrame
    lines: pl.DataFrame
    statistic: Statistic
    datasets: Mapping[str, Dataset | str]
    left_out: Sequence[str] = ()
    compared: Sequence[str] = ()
    comparable: bool = True
    selection: Selection = EVERYTHING

    @classmethod
    def of(cls, root: Path, statistic: Statistic, selection: Selection = EVERYTHING) -> Evaluation:
        """Of the rows of a folder that count; where the statistic has no metric, it is that of their protocols.

        Raises:
            IntraBenchError: as of `counted_rows`.
        """
        rows, left_out = counted_rows(root, statistic, selection)
        datasets, of_rows = datasets_of(root, rows), statistic.of_protocols(rows["protocol"])
        return cls(root, *with_lines(rows), of_rows, datasets, left_out, selection=selection)

    @cached_property
    def scored(self) -> pl.DataFrame:
        """The sessions with their values, as `scores`."""
        return self.statistic.measured(self.rows)

    @cached_property
    def shared(self) -> Evaluation:
        """What can be compared: the lines that have enough targets, on those that all of them have (`on_shared`).

        `compared` says what that leaves out. If nothing is left, it is as it was, and not `comparable`.
        """
        names = {(line,): name for line, name in self.names.items()}
        rows, compared = on_shared(self.rows, self.scored, ["line"], names)
        if not compared:
            return self
        if rows.is_empty():
            return replace(self, compared=(NOTHING_SHARED,), comparable=False)
        lines = self.lines.join(rows.select("line").unique(), on="line", how="semi", maintain_order="left")
        return replace(self, rows=rows, lines=lines, compared=compared)

    @cached_property
    def names(self) -> dict[int, str]:
        """The name of each line."""
        return dict(self.lines.select("line", "name").iter_rows())

    @cached_property
    def pictures(self) -> frozenset[str]:
        """The data sets of photographs and videos."""
        return pictures_of(self.datasets)

    @cached_property
    def records(self) -> Sequence[Mapping[str, Any]]:
        """The records of the runs."""
        return read_records(self.root)


def counted_rows(
    root: Path,
    statistic: Statistic,
    selection: Selection = EVERYTHING,
    by: Sequence[str] = (),
    more: Sequence[str] = (),
) -> tuple[pl.DataFrame, list[str]]:
    """The rows of prompted sessions that count and are selected, and what does not count (`current`).

    statistic: tells how difficult targets are (`in_strata`). by: the columns that define lines. more: columns that are
    read besides those and `STATISTICAL`.

    Raises:
        IntraBenchError: there are none.
    """
    rows, left_out = selected_rows(root, selection.without_strata, by, more)
    rows = prompted(rows, statistic.metric or "dice")
    return in_strata(rows, statistic, selection, (*by, *more)), left_out


def in_strata(rows: pl.DataFrame, of: Statistic, selection: Selection, names: Sequence[str]) -> pl.DataFrame:
    """The rows `divided` into `STRATA` if one of these is among the names or selected; of those that are selected."""
    return selection.of_strata(divided(rows, of)) if {*STRATA} & {*names, *selection.strata} else rows


def about(selection: Selection, metric: str, names: Sequence[str] = ()) -> str:
    """What is selected, in words, and what the `STRATA` among the names or selected mean; empty if there is nothing."""
    return "; ".join(filter(None, [selection.words, *described(metric, [*names, *selection.strata])]))


def selected_rows(
    root: Path,
    selection: Selection = EVERYTHING,
    by: Sequence[str] = (),
    more: Sequence[str] = (),
    protocol: str = "",
) -> tuple[pl.DataFrame, list[str]]:
    """The rows that count and are selected, also those of divided images; rows do not say how difficult targets are.

    protocol: that is wanted, for the message; else the selected one.
    """
    columns = [name for name in SCHEMA if name in {*STATISTICAL, *by, *more}]
    rows, left_out = current(some_rows(root, protocol or "".join(selection.protocol[:1]), columns), by, root=root)
    return selection.of(rows, root), left_out


def pictures_of(datasets: Mapping[str, Dataset | str]) -> frozenset[str]:
    """Those of photographs and videos, whose targets have pixels and no volume."""
    return frozenset(
        name for name, one in datasets.items() if isinstance(one, Dataset) and one.card.modality.startswith("natural")
    )


def with_lines(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows with the number `line` and the `name` of their line, and the lines (`lines_of`)."""
    lines = lines_of(rows)
    named = lines.select("line", "name", _key=keys(lines, IDENTITY))
    found = pl.DataFrame({"_key": keys(rows, IDENTITY)}).join(named, on="_key", how="left", maintain_order="left")
    return rows.with_columns(found["line"].rechunk(), found["name"].rechunk()), lines


def lines_of(rows: pl.DataFrame) -> pl.DataFrame:
    """One line per `IDENTITY`: its number `line`, `shown` (prompter as printed), `label` (model as people call it),
    `notes` and `name`, which is unique.

    notes: protocol, weights, dtype and strictness, if lines differ in them. `rounds`, `seeds` and `datasets` say how to
    run the line again.
    """
    key = keys(rows, IDENTITY)
    about = (
        rows.select("round", "seed", "dataset", _key=key)
        .group_by("_key")
        .agg(
            pl.col("round").max().alias("rounds"),
            pl.col("seed").unique().sort().alias("seeds"),
            pl.col("dataset").unique().sort().alias("datasets"),
        )
    )
    lines = rows.select(*IDENTITY, _key=key).filter(key.is_first_distinct()).join(about, on="_key").drop("_key")
    lines = lines.sort("prompter", "model", *IDENTITY, nulls_last=True).with_row_index("line")
    notes = pl.concat_str(*_notes(), separator=", ", ignore_nulls=True)
    lines = lines.with_columns(shown=PROMPTER, label=MODEL, notes=notes)
    ending = pl.when(pl.col("notes") == "").then(pl.lit("")).otherwise(pl.format(" ({})", "notes"))
    return lines.with_columns(name=pl.format("{}, {}{}", "shown", "label", ending))


def _notes() -> list[pl.Expr]:
    """The text of each identifying column besides prompter and model, if lines differ in it."""

    def where(differs: pl.Expr, text: pl.Expr) -> pl.Expr:
        return pl.when(differs).then(text)

    def several(name: str) -> pl.Expr:
        return pl.col(name).n_unique() > 1

    return [
        where(pl.struct(*RULES).n_unique() > 1, PROTOCOL),
        where(several("weights_sha256").over("model"), pl.format("weights {}", pl.col("weights_sha256").str.head(8))),
        where(several("dtype"), pl.col("dtype")),
        where(several("strict") & pl.col("strict"), pl.lit("strict")),
    ]
