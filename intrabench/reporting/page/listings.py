"""The report's lists of pairs of lines, failures and runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

import polars as pl

from intrabench.metrics.base import Best
from intrabench.reporting.page.grid import Cell, Grid, interval_text, number, word
from intrabench.reporting.page.leading_score import LeadingScore
from intrabench.reporting.page.narrative import chance
from intrabench.results.statuses import UNDONE
from intrabench.statistics.budgets import Gain, gains
from intrabench.statistics.resample import Drawn

PAIRS = 200
"""So many pairs are listed."""


def pair_gains(drawn: Drawn, pairs: pl.DataFrame, best: Best) -> list[Gain]:
    """`gains` of the first line over the second of each pair; NaN of those of which one lacks a data set."""
    where = {line: number for number, line in enumerate(drawn.lines["line"])}
    return gains(
        drawn, [(where[one], where[other]) for one, other in pairs.select("line", "line_other").iter_rows()], best
    )


def pair_grid(
    pairs: pl.DataFrame, apart: Sequence[Gain], lines: pl.DataFrame, seen: Set[int], lead: LeadingScore
) -> tuple[Grid, int]:
    """The differences and tests of pairs of lines, the smallest p first, and the number of pairs left out.

    pairs: `ranking.pairs` by line. apart: `pair_gains` of those to list. seen: lines trained on any of the data.
    """
    names = dict(lines.select("line", "name").iter_rows())

    def name(line: int) -> Cell:
        return Cell(names[line], names[line], mark="†" if line in seen else "")

    listed = [
        [name(pair["line"]), name(pair["line_other"])]
        + [number(value, lead.digits, interval_text(low, high, lead.digits)), number(pair["patients"])]
        + [number(pair["rank_biserial"], 2), Cell(chance(pair["p_holm"]), pair["p_holm"])]
        for pair, (value, low, high) in zip(pairs.iter_rows(named=True), apart, strict=False)
    ]
    heads = ["First line", "Second line", "Difference", "Patients", "Rank-biserial", "p, corrected"]
    return Grid("pairs", heads, listed, headed=2), max(pairs.height - len(apart), 0)


def failure_grid(rows: pl.DataFrame, most: int = 200) -> tuple[Grid, int]:
    """Failures grouped by message, the most frequent first, and the number of groups left out."""
    wrong = rows.filter(pl.col("status").is_in(UNDONE))
    keys = ["status", "error", "name", "dataset"]
    kinds = wrong.group_by(keys).agg(
        pl.col("session").n_unique().alias("sessions"),
        pl.format("{}, {}", "case", "target").unique().sort().alias("where"),
    )
    kinds = kinds.sort("sessions", *keys, descending=[True, *[False] * len(keys)])
    listed = [
        [word(kind["status"]), word(kind["error"]), number(kind["sessions"]), word(kind["name"]), word(kind["dataset"])]
        + [word(_several(kind["where"]))]
        for kind in kinds.head(most).iter_rows(named=True)
    ]
    heads = ["Status", "Message", "Sessions", "Line", "Data set", "Case, target"]
    return Grid("failures", heads, listed), max(kinds.height - most, 0)


def run_grid(records: Sequence[Mapping[str, Any]]) -> Grid:
    """The runs in the order of their names, which begin with the time."""
    rows = []
    for record in records:
        counts = record.get("sessions") or {}
        times = [word(str(record.get(name) or "")[:16].replace("T", " ")) for name in ("started", "ended")]
        numbers = [number(counts.get(name)) for name in ("computed", "failed")]
        cells = [word(record.get(name)) for name in ("run_id", "state", "command")]
        rows.append([cells[0], *times, cells[1], *numbers, cells[2]])
    return Grid("runs", ["Run", "Started, UTC", "Ended", "State", "Computed", "Failed", "Command"], rows)


def _several(names: Sequence[str], most: int = 3) -> str:
    return "; ".join(names[:most]) + (f"; and {len(names) - most} more" if len(names) > most else "")
