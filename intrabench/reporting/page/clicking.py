"""The report's table of how much the position of clicks inside an error matters."""

from __future__ import annotations

import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.reporting.page.grid import Cell, Grid, number, word
from intrabench.statistics.click_groups import LINE, group_table
from intrabench.statistics.scores import FailurePolicy

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
