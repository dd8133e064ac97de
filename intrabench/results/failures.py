"""The failures that a results folder holds, by their causes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from intrabench.errors import cause
from intrabench.results.causes import with_causes
from intrabench.results.current import current
from intrabench.results.runs import read_records
from intrabench.results.selection import EVERYTHING, Selection
from intrabench.results.statuses import UNDONE


@dataclass(frozen=True)
class Kind:
    """Sessions that failed alike. error: of one of them; cause: what the errors of all have in common; see `causes`.

    distinct: how many different errors there are. traceback: where in the code one of them happened; empty if its run
    kept none.
    """

    status: str
    cause: str
    error: str
    distinct: int
    sessions: int
    models: Sequence[str]
    datasets: Sequence[str]
    cases: Sequence[str]
    traceback: str


def kinds_of_failures(
    rows: pl.DataFrame, root: Path, selection: Selection = EVERYTHING
) -> tuple[list[Kind], list[str]]:
    """The failures of the sessions that count, the most frequent first, and what does not count (`current`).

    rows: those of the results folder `root`.
    """
    counted, left_out = current(rows, root=root)
    rows = with_causes(selection.of(counted, root).filter(pl.col("status").is_in(UNDONE)))
    each = [pl.col(name).unique().sort() for name in ("model", "dataset", "case")]
    errors = [pl.col("error").min(), pl.col("error").n_unique().alias("distinct")]
    kinds = rows.group_by("status", "cause").agg(pl.col("session").n_unique(), *errors, *each)
    known = _tracebacks(root)
    found = [
        Kind(
            **{name: kind[name] for name in ("status", "cause", "error", "distinct")},
            sessions=kind["session"],
            models=kind["model"],
            datasets=kind["dataset"],
            cases=kind["case"],
            traceback=known.get(f"{kind['status']}: {kind['cause']}", ""),
        )
        for kind in kinds.sort("session", "status", "cause", descending=[True, False, False]).iter_rows(named=True)
    ]
    return found, left_out


def _tracebacks(root: Path) -> dict[str, str]:
    """The tracebacks that runs kept, by ``status: cause``; the newest run decides."""
    return {
        cause(why): str(text) for record in read_records(root) for why, text in record.get("tracebacks", {}).items()
    }
