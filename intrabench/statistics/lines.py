"""The lines of all tables and curves, with a number and a name for each."""

from __future__ import annotations

import polars as pl

from intrabench.results.current import IDENTITY
from intrabench.results.current import PROTOCOL as RULES
from intrabench.results.labels import MODEL, PROMPTER, PROTOCOL


def with_lines(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows with the number `line` and the `name` of their line, and the lines (`lines_of`)."""
    lines = lines_of(rows)
    return rows.join(lines.select(*IDENTITY, "line", "name"), on=list(IDENTITY), nulls_equal=True), lines


def lines_of(rows: pl.DataFrame) -> pl.DataFrame:
    """One line per `IDENTITY`: its number `line`, `shown` (prompter as printed), `label` (model as people call it),
    `notes` and `name`, which is unique.

    notes: protocol, weights, dtype and strictness, if lines differ in them. `rounds`, `seeds` and `datasets` say how to
    run the line again.
    """
    keys = list(IDENTITY)
    lines = rows.group_by(keys).agg(
        pl.col("round").max().alias("rounds"),
        pl.col("seed").unique().sort().alias("seeds"),
        pl.col("dataset").unique().sort().alias("datasets"),
    )
    lines = lines.sort("prompter", "model", *keys, nulls_last=True).with_row_index("line")
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
