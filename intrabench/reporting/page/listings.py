"""The report's lists of pairs of lines, of claims that the best model is better, of failures and runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import replace
from typing import Any

import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.metrics.base import Best
from intrabench.reporting.comparison import probability
from intrabench.reporting.footnotes import FEW_MARK, FEW_NOTE
from intrabench.reporting.page.grid import Cell, Grid, digits_of, mean, mean_of, number, word
from intrabench.reporting.page.leading_score import LeadingScore
from intrabench.reporting.page.narrative import chance
from intrabench.results.causes import Group, with_causes
from intrabench.results.statuses import UNDONE
from intrabench.statistics.aggregate import Aggregation, aggregate
from intrabench.statistics.budgets import Gain, paired_gains
from intrabench.statistics.infinite import Infinite
from intrabench.statistics.ranking import sides
from intrabench.statistics.resample import AVERAGE, FEW, Draws, with_average
from intrabench.statistics.significance import ENOUGH, differences, paired_values
from intrabench.statistics.soundness import check_mixable

PAIRS = 200
"""So many pairs are listed."""


Gains = Sequence[tuple[Gain, Infinite]]
"""Of pairs of lines, as `paired_gains`."""


def pair_gains(draws: Draws, scored: pl.DataFrame, pairs: pl.DataFrame, lead: LeadingScore) -> Gains:
    """`paired_gains` of the first line over the second of each pair; NaN of those of which one lacks a data set."""
    where = {line: number for number, line in enumerate(draws.lines["line"])}
    which = [(where[one], where[other]) for one, other in pairs.select("line", "line_other").iter_rows()]
    return paired_gains(draws, scored, "line", which, lead.best, lead.how)


def pair_grid(
    pairs: pl.DataFrame, apart: Gains, lines: pl.DataFrame, seen: Set[int], lead: LeadingScore
) -> tuple[Grid, int]:
    """The differences and tests of pairs of lines, the smallest p first, and the number of pairs left out.

    pairs: `ranking.pairs` by line. apart: `pair_gains` of those to list. seen: lines trained on any of the data.
    """
    names = dict(lines.select("line", "name").iter_rows())

    def name(line: int) -> Cell:
        return Cell(names[line], names[line], mark="†" if line in seen else "")

    listed = [
        [name(pair["line"]), name(pair["line_other"])]
        + [mean((value, infinite), lead.digits, low, high), number(pair["patients"])]
        + [number(pair["rank_biserial"], 2), Cell(chance(pair["p_holm"]), pair["p_holm"])]
        for pair, ((value, low, high), infinite) in zip(pairs.iter_rows(named=True), apart, strict=False)
    ]
    heads = ["First line", "Second line", "Difference", "Patients", "Rank-biserial", "p, corrected"]
    return Grid("pairs", heads, listed, headed=2), max(pairs.height - len(apart), 0)


def failure_grid(rows: pl.DataFrame, most: int = 200) -> tuple[Grid, int]:
    """Failures grouped by cause, the most frequent first, and the number of groups left out."""
    wrong = with_causes(rows.filter(pl.col("status").is_in(UNDONE)))
    keys = ["status", "cause", "name", "dataset"]
    kinds = wrong.group_by(keys).agg(
        pl.col("session").n_unique().alias("sessions"),
        pl.col("error").min(),
        pl.col("error").n_unique().alias("distinct"),
        pl.format("{}, {}", "case", "target").unique().sort().alias("where"),
    )
    kinds = kinds.sort("sessions", *keys, descending=[True, *[False] * len(keys)])
    listed = [
        [
            word(kind["status"]),
            word(_message(kind)),
            number(kind["sessions"]),
            word(kind["name"]),
            word(kind["dataset"]),
        ]
        + [word(_several(kind["where"]))]
        for kind in kinds.head(most).iter_rows(named=True)
    ]
    heads = ["Status", "Message", "Sessions", "Line", "Data set", "Case, target"]
    return Grid("failures", heads, listed), max(kinds.height - most, 0)


def _message(kind: Mapping[str, Any]) -> str:
    """The message of failures, and an example if theirs differ."""
    group = Group(kind["cause"], kind["sessions"], kind["error"], kind["distinct"])
    return f"{group.sentence}; for example: {group.example}" if group.example else group.sentence


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


CAPTION = (
    "Claims: within each prompter, the model with the best mean is better than each other one. Difference: by how much "
    "its mean {title} is better, on the targets and seeds that both have, and below it the 95 % interval (t, over "
    "patients). Probability: that the claim is false (Claims Reloaded, arXiv 2505.04720). With fewer than "
    f"{FEW} patients of a data set there is neither."
)
HEADS = ("The best", "Is better than", "Data sets", "Patients", "Difference", "Probability that this is false")


def claim_section(scored: pl.DataFrame, lines: pl.DataFrame, lead: LeadingScore) -> dict[str, Any]:
    """What the page shows: the table `claims`, None if nothing can be claimed, and `claims_caption`.

    scored: `scores` or `measured` of the score that leads, with the column ``line``. The best model of a prompter is
    that with the best mean over all data sets. Nothing can be claimed of fewer than two models with a prompter, of too
    few patients, and of protocols with different definitions.
    """
    with suppress(IntraBenchError):
        check_mixable(scored, lead.column)
        return _section(scored, lines, lead)
    return {"claims": None, "claims_caption": ""}


def _section(scored: pl.DataFrame, lines: pl.DataFrame, lead: LeadingScore) -> dict[str, Any]:
    names = dict(lines.select("line", "name").iter_rows())
    rows: list[list[Cell]] = []
    for group in lines.partition_by("shown", maintain_order=True):
        within = scored.filter(pl.col("line").is_in(group["line"].to_list()))
        means = with_average(aggregate(within, ["line"], lead.how), ["line"], within["dataset"].n_unique())
        means = means.filter(pl.col("dataset") == AVERAGE).sort("line")
        if len(means) < 2:
            continue
        best = max(means.iter_rows(named=True), key=lambda row: Infinite.beside(row).order(lead.best))["line"]
        for one in against(within, best, lead.how, lead.best).iter_rows(named=True):
            rows.append([word(names[best]), *_row(one, names, lead)])
    if all(row[-1].value is None for row in rows):
        return {"claims": None, "claims_caption": ""}
    marked = f" {FEW_MARK}: {FEW_NOTE}." if any(cell.note for row in rows for cell in row) else ""
    return {"claims": Grid("claims", HEADS, rows), "claims_caption": CAPTION.format(title=lead.title) + marked}


def against(scored: pl.DataFrame, first: int, how: Aggregation, best: Best = "high") -> pl.DataFrame:
    """`differences` of the first line from each other `line`, averaged over the data sets that both have; `datasets`.

    A difference says by how much the first is better. `both_infinite` as in `Infinite`.
    The pairs whose claim is most likely false come first.
    """
    parts = sides(scored, scored.select("line").unique().with_columns(_line="line"))
    mine, found = parts.pop(first), []
    units = [paired_values(part, mine, best).with_columns(line=pl.lit(line)) for line, part in parts.items()]
    # An average over data sets compares only over the same ones, and lines have different data sets in common with the
    # best; so those that share the same ones are computed together.
    apart = pl.concat(units).with_columns(_shared=pl.col("dataset").unique().sort().str.join("\n").over("line"))
    for alike in apart.partition_by("_shared"):
        every = differences(alike.drop("_shared"), ["line"], how).filter(pl.col("dataset") == AVERAGE)
        both = alike.group_by("line").agg(pl.col("both_infinite").sum())
        found.append(every.with_columns(datasets=pl.lit(alike["dataset"].n_unique())).join(both, on="line"))
    return (
        pl.concat(found).sort("false", "line", descending=[True, False], nulls_last=True) if found else pl.DataFrame()
    )


def _row(one: dict[str, Any], names: dict[int, str], lead: LeadingScore) -> list[Cell]:
    mark = FEW_MARK if one["low"] is not None and one["fewest"] < ENOUGH else ""
    false = Cell("–") if one["false"] is None else Cell(probability(one["false"]), one["false"])
    difference = mean(mean_of(one), lead.digits, note=mark)
    if one["low"] is not None:
        ends = " to ".join(digits_of(one[end], lead.digits) for end in ("low", "high"))
        difference = replace(difference, interval=ends)
    return [word(names[one["line"]]), number(one["datasets"]), number(one["patients"]), difference, false]
