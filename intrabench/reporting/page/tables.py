"""The report's tables with one row per line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

import polars as pl

from intrabench.metrics.base import Best, Metric
from intrabench.reporting.footnotes import Footnotes, Place, footnotes
from intrabench.reporting.formats import decimals
from intrabench.reporting.page.grid import (
    NO_MEAN,
    Cell,
    Grid,
    Mean,
    interval_text,
    mean_of,
    number,
    with_best_marks,
    word,
)
from intrabench.reporting.page.grid import mean as mean_cell
from intrabench.reporting.page.leading_score import LeadingScore
from intrabench.statistics.aggregate import Aggregation, aggregate, totals
from intrabench.statistics.coverage import unequal
from intrabench.statistics.curves import reached, regressions
from intrabench.statistics.measures import Area, Clicks, Measure
from intrabench.statistics.notes import MEAN_OF, adapted, cut_short_of
from intrabench.statistics.ranking import Ranking
from intrabench.statistics.resample import AVERAGE, with_average
from intrabench.statistics.steps import Steps

EFFORT = {
    "interactions": "interactions",
    "dof": "degrees of freedom",
    "seconds_human": "seconds of the user",
    "machine_s": "seconds of the machine",
}
"""Columns of effort and their names."""


class Notes(dict[tuple[int, str], str]):
    """Marks of footnotes by line and data set, or `AVERAGE`. fewer: those at means of fewer targets than others."""

    fewer: Set[str] = frozenset()

    def without_fewer(self) -> Notes:
        """Those of numbers that are of the same targets in all lines."""
        return Notes({at: ",".join(sorted({*marks.split(",")} - self.fewer)) for at, marks in self.items()})


def line_notes(
    rows: pl.DataFrame, scored: pl.DataFrame, lines: pl.DataFrame, capped: Mapping[Measure, Steps]
) -> tuple[Footnotes, dict[Measure | None, Notes]]:
    """Footnotes on adapted prompts, sessions cut short and means of fewer targets; the marks of each number, and (None)
    of all others.

    scored: `scores` of the rows. capped: numbers that have a cap, and the sessions that they are of.
    """
    datasets = rows["dataset"].unique().sort().to_list()
    # All tables of the page share their letters, so footnotes are made of one imagined table, with a column for each
    # number and data set.
    columns = {(of, place): f"{n} {place}" for n, of in enumerate([None, *capped]) for place in [*datasets, AVERAGE]}

    def at(notes: pl.DataFrame, whole: pl.DataFrame, numbers: Sequence[Measure | None]) -> list[Place]:
        def place(found: pl.DataFrame, name: str, again: bool = False) -> Place:
            return Place(found, ["line"], [columns[one, name] for one in numbers], again)

        return [*(place(notes.filter(dataset=name), name) for name in datasets), place(whole, AVERAGE, again=True)]

    by = ["line", "dataset"]
    few = unequal(scored, ["line"])
    places = at(adapted(rows, by), adapted(rows, ["line"]), [None, *capped])
    places += at(few, few.drop("dataset"), [None, *capped])
    for one, played in capped.items():
        places += at(cut_short_of(played, by, one), cut_short_of(played, ["line"], one), [one])
    found = footnotes(lines.select("line"), places)
    fewer = frozenset(mark for mark, words in found.texts.items() if words.startswith(MEAN_OF))
    marks = dict[Measure | None, Notes]()
    for of in (None, *capped):
        marks[of] = Notes()
        marks[of].fewer = fewer
    for (of, name), column in columns.items():
        cells = found.marks.get(column, [""] * lines.height)
        marks[of] |= {(line, name): mark for line, mark in zip(lines["line"], cells, strict=True) if mark}
    return found, marks


def effort_grid(
    scored: pl.DataFrame,
    lines: pl.DataFrame,
    means: pl.DataFrame,
    seen: set[tuple[int, str]],
    notes: Notes,
    lead: LeadingScore,
) -> Grid:
    """Effort against the score that leads: a row per line, a column per data set, and their average.

    means: `intervals` by line. seen: lines and data sets that their weights were trained on. notes: of `line_notes`.
    """
    datasets = scored["dataset"].unique().sort().to_list()
    places = datasets + [AVERAGE] if len(datasets) > 1 else datasets
    spending = lines.join(totals(scored, ["line"], [*EFFORT]), on="line", maintain_order="left")
    counted = ["sessions", *(name for name in ("failed", "not_applicable") if spending[name].sum())]
    found = {(row["line"], row["dataset"]): row for row in means.iter_rows(named=True)}

    def mean(line: int, place: str) -> Cell:
        note = notes.get((line, place), "")
        if (line, place) not in found:
            return number(None, note=note)
        row = found[line, place]
        cell = mean_cell(mean_of(row), lead.digits, mark="†" if (line, place) in seen else "", note=note)
        if row["low"] is None or row["infinite"]:
            return cell
        within = interval_text(row["low"], row["high"], max(lead.digits - 1, 1))
        beside = "; ".join(filter(None, (within, cell.interval)))
        return replace(cell, interval=beside, ends=(row["low"], row["high"]))

    def cells(line: Mapping[str, Any]) -> list[Cell]:
        efforts = [number(line[name], 2 if name == "machine_s" else 1) for name in EFFORT]
        return [*(number(line[name]) for name in counted), *efforts, *(mean(line["line"], place) for place in places)]

    names = [name.replace("_", " ").capitalize() for name in counted]
    heads = [*names, "Interactions", "DoF", "User,\u00a0s", "Machine,\u00a0s", *places]
    return _grid("effort", spending, heads, cells, bests=[lead.best] * len(places), fewer=notes.fewer)


def metric_grid(scored: Mapping[Metric, pl.DataFrame], lines: pl.DataFrame, how: Aggregation, notes: Notes) -> Grid:
    """All metrics, each the average of data sets. scored: `scores` by metric."""
    found = [(_averages(sessions, how), decimals(metric.unit)) for metric, sessions in scored.items()]
    heads = [metric.head for metric in scored]
    return _grid(
        "metrics",
        lines,
        heads,
        lambda line: [mean_cell(means.get(line["line"], NO_MEAN), digits) for means, digits in found],
        notes,
        [metric.best for metric in scored],
    )


def clicks_to_goal(metric: str) -> Clicks:
    """The number of clicks of `progress_grid`, in this metric."""
    return Clicks(_GOAL, metric, limit=_BUDGET)


def progress_grid(played: Steps, lines: pl.DataFrame, how: Aggregation, notes: Notes, short: pl.DataFrame) -> Grid:
    """The effect of corrections: area under the steps, clicks to a Dice, share that reaches it, harmful corrections.

    short: `cut_short_of` by line of `clicks_to_goal`, whose numbers get the mark `SHORT`.
    """
    cut = set(short["line"])
    areas = _averages(Area(budget=_BUDGET).of(played), how)
    clicks = _averages(clicks_to_goal("dice").of(played), how)
    there = reached(played, ["line"]).group_by("line", "threshold").agg(pl.col("reached", "never").sum())
    shares = {(line, goal): yes / (yes + no) for line, goal, yes, no in there.iter_rows()}
    worse = (pl.col("worse") * pl.col("corrections")).sum() / pl.col("corrections").sum()
    harm = dict(regressions(played, ["line"]).group_by("line").agg(worse).iter_rows())
    goals = there["threshold"].unique().sort().to_list()

    def cells(line: Mapping[str, Any]) -> list[Cell]:
        key = line["line"]
        reach = [_percent(shares.get((key, goal))) for goal in goals]
        marks = [notes.get((key, AVERAGE), ""), SHORT if key in cut else ""]
        click = number(clicks.get(key, NO_MEAN)[0], 1, note=",".join(filter(None, marks)))
        return [number(areas.get(key, NO_MEAN)[0], 3), click, *reach, _percent(harm.get(key))]

    heads = [f"Area 0–{_BUDGET}", f"NoC\u00a0{_GOAL}", *(f"Reach\u00a0{goal:g}" for goal in goals), "Harmful"]
    high: list[Best | None] = ["high"] * len(goals)
    bests: list[Best | None] = ["high", "low", *high, "low"]
    return _grid("progress", lines, heads, cells, notes, bests)


SHORT = "‡"
_BUDGET, _GOAL = 20, 0.8  # interactions, and the Dice to reach


def thirds_grid(
    id: str,
    means: pl.DataFrame,
    third: str,
    names: Sequence[str],
    lines: pl.DataFrame,
    notes: Notes,
    lead: LeadingScore,
) -> Grid:
    """The score that leads by thirds of the targets.

    means: by ``line`` and the column `third`, which has `names`, with what each is called as ``show``.
    """
    found = {(row["line"], row[third]): mean_of(row) for row in means.iter_rows(named=True)}
    shown = dict(means.select(third, "show").iter_rows())
    there = [name for name in names if name in shown]
    return _grid(
        id,
        lines,
        [shown[name] for name in there],
        lambda line: [mean_cell(found.get((line["line"], name), NO_MEAN), lead.digits) for name in there],
        notes,
        [lead.best] * len(there),
    )


def ranking_grid(
    found: Mapping[str, Ranking], lines: pl.DataFrame, seen: Set[int], notes: Notes, lead: LeadingScore
) -> Grid:
    """The lines of each prompter by rank, with the 95 % interval of ranks over draws. seen: trained on the data."""
    tables = [one.table.with_columns(last=pl.lit(one.table.height)) for one in found.values()]
    ranked = pl.concat(tables).join(lines, on="line", maintain_order="left")

    def cells(line: Mapping[str, Any]) -> list[Cell]:
        within = interval_text(line["low"], line["high"], 0) or "–"
        mark = "†" if line["line"] in seen else ""
        rank = number(line["rank"])
        return [
            rank,
            mean_cell(mean_of(line), lead.digits, mark=mark),
            Cell(within, line["low"], strip=_strip(line, line["last"])),
        ]

    bests: list[Best | None] = [None, lead.best, None]
    return _grid("ranking", ranked, ["Rank", f"Mean {lead.title}", "Ranks, 95 %"], cells, notes, bests)


def _strip(line: Mapping[str, Any], last: int) -> tuple[float, float, float] | None:
    """The positions of a rank and the ends of its interval on a strip from first to last rank, in percent."""
    if line["low"] is None or last < 2:
        return None
    low, rank, high = (100 * (line[name] - 1) / (last - 1) for name in ("low", "rank", "high"))
    return low, rank, high


def _grid(
    id: str,
    lines: pl.DataFrame,
    heads: Sequence[str],
    cells: Callable[[Mapping[str, Any]], Sequence[Cell]],
    notes: Notes | None = None,
    bests: Sequence[Best | None] = (),
    fewer: Set[str] = frozenset(),
) -> Grid:
    """A table with one row per line: columns that identify the line, then its `cells`, with its note.

    bests: of the last columns, which values are marked as the best among the models with one prompter. fewer: marks of
    values that are not compared; those of `notes` are among them.
    """
    names = {"shown": "Prompter", "label": "Model", "notes": "Which"}
    if lines["notes"].eq("").all():
        del names["notes"]
    marks = notes or Notes()
    rows = []
    for line in lines.iter_rows(named=True):
        note = marks.get((line["line"], AVERAGE), "")
        numbers = [replace(cell, note=cell.note or note) for cell in cells(line)]
        rows.append([*(word(line[name]) for name in names), *numbers])
    groups = lines.select("shown", "notes").rows()
    marked = with_best_marks(rows, groups, bests, fewer | marks.fewer)
    return Grid(id, [*names.values(), *heads], marked, headed=len(names))


def _averages(scored: pl.DataFrame, how: Aggregation) -> dict[int, Mean]:
    """The mean over data sets by line, and what is infinite; lines that lack a data set are left out."""
    table = with_average(aggregate(scored, ["line"], how), ["line"], scored["dataset"].n_unique())
    means = table.filter(pl.col("dataset") == AVERAGE).iter_rows(named=True)
    return {row["line"]: mean_of(row) for row in means}


def _percent(share: float | None) -> Cell:
    return Cell("–") if share is None else Cell(f"{100 * share:.0f} %", share)
