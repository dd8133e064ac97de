"""CSV files that spreadsheets open without running anything in them."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl

_FORMULA = r"^[=+\-@\t\r]"
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+|inf)([eE][+-]?\d+)?$"


def write_csv(frame: pl.DataFrame, file: Path | None = None) -> str:
    """Write a frame as CSV to a file, or, without one, return it as text.

    A text that a spreadsheet would take for a formula, because it begins with = + - @, a tab or a carriage return, gets
    an apostrophe in front. Numbers are never changed.
    """
    columns = [_safe(name) for name, kind in frame.schema.items() if kind in (pl.String, pl.Categorical)]
    safe = frame.with_columns(columns)
    safe.columns = [f"'{name}" if re.match(_FORMULA, name) else name for name in frame.columns]
    if file is None:
        return safe.write_csv()
    safe.write_csv(file)
    return ""


def _safe(column: str) -> pl.Expr:
    text = pl.col(column).cast(pl.String)
    risky = text.str.contains(_FORMULA) & ~text.str.contains(_NUMBER)
    return pl.when(risky).then(pl.lit("'") + text).otherwise(text).alias(column)
