"""Footnotes of what the answers show: of the rounds that a budget allows, not of whole sessions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import polars as pl

from intrabench.reporting.footnotes import Footnotes, Place, footnotes
from intrabench.statistics.adapted import adapted
from intrabench.statistics.budgets import Budget, within

Marks = Mapping[int, str]
"""Letters of footnotes by line."""


def notes_at(
    rows: pl.DataFrame, budget: Budget, lines: Collection[int], column: str
) -> tuple[Marks, Mapping[str, str]]:
    """The marks of these lines at a budget, and the texts of the marks.

    rows: of all sessions, with `line`. column: of the metric, as for `adapted`.
    """
    allowed = within(rows.filter(pl.col("line").is_in(list(lines))), budget)
    frame = pl.DataFrame({"line": sorted(lines)}, schema={"line": rows.schema["line"]})
    found = footnotes(frame, [Place(adapted(allowed, ["line"], column=column), ["line"], ["answer"])])
    return dict(zip(frame["line"], _marks(found, frame), strict=True)), found.texts


def notes_after(
    rows: pl.DataFrame, points: Sequence[tuple[int, int]], column: str
) -> tuple[list[str], Mapping[str, str]]:
    """The mark of each point, a line after a round, and the texts of the marks; else as `notes_at`."""
    frame = pl.DataFrame(points, schema={"line": rows.schema["line"], "after": pl.Int64}, orient="row")
    told = [
        adapted(rows.filter(line=line), ["line"], after, column).with_columns(after=pl.lit(after, pl.Int64))
        for line, after in points
    ]
    found = footnotes(frame, [Place(pl.concat(told), ["line", "after"], ["answer"])] if told else [])
    return _marks(found, frame), found.texts


def _marks(found: Footnotes, frame: pl.DataFrame) -> list[str]:
    return list(found.marks.get("answer", [""] * frame.height))
