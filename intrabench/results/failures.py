"""The failures that a results folder holds, each distinct one once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from intrabench.results.current import current
from intrabench.results.runs import read_records
from intrabench.results.statuses import UNDONE


@dataclass(frozen=True)
class Kind:
    """Sessions that failed alike. traceback: where in the code, of one of them; empty if its run kept none."""

    status: str
    error: str
    sessions: int
    models: Sequence[str]
    datasets: Sequence[str]
    cases: Sequence[str]
    traceback: str


def kinds_of_failures(rows: pl.DataFrame, root: Path) -> list[Kind]:
    """The failures of the sessions that count, the most frequent first. rows: those of the results folder `root`."""
    rows = current(rows)[0].filter(pl.col("status").is_in(UNDONE))
    each = [pl.col(name).unique().sort() for name in ("model", "dataset", "case")]
    kinds = rows.group_by("status", "error").agg(pl.col("session").n_unique(), *each)
    tracebacks = _tracebacks(root)
    return [
        Kind(status, error, sessions, models, datasets, cases, tracebacks.get(f"{status}: {error}", ""))
        for status, error, sessions, models, datasets, cases in kinds.sort(
            "session", "status", "error", descending=[True, False, False]
        ).iter_rows()
    ]


def _tracebacks(root: Path) -> dict[str, str]:
    """The tracebacks that runs kept, by ``status: error``; the newest run decides."""
    return {why: str(text) for record in read_records(root) for why, text in record.get("tracebacks", {}).items()}
