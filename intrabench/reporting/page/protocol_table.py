"""The tables of what the protocol reports, by its own definitions, and of how much the position of clicks matters."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.metrics.base import Best
from intrabench.protocols import Protocol
from intrabench.reporting.numbers import RANK, numbers_heading, numbers_table
from intrabench.reporting.page.grid import NO_MEAN, Cell, Grid, Mean, mean, mean_of, number, with_best_marks, word
from intrabench.reporting.page.leading_score import digits_of
from intrabench.reporting.page.tables import Notes
from intrabench.reporting.table import Layout
from intrabench.statistics.aggregate import Aggregation, aggregate
from intrabench.statistics.click_robustness import LINE, group_table
from intrabench.statistics.measures import Measure, best, described, measured, summary
from intrabench.statistics.scores import FailurePolicy
from intrabench.statistics.sources import group_of
from intrabench.statistics.statistic import averages, with_numbers
from intrabench.statistics.steps import Steps, steps

_CLICKS, _AREA = "noc:threshold=0.9,metric=iou", "rclicks_auc"
"""Of RClicks' tables: the clicks of Table 9, and the area whose spread is the NSR of Table 12."""


def capped_numbers(rows: pl.DataFrame, played: Steps, metric: str, policy: FailurePolicy) -> dict[Measure, Steps]:
    """The numbers of protocols that have a cap, with the sessions that they are of.

    played: the steps of all rows by `metric`, which need not be taken again.
    """
    whose: dict[Measure, list[str]] = {}
    for id in (ids := rows["protocol"].unique().drop_nulls().sort().to_list()):
        for _, spec in (pair for one in with_numbers([id]) for pair in one.numbers):
            if (one := summary(spec)) and one.capped:
                whose.setdefault(one, []).append(id)
    found = {}
    for one, of in whose.items():
        if of == ids and one.metric == metric:
            found[one] = played
        else:
            with suppress(IntraBenchError):  # no session was scored by it
                found[one] = steps(rows.filter(pl.col("protocol").is_in(of)), one.metric, policy)
    return found


def protocol_grids(
    rows: pl.DataFrame, lines: pl.DataFrame, policy: FailurePolicy, notes: Mapping[Measure | None, Notes]
) -> list[tuple[str, Grid]]:
    """For each protocol that reports numbers of its own, how they are defined and a row per line and data set.

    notes: of `line_notes`.
    """
    found = []
    for id in rows["protocol"].unique().drop_nulls().sort():
        mine = rows.filter(pl.col("protocol") == id)
        for preset in with_numbers([id]):
            found.append((_definitions(mine, preset, policy), _grid(mine, lines, preset, policy, notes)))
    return found


def _definitions(rows: pl.DataFrame, preset: Protocol, policy: FailurePolicy) -> str:
    heading = numbers_heading(Layout(policy=policy), [preset])
    terms = ". ".join(line if at == 0 else line[:1].upper() + line[1:] for at, line in enumerate(heading.split("\n")))
    groups = (
        " Groups of clicks: the mean over groups; dSB is that against the baseline, dGR the least against the most "
        f"likely clicks, in percent; NSR@20 is the spread over groups by the mean, of {described(_AREA)}."
        if _grouped(rows)
        else ""
    )
    return f"{terms}.{groups}"


def _ranks(rows: pl.DataFrame, preset: Protocol, policy: FailurePolicy) -> dict[tuple[int, str], float | None]:
    """The mean rank of each line on each data set."""
    table = numbers_table(rows, Layout(policy=policy, by=("line",)), [preset])
    return {(line, dataset): rank for line, dataset, rank in table.select("line", "dataset", RANK).iter_rows()}


def _grid(
    rows: pl.DataFrame,
    lines: pl.DataFrame,
    preset: Protocol,
    policy: FailurePolicy,
    notes: Mapping[Measure | None, Notes],
) -> Grid:
    numbers, how = preset.numbers, averages([preset.id])
    plain = rows.filter(~pl.col("prompter").is_in(_grouped(rows)))
    columns = {head: _means(plain, spec, how, policy) for head, spec in numbers}
    marks = {head: notes.get(summary(spec), notes[None]) for head, spec in numbers}
    keys = list(dict.fromkeys(key for column in columns.values() for key in column))
    by_line = {row["line"]: row for row in lines.iter_rows(named=True)}
    extra, spread = _spread(rows, lines, policy)
    keys = sorted(keys, key=lambda key: (key[1], by_line[key[0]]["name"]))
    made, groups = [], []
    ranks = _ranks(plain, preset, policy) if preset.ranked else {}
    for line, dataset in keys:
        about = by_line[line]
        cells = [word(about["label"]), word(about["shown"]), word(dataset)]
        cells += [
            mean(
                columns[head].get((line, dataset), NO_MEAN), digits_of(spec), note=marks[head].get((line, dataset), "")
            )
            for head, spec in numbers
        ]
        cells += [number(ranks.get((line, dataset)), 2)] if preset.ranked else []
        made.append([*cells, *spread.get((line, dataset), [Cell("–")] * len(extra))])
        groups.append((about["shown"], dataset))
    ranked: list[Best | None] = ["low"] if preset.ranked else []
    bests = [*(best(spec) for _, spec in numbers), *ranked, *extra.values()]
    heads = ["Model", "Prompter", "Data set", *(head for head, _ in numbers), *[RANK] * preset.ranked, *extra]
    return Grid(
        f"own-{preset.id.partition('@')[0]}", heads, with_best_marks(made, groups, bests, notes[None].fewer), headed=3
    )


def _means(rows: pl.DataFrame, spec: str, how: Aggregation, policy: FailurePolicy) -> dict[tuple[int, str], Mean]:
    try:
        scored = measured(rows, spec, policy=policy)
    except IntraBenchError:  # no session was scored by it
        return {}
    table = aggregate(scored, ["line"], how).filter(pl.col("value").is_not_null())
    return {(row["line"], row["dataset"]): mean_of(row) for row in table.iter_rows(named=True)}


def _grouped(rows: pl.DataFrame) -> list[str]:
    """The prompters that are groups of clicks."""
    return [one for one in rows["prompter"].unique().sort() if group_of(one)]


def _spread(
    rows: pl.DataFrame, lines: pl.DataFrame, policy: FailurePolicy
) -> tuple[Mapping[str, Best | None], dict[tuple[int, str], list[Cell]]]:
    """Headings with which values are best, and cells by line of the baseline clicker: how much clicks matter."""
    try:
        clicks, area = (group_table(rows, spec, policy=policy) for spec in (_CLICKS, _AREA))
    except IntraBenchError:  # no model was played with two groups
        return {}, {}
    base = {group_of(one).base for one in _grouped(rows)}  # type: ignore[union-attr]
    who = ["model", "weights_sha256", "dtype", "strict"]
    place = lines.filter(pl.col("prompter").is_in(list(base))).select("line", *who)
    joined = clicks.join(
        area.select(*who, "clicks", "dataset", pl.col("nsr").alias("noise")),
        on=[*who, "clicks", "dataset"],
        nulls_equal=True,
    )
    cells: dict[tuple[int, str], list[Cell]] = {}
    for row in joined.join(place, on=who, nulls_equal=True).iter_rows(named=True):
        cells[row["line"], row["dataset"]] = _cells(row)
    return {"NoC20@90, groups": "low", "dSB": None, "dGR": None, "NSR@20": "low"}, cells


def _cells(row: Mapping[str, Any]) -> list[Cell]:
    return [
        number(row["sample"], 1, f"±\u00a0{row['spread']:.1f}"),
        *(_percent(row[name]) for name in ("dsb", "dgr", "noise")),
    ]


def _percent(value: float | None) -> Cell:
    return Cell("–") if value is None else Cell(f"{value:.1f} %".replace("-", "−"), value)


METRICS = {"dice": ("Dice", 3), "auc": ("Area 0–20", 3), "noc:threshold=0.8": ("NoC\u00a00.8", 1)}
"""Its columns with headings and decimals."""

_KEYS = (*LINE, "clicks", "dataset")


def click_grid(rows: pl.DataFrame, policy: FailurePolicy) -> Grid | None:
    """A row per model, click model and data set; None if no session used groups of clicks."""
    try:
        group_table(rows, policy=policy)
    except IntraBenchError:
        return None
    tables = [group_table(rows, metric, policy=policy) for metric in METRICS]
    heads = ["Model", "Clicks", "Data set", "Targets"]
    lines = {
        tuple(row[key] for key in _KEYS): [
            *(word(row[name]) for name in ("model", "clicks", "dataset")),
            number(row["targets"]),
        ]
        for row in tables[0].iter_rows(named=True)
    }
    for table, (metric, (head, digits)) in zip(tables, METRICS.items(), strict=True):
        percent = metric.startswith("noc")
        heads += [f"{head}, baseline", f"{head}, groups", "Least against most likely"]
        for row in table.iter_rows(named=True):
            within = f"±\u00a0{row['spread']:.{digits}f}"
            lines[tuple(row[key] for key in _KEYS)] += [
                number(row["base"], digits),
                number(row["sample"], digits, within),
                _signed(row["dgr"], 0 if percent else digits, " %" if percent else ""),
            ]
    return Grid("clicking", heads, list(lines.values()), headed=3)


def _signed(value: float, digits: int, unit: str) -> Cell:
    return Cell(f"{value:+.{digits}f}{unit}".replace("-", "−"), value)
