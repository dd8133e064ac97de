"""What of a submission nobody can choose: its ledger, with a digest of each row, and its sample of sessions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from intrabench.results.differences import who
from intrabench.results.files import together
from intrabench.results.statuses import ANSWERED

_WHO = ("dataset", "case", "target", "model", "weights", "weights_sha256", "prompter", "seed")
_KEY = ("session", "round")
LEDGER: dict[str, Any] = {
    **dict.fromkeys(("session", "digest"), pl.String),
    "round": pl.Int64,
    **dict.fromkeys(_WHO, pl.String),
}
"""The columns of a ledger: a row, its digest, and who it is."""

_AT_ONCE = 100_000
"""Rows whose texts are in memory together."""


def ledger_of(rows: pl.DataFrame) -> pl.DataFrame:
    """The ledger of rows, one line each."""
    lines = rows.select(*_KEY, *(pl.col(name).cast(pl.String) for name in _WHO))
    return lines.with_columns(digest=pl.Series(list(_digests(rows)), dtype=pl.String)).select(*LEDGER)


def read_ledger(path: Path) -> pl.DataFrame | None:
    """A stored ledger; None if it cannot be read."""
    return together([path], LEDGER)


def against(rows: pl.DataFrame, ledger: pl.DataFrame) -> Iterator[str]:
    """A sentence for each row that is not as its ledger says."""
    now = ledger_of(rows)
    both = now.join(ledger, on=_KEY, suffix="_then")
    for row in both.filter(pl.col("digest") != pl.col("digest_then")).sort(_KEY).iter_rows(named=True):
        yield f"{title(row)}: the row was changed, for the ledger has another digest of it"
    for row in ledger.join(now, on=_KEY, how="anti").sort(_KEY).iter_rows(named=True):
        yield f"{title(row)}: the ledger has this row, but it was removed"
    for row in now.join(ledger, on=_KEY, how="anti").sort(_KEY).iter_rows(named=True):
        yield f"{title(row)}: the row was added, for the ledger does not have it"


def title(row: dict[str, Any]) -> str:
    """A row in words."""
    weights = {name: row[name] or "" for name in ("weights", "weights_sha256")}
    return f"{who(row | weights)}, round {row['round']}"


def _digests(rows: pl.DataFrame) -> Iterator[str]:
    """16 hex digits of the sha256 of all values of each row, with their columns; a column without a value is left out.

    Numbers are taken by their bits, so that no version of a library writes them otherwise.
    """
    for start in range(0, rows.height, _AT_ONCE):
        some = rows.slice(start, _AT_ONCE)
        texts = [_text(some[name]) for name in sorted(some.columns)]
        for text in pl.select(pl.concat_str(texts, separator="\x1f", ignore_nulls=True)).to_series():
            yield hashlib.sha256(text.encode()).hexdigest()[:16]


def _text(column: pl.Series) -> pl.Expr:
    name = column.name
    if column.dtype == pl.Float64:
        bits = column.fill_null(0).to_numpy().view(np.int64)
        column = pl.Series(name, bits).set(column.is_null(), None)
    return pl.format("{}\x1e{}", pl.lit(name), pl.lit(column.cast(pl.String)))


LEAST = 5
"""Sessions that are sampled, if there are so many."""


def sampled_sessions(rows: pl.DataFrame, count: int) -> list[str]:
    """So many of the sessions that ended with an answer, by the hashes of their keys, which depend on no result."""
    last = rows.filter(pl.col("round") == pl.col("round").max().over("session"))
    names = last.filter(pl.col("status").is_in(ANSWERED))["session"].unique().to_list()
    return sorted(names, key=lambda name: sha256(name.encode()).hexdigest())[:count]
