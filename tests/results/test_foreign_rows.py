"""Rows that somebody else made, which have the columns that all need and a score, but not those of runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from intrabench.results.damage import NEEDED
from tests.conftest import Said
from tests.results.made import curve

OTHERS = ("line", "size", "_line", "value")
"""Columns of floats; tables compute some of this name."""


@pytest.mark.parametrize("command", ["table", "report", "compare m n", "power", "methods"])
def test_what_reads_rows_needs_no_more_than_who_and_how_good(say: Callable[..., Said], command: str) -> None:
    made = pl.concat(
        curve([0.4, 0.5 + case / 20], model=model, case=str(case)) for model in ("m", "n") for case in range(6)
    )
    kept = made.select(*NEEDED, "dice", "label", "instance", "ended")
    Path("intrabench-results/rows").mkdir(parents=True)
    kept = kept.with_columns(pl.lit(0.5).alias(name) for name in OTHERS)
    kept.write_parquet("intrabench-results/rows/run.parquet")
    assert say(*command.split()).code == 0
