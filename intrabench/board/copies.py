"""Sessions that several submissions have: one of them is a copy, or both are of the same run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from intrabench.board.submission import Submission
from intrabench.errors import several

SAME = ("session", "run_id", "round", "written_at")
"""Equal in two submissions only if the rows are: a run writes each row at a time of its own."""


def shared(rows: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """The rows that several submissions have: `by` and the other submissions, a line per pair; rows: `submission`."""
    few = rows.select("submission", *SAME, *(name for name in by if name not in ("submission", *SAME)))
    twice = few.filter(pl.struct(SAME).is_duplicated())
    others = twice.select(pl.col("submission").alias("other"), *SAME)
    return twice.join(others, on=SAME).filter(pl.col("submission") != pl.col("other"))


def copies(submissions: Sequence[Submission]) -> Iterator[str]:
    """A sentence for each two submissions that have sessions in common."""
    read = [(one.name, one.rows) for one in submissions if one.rows is not None]
    frames = [rows.select(SAME).with_columns(submission=pl.lit(name)) for name, rows in read]
    if len(frames) < 2:
        return
    found = shared(pl.concat(frames), ()).filter(pl.col("submission") < pl.col("other"))
    counted = found.group_by("submission", "other").agg(pl.col("session").n_unique()).sort("submission", "other")
    for one, other, count in counted.iter_rows():
        yield (
            f"{one} and {other} have {several(count, 'session')} in common, with equal runs and times: one is a copy, "
            "or both are of one run; keep one of them"
        )
