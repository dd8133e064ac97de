"""The tables of the report, from the scores of sessions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from intrabench.results.aggregate import Aggregation, aggregate
from intrabench.results.curves import auc, noc, reached, regressions
from intrabench.results.ranking import Ranking
from intrabench.results.report.grid import Cell, Grid, count, interval_text, number, word
from intrabench.results.report.strata import SIZES
from intrabench.results.resample import AVERAGE, with_average
from intrabench.results.steps import Steps
from intrabench.results.store import FAILED

EFFORT = {
    "interactions": "interactions",
    "dof": "degrees of freedom",
    "seconds_human": "seconds of the user",
    "machine_s": "seconds of the machine",
}
"""Columns of effort and their names."""

_DIGITS = {"dice": 3, "iou": 3, "nsd": 3, "hd95": 1}


def effort_grid(scored: pl.DataFrame, lines: pl.DataFrame, means: pl.DataFrame, seen: set[tuple[int, str]]) -> Grid:
    """Effort against Dice: a row per line, a column per data set, and their average.

    means: `intervals` by line. seen: lines and data sets that their weights were trained on.
    """
    datasets = scored["dataset"].unique().sort().to_list()
    places = datasets + [AVERAGE] if len(datasets) > 1 else datasets
    counts = scored.group_by("line").agg(
        (pl.col("target") != "*").sum().alias("sessions"), pl.col("failed").sum(), pl.col("not_applicable").sum()
    )
    usual = scored.filter(~pl.col("failed") & ~pl.col("not_applicable"))
    spent = usual.group_by("line").agg(pl.col(name).mean() for name in EFFORT)
    told = lines.join(counts, on="line").join(spent, on="line", how="left").sort("line")
    trouble = [(name, head) for name, head in _TROUBLE if told[name].sum()]
    found = {(row["line"], row["dataset"]): row for row in means.iter_rows(named=True)}
    rows = [
        [
            *_names(line, lines),
            count(line["sessions"]),
            *(count(line[name]) for name, _ in trouble),
            *(number(line[name], 2 if name == "machine_s" else 1) for name in EFFORT),
            *(_mean(found.get((line["line"], place)), (line["line"], place) in seen) for place in places),
        ]
        for line in told.iter_rows(named=True)
    ]
    heads = [
        *_heads(lines),
        "Sessions",
        *(head for _, head in trouble),
        "Interactions",
        "DoF",
        "User, s",
        "Machine, s",
        *places,
    ]
    return Grid("effort", heads, rows, headed=len(_heads(lines)))


_TROUBLE = (("failed", "Failed"), ("not_applicable", "Not applicable"))


def metric_grid(scored: Mapping[str, pl.DataFrame], lines: pl.DataFrame, how: Aggregation) -> Grid:
    """All metrics, each the average of data sets. scored: `scores` by name of the metric."""
    found = {name: _averages(sessions, how) for name, sessions in scored.items()}
    rows = [
        [*_names(line, lines), *(number(found[name].get(line["line"]), _DIGITS[name]) for name in found)]
        for line in lines.sort("line").iter_rows(named=True)
    ]
    heads = {"dice": "Dice", "iou": "IoU", "nsd": "NSD, 2 mm", "hd95": "HD95, mm"}
    return Grid("metrics", [*_heads(lines), *(heads[name] for name in found)], rows, headed=len(_heads(lines)))


def progress_grid(played: Steps, lines: pl.DataFrame, how: Aggregation) -> Grid:
    """What corrections bring: area under the steps, clicks to a Dice, who gets there, and corrections that did harm."""
    areas = _averages(auc(played, budget=BUDGET), how)
    clicks = _averages(noc(played, _GOAL, BUDGET), how)
    there = reached(played, ["line"]).group_by("line", "threshold").agg(pl.col("reached", "never").sum())
    shares = {(line, goal): yes / (yes + no) for line, goal, yes, no in there.iter_rows()}
    harm = (
        regressions(played, ["line"])
        .group_by("line")
        .agg((pl.col("worse") * pl.col("corrections")).sum() / pl.col("corrections").sum())
    )
    worse = dict(harm.iter_rows())
    goals = there["threshold"].unique().sort().to_list()
    rows = [
        [
            *_names(line, lines),
            number(areas.get(line["line"]), 3),
            number(clicks.get(line["line"]), 1),
            *(_percent(shares.get((line["line"], goal))) for goal in goals),
            _percent(worse.get(line["line"])),
        ]
        for line in lines.sort("line").iter_rows(named=True)
    ]
    heads = [f"Area, 0 to {BUDGET}", f"NoC {_GOAL}", *(f"Reach {goal:g}" for goal in goals), "Harmful"]
    return Grid("progress", [*_heads(lines), *heads], rows, headed=len(_heads(lines)))


BUDGET, _GOAL = 20, 0.8


def _averages(scored: pl.DataFrame, how: Aggregation) -> dict[int, float]:
    """The mean over data sets by line; without the lines that lack one."""
    table = with_average(aggregate(scored, ["line"], how), ["line"], scored["dataset"].n_unique())
    return dict(table.filter(pl.col("dataset") == AVERAGE).select("line", "value").iter_rows())


def _percent(share: float | None) -> Cell:
    return Cell("–") if share is None else Cell(f"{share:.0%}".replace("%", " %"), share)


def size_grid(means: pl.DataFrame, lines: pl.DataFrame) -> Grid:
    """Dice by size of the target. means: `strata`."""
    found = {(line, show): value for line, show, value in means.select("line", "show", "value").iter_rows()}
    names = means.unique("size").sort(pl.col("size").replace_strict(dict(zip(SIZES, range(3), strict=True))))["show"]
    rows = [
        [*_names(line, lines), *(number(found.get((line["line"], name)), 3) for name in names)]
        for line in lines.sort("line").iter_rows(named=True)
    ]
    return Grid("sizes", [*_heads(lines), *names], rows, headed=len(_heads(lines)))


def ranking_grid(found: Ranking, lines: pl.DataFrame, seen: set[int]) -> Grid:
    """Lines by rank, with the ranks that they have in 95 % of the draws. seen: lines trained on any of the data."""
    told = found.table.join(lines, on="line", maintain_order="left")
    last = told.height
    rows = [
        [
            number(line["rank"]),
            *_names(line, lines),
            number(line["value"], 3, mark="†" if line["line"] in seen else ""),
            Cell(interval_text(line["low"], line["high"], 0) or "–", line["low"], strip=_strip(line, last)),
        ]
        for line in told.iter_rows(named=True)
    ]
    return Grid("ranking", ["Rank", *_heads(lines), "Mean Dice", "Ranks, 95 %"], rows, headed=1)


def _strip(line: Mapping[str, Any], last: int) -> tuple[float, float, float] | None:
    """Where the rank and the ends of its interval lie on a strip from the first to the last rank, in percent."""
    if line["low"] is None or last < 2:
        return None
    low, rank, high = (100 * (line[name] - 1) / (last - 1) for name in ("low", "rank", "high"))
    return low, rank, high


def failure_grid(rows: pl.DataFrame, most: int = 200) -> tuple[Grid, int]:
    """What went wrong, alike failures together, the most frequent first; and how many kinds are left out."""
    wrong = rows.filter(pl.col("status").is_in(FAILED))
    keys = ["status", "error", "name", "dataset"]
    kinds = wrong.group_by(keys).agg(
        pl.col("session").n_unique().alias("sessions"),
        pl.format("{}, {}", "case", "target").unique().sort().alias("where"),
    )
    kinds = kinds.sort("sessions", *keys, descending=[True, *[False] * len(keys)])
    listed = [
        [word(kind["status"]), word(kind["error"]), count(kind["sessions"]), word(kind["name"]), word(kind["dataset"])]
        + [word(_several(kind["where"]))]
        for kind in kinds.head(most).iter_rows(named=True)
    ]
    heads = ["Status", "Message", "Sessions", "Line", "Data set", "Case, target"]
    return Grid("failures", heads, listed), max(kinds.height - most, 0)


def run_grid(records: Sequence[Mapping[str, Any]]) -> Grid:
    """The runs, in the order of their names, which begin with the time."""
    rows = []
    for record in records:
        counts = record.get("sessions") or {}
        times = [word(str(record.get(name) or "")[:16].replace("T", " ")) for name in ("started", "ended")]
        numbers = [number(counts.get(name)) for name in ("computed", "failed")]
        told = [word(record.get(name)) for name in ("run_id", "state", "command")]
        rows.append([told[0], *times, told[1], *numbers, told[2]])
    return Grid("runs", ["Run", "Started, UTC", "Ended", "State", "Computed", "Failed", "Command"], rows)


def _several(names: Sequence[str], most: int = 3) -> str:
    return "; ".join(names[:most]) + (f"; and {len(names) - most} more" if len(names) > most else "")


def _heads(lines: pl.DataFrame) -> list[str]:
    return ["Prompter", "Model", *(["Which"] if lines["notes"].ne("").any() else [])]


def _names(line: Mapping[str, Any], lines: pl.DataFrame) -> list[Cell]:
    return [word(line[name]) for name in ("shown", "model", "notes")[: len(_heads(lines))]]


def _mean(found: Mapping[str, Any] | None, seen: bool) -> Cell:
    """A mean with its interval; nothing where a line has no session that counts."""
    if found is None:
        return number(None)
    within = interval_text(found["low"], found["high"], 2)
    return number(found["value"], 3, interval=within, mark="†" if seen else "")
