"""The report's panel of correlations over models: a picture and a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from intrabench.reporting.correlation_figure import APART, correlated, correlation_figure, head_of
from intrabench.reporting.page.grid import Cell, Grid, interval_text, number, word
from intrabench.reporting.plots import as_svg, style
from intrabench.statistics.correlations import COEFFICIENTS
from intrabench.statistics.evaluation import Evaluation


def correlation_panel(evaluation: Evaluation) -> dict[str, Any]:
    """What the page shows of the lines that are compared; nothing if there are fewer than three models, in which case
    matplotlib is not needed.
    """
    table, heading = correlated(evaluation)
    if table.is_empty():
        return {"correlations": ""}
    with style():
        picture = as_svg(correlation_figure(table))
    apart = [name for name in APART if name in table.columns]
    rows = [
        [*(word(one[name]) for name in apart), *(word(head_of(one[name])) for name in "ab"), number(one["lines"])]
        + [_coefficient(one, name) for name in COEFFICIENTS]
        for one in table.iter_rows(named=True)
    ]
    heads = [*(_HEADS[name] for name in apart), "Number", "Other number", "Models", *map(str.title, COEFFICIENTS)]
    grid = Grid("correlations-table", heads, rows, headed=len(apart) + 2)
    return {"correlations": picture, "correlations_table": grid, "correlations_heading": heading}


_HEADS = {"clicks": "Clicks", "dataset": "Data set"}


def _coefficient(one: Mapping[str, Any], name: str) -> Cell:
    return number(one[name], 2, interval_text(one[f"{name}_low"], one[f"{name}_high"], 2))
