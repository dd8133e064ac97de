"""CSV for spreadsheets: texts that would be formulas are quoted, numbers never."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from intrabench.names import LONGEST_CELL, cell
from intrabench.reporting.formats import formatted, texts
from intrabench.spreadsheet import write_csv


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "\t=1", "\r=1"])
def test_formulas_are_quoted(text: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"name": [text, "plain", None], text: [1.0, -2.0, None]})
    write_csv(frame, tmp_path / "a.csv")
    for written in (pl.read_csv(tmp_path / "a.csv"), pl.read_csv(formatted(frame, "csv").encode())):
        assert written.columns == ["name", f"'{text}"]
        assert written["name"].to_list() == [f"'{text}", "plain", None]


def test_numbers_are_not() -> None:
    frame = pl.DataFrame({"number": [-1.5, float("inf"), float("-inf")], "text": ["-1.5", "+2e-3", "-.5"]})
    assert write_csv(frame) == "number,text\n-1.5,-1.5\ninf,+2e-3\n-inf,-.5\n"


def test_long_texts_are_cut_in_tables_for_people() -> None:
    assert len(cell("x" * 60_000)) == LONGEST_CELL == 500
    assert texts(["x" * 60_000]) == [cell("x" * 60_000)]
    assert cell("x" * 500) == "x" * 500
