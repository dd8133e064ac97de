"""A picture of correlations: Pearson's above the diagonal, Spearman's below it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.reporting.click_tables import click_table
from intrabench.reporting.correlations import ALL, make_correlations
from intrabench.reporting.plots import folded, metric_head, most_lines, panels_for
from intrabench.reporting.table import Layout
from intrabench.statistics.evaluation import Evaluation
from intrabench.statistics.sources import group_of

APART = ("clicks", "dataset")
"""Columns of which each value has a matrix of its own."""
_HEADS = {"dsb": "dSB", "dgr": "dGR", "dhh": "dHH", "nsr": "NSR", "interactions": "interactions"}
_HEADS |= {"seconds_human": "human s", "seconds": "machine s"}
_SIDE, _LETTERS = 0.42, 14  # of a cell, inches; of a line of its name


def correlated(evaluation: Evaluation, columns: Sequence[str] = ()) -> tuple[pl.DataFrame, str]:
    """The correlations that are drawn, with intervals, and their heading: over models, between the columns asked for,
    or else `ALL`; of groups of clicks if there are any. Without columns asked for, the table is empty where models are
    too few or not comparable.
    """
    if columns:
        return _table(evaluation, columns)
    with suppress(IntraBenchError):
        table, heading = _table(evaluation, [ALL])
        if evaluation.comparable and table["pearson"].count():
            return table, heading
    return pl.DataFrame(), ""


def _table(evaluation: Evaluation, columns: Sequence[str]) -> tuple[pl.DataFrame, str]:
    of, rows = evaluation.statistic, evaluation.rows
    layout = Layout(of.metric, of.round, of.how, of.policy, ("model",), root=evaluation.root)
    grouped = any(map(group_of, rows["prompter"].unique()))
    kind = click_table(groups=grouped, users=False, published="")
    return make_correlations(rows, layout, columns, kind, interval=True)


def correlation_figure(table: pl.DataFrame) -> Any:
    """A matrix for each data set and click model. table: `correlations`."""
    apart = [name for name in APART if name in table.columns]
    names = list(dict.fromkeys([*table["a"], *table["b"]]))
    parts = table.partition_by(apart, as_dict=True, maintain_order=True)
    figure, panels = panels_for([_title(key, one) for key, one in parts.items()], False)
    labels = [folded(head_of(name), _LETTERS) for name in names]
    columns, lines = max(1, min(len(panels), 3)), most_lines([panel.get_title() for panel in panels])
    wide, high = max(2.6, 0.4 + _SIDE * len(names)), 1.1 + 0.16 * lines + _SIDE * len(names)
    figure.set_size_inches(wide * columns + 1.8, high * -(-len(panels) // columns))
    figure.set_layout_engine("compressed")  # which keeps cells square
    for number, (panel, one) in enumerate(zip(panels, parts.values(), strict=True)):
        matrix = np.full((len(names), len(names)), np.nan)
        for a, b, pearson, spearman in one.select("a", "b", "pearson", "spearman").iter_rows():
            first, second = names.index(a), names.index(b)
            matrix[first, second] = np.nan if pearson is None else pearson
            matrix[second, first] = np.nan if spearman is None else spearman
        shown = panel.imshow(matrix, cmap="PuOr", vmin=-1, vmax=1)
        for (row, column), value in np.ndenumerate(matrix):
            if not np.isnan(value):
                colour = "white" if abs(value) > 0.5 else "black"
                text = f"{round(value, 2) + 0:.2f}".replace("-", "\N{MINUS SIGN}")  # without minus before 0
                panel.text(column, row, text, ha="center", va="center", color=colour, fontsize=6)
        panel.set_xticks(range(len(names)), labels, rotation=45, ha="right", rotation_mode="anchor")
        panel.set_yticks(range(len(names)), [""] * len(names) if number % columns else labels)
        panel.tick_params(length=0)
        panel.spines[:].set_visible(False)
    figure.colorbar(shown, ax=panels, shrink=0.7, label="Pearson above,\nSpearman below the diagonal")
    return figure


def _title(key: Sequence[object], one: pl.DataFrame) -> str:
    return f"{', '.join(map(str, reversed(key)))} ({max(one['lines'])} models)"


def head_of(column: str) -> str:
    """What a column is called."""
    if column in _HEADS:
        return _HEADS[column]
    spec, _, field = column.rpartition(".")
    if spec and field in _HEADS:
        return f"{_HEADS[field]} of {head_of(spec)}"
    with suppress(IntraBenchError):
        return metric_head(column)
    return column
