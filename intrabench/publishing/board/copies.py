"""Sessions that several submissions have: one of them is a copy, or both are of the same run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from intrabench.errors import several
from intrabench.publishing.board.submission import Submission

SAME = ("session", "run_id", "round", "written_at")
"""Equal in two submissions only if the rows are: a run writes each row at a time of its own."""


@dataclass(frozen=True)
class Common:
    """How many sessions two submissions have in common."""

    one: str
    other: str
    sessions: int

    @property
    def words(self) -> str:
        """In a sentence."""
        both = f"{self.one} and {self.other} have {several(self.sessions, 'session')} in common"
        return f"{both}, with equal runs and times: one is a copy, or both are of one run; keep one of them"


def common(submissions: Sequence[Submission]) -> Iterator[Common]:
    """Each two submissions that have sessions in common."""
    read = [(one.name, one.rows) for one in submissions if one.rows is not None]
    if len(read) < 2:
        return
    rows = pl.concat([rows.select(SAME).with_columns(submission=pl.lit(name)) for name, rows in read])
    pairs = shared(rows).filter(pl.col("submission") < pl.col("other")).group_by("submission", "other")
    for found in pairs.agg(pl.col("session").n_unique()).sort("submission", "other").iter_rows():
        yield Common(*found)


def shared(rows: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """The rows that several submissions have, with `columns`: once for each `other` submission that has them, too.

    rows: of all submissions, with a column `submission`.
    """
    twice = rows.select("submission", *SAME, *columns).filter(pl.struct(SAME).is_duplicated())
    others = twice.select(pl.col("submission").alias("other"), *SAME)
    return twice.join(others, on=SAME).filter(pl.col("submission") != pl.col("other"))
