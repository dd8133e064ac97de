"""The report's table about where people click."""

from __future__ import annotations

import polars as pl

from intrabench.reporting.page.protocol_table import click_grid
from intrabench.statistics.scores import FailurePolicy
from tests.statistics.test_click_groups import sessions

ROWS = pl.concat(
    [
        sessions("clickability:group=1", 0.2, 0.4),
        sessions("clickability:group=10", 0.8, 0.6),
        sessions("click_deepest", 0.9, 0.8),
    ]
).with_columns(interactions=pl.col("round") + 1.0)


def test_a_row_per_model_clicks_and_data_set() -> None:
    found = click_grid(ROWS, FailurePolicy())
    assert found is not None
    (row,) = found.rows
    assert [cell.text for cell in row[:4]] == ["m", "clickability:model=distance", "d", "2"]
    assert [(cell.text, cell.interval) for cell in row[4:7]] == [
        ("0.850", ""),
        ("0.500", "±\u00a00.200"),
        ("−0.400", ""),
    ]
    noc = [(cell.text, cell.interval) for cell in row[10:]]
    assert noc == [("2.0", ""), ("15.5", "±\u00a04.5"), ("+450 %", "")]
    assert len(found.heads) == len(row) == 13


def test_nothing_to_tell() -> None:
    assert click_grid(ROWS.filter(pl.col("prompter") == "click_deepest"), FailurePolicy()) is None


def test_the_baseline_may_be_missing() -> None:
    found = click_grid(ROWS.filter(pl.col("prompter") != "click_deepest"), FailurePolicy())
    assert found is not None
    assert found.rows[0][4].text == "–"
