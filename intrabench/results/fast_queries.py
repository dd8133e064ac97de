"""Questions about a million rows that cost little time and memory, unlike groups of texts and copies."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl


def keys(rows: pl.DataFrame, columns: Sequence[str]) -> pl.Series:
    """A number for each row, equal where these columns are; also of other rows, if the columns have the same types."""
    return rows.select(columns).hash_rows()


def different(rows: pl.DataFrame, columns: Sequence[str]) -> int:
    """The number of different values of columns together, by their hashes."""
    return keys(rows, columns).n_unique()


def only(rows: pl.DataFrame, wanted: pl.Expr) -> pl.DataFrame:
    """The rows for which `wanted` is true; if these are all, they are not copied."""
    kept = rows.select(wanted.fill_null(False)).to_series()
    return rows if kept.all() else rows.filter(kept)
