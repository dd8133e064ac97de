"""Tables as CSV that spreadsheets open without computing what a text in them says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import overload

import polars as pl

_FORMULA, _NUMBER = r"^[=+\-@\t\r]", r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


@overload
def write_csv(frame: pl.DataFrame) -> str: ...
@overload
def write_csv(frame: pl.DataFrame, path: Path) -> None: ...
def write_csv(frame: pl.DataFrame, path: Path | None = None) -> str | None:
    """Write a frame as CSV, or give it as text; a text that begins like a formula gets an apostrophe before it.

    That is ``=``, ``+``, ``-``, ``@``, a tab or a carriage return, in heads, too. Numbers stay as they are.
    """
    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    cells = [pl.when(_is_formula(pl.col(name))).then("'" + pl.col(name)).otherwise(name).alias(name) for name in texts]
    heads = {name: f"'{name}" for name in frame.columns if re.match(_FORMULA, name)}
    return frame.with_columns(cells).rename(heads).write_csv(path)


def _is_formula(text: pl.Expr) -> pl.Expr:
    return text.str.contains(_FORMULA) & ~text.str.contains(_NUMBER)
