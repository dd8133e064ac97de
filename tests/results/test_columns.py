"""Columns and values that nobody measures: left out and named, or damage."""

from __future__ import annotations

import math
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.results.columns import LONGEST, MOST
from intrabench.results.parts import damaged_parts, left_out_columns, read_rows
from tests.results.made import rows

OUT = Path("out")


def stored(**columns: float) -> None:
    (OUT / "rows").mkdir(parents=True)
    made = rows({"dice": 0.5}, {"case": "2", "dice": 0.5})
    made.with_columns(**{name: pl.lit(value) for name, value in columns.items()}).write_parquet(
        OUT / "rows" / "a-0001.parquet"
    )


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("nsd_2mm", 7.0),
        ("nsd:tolerance_mm=1", 7.0),
        ("hd95_mm", -3.0),
        ("hd95_mm", math.nan),
        ("segment_s", -1.0),
        ("somebodys", math.nan),
    ],
)
def test_a_value_out_of_range_is_damage(column: str, value: float, wording: SnapshotAssertion) -> None:
    stored(**{column: value})
    assert read_rows(OUT).is_empty()
    (said,) = damaged_parts(OUT)
    assert said == wording


def test_what_may_be_stays() -> None:
    stored(hd95_mm=math.inf, nsd_2mm=1 + 1e-9, somebodys=-1e9, relative_volume_difference=-1.0)
    assert len(read_rows(OUT)) == 2
    assert damaged_parts(OUT) == left_out_columns(OUT) == []


@pytest.mark.parametrize(
    "name", ["nsd:tolerance_mm=1e999", "nsd:nothing=1", "x" * (LONGEST + 1), "line", "size", "_line"]
)
def test_columns_that_no_metric_writes_are_left_out_and_named(name: str) -> None:
    stored(**{name: 0.5})
    assert name not in read_rows(OUT).columns
    assert len(read_rows(OUT)) == 2
    (said,) = left_out_columns(OUT)
    assert name[:60] in said
    assert damaged_parts(OUT) == []


def test_of_too_many_columns_some_are_read(wording: SnapshotAssertion) -> None:
    stored(**{f"x{number}": 0.5 for number in range(2 * MOST)})
    assert sum(name.startswith("x") for name in read_rows(OUT).columns) == MOST - 2
    (said,) = left_out_columns(OUT)
    assert f"{MOST + 2} columns" in said
    assert f"and {MOST - 1} more" in said
    assert said == wording
