"""No cell of our CSV files is a formula for a spreadsheet, and numbers stay numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import intrabench
from intrabench.results.spreadsheet import write_csv
from tests.conftest import Said

FORMULAS = ("=cmd|' /C calc'!A0", "+1+cmd", "-2+3", "@SUM(A1)", "\t=1", "\r=1")
PLAIN = ("-3", "+2.5", "-.5", "-1e-9", "-inf", "box_interp:n=3", "a=b", "", "case -1")


@pytest.mark.parametrize("name", ["text", "=1+1"])
def test_texts_that_are_formulas_get_an_apostrophe(name: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({name: [*FORMULAS, *PLAIN, None], "number": [-1.5] * (len(FORMULAS) + len(PLAIN) + 1)})
    write_csv(frame, tmp_path / "file.csv")
    text = write_csv(frame)
    assert (tmp_path / "file.csv").read_bytes() == text.encode()
    head, *lines = csv.reader(io.StringIO(text, newline=""))
    assert head == [{"text": "text", "=1+1": "'=1+1"}[name], "number"]
    assert [line[0] for line in lines] == [*(f"'{one}" for one in FORMULAS), *PLAIN, ""]
    assert {line[1] for line in lines} == {"-1.5"}
    assert write_csv(pl.DataFrame({"number": [-1]})) == "number\n-1\n"


@pytest.mark.usefixtures("data")
def test_what_strangers_wrote_is_neither_a_formula_nor_a_paragraph_nor_a_screenful(say: Callable[..., Said]) -> None:
    intrabench.run("box_fill", "box_slice", "phantom:shape=16x32x32,instances=1", out="out")
    (part,) = Path("out/rows").iterdir()
    texts = {
        "dataset": "=data\n# data",
        "model": "=model" + "m" * 60_000,
        "prompter": "x\n- item\n# heading",
        "case": "@c",
    }
    pl.read_parquet(part).with_columns(**{name: pl.lit(text) for name, text in texts.items()}).write_parquet(part)
    for words in (("table", "--csv"), ("export", "rows", "rows.csv")):
        said = say(*words, "--out", "out")
        written = Path("rows.csv").read_text() if words[0] == "export" else said.out
        cells = [cell for line in csv.reader(io.StringIO(written, newline="")) for cell in line]
        assert "'" + texts["model"] in cells
        assert not [cell for cell in cells if cell.startswith(("=", "@"))]
    said = say("methods", "--markdown", "--out", "out")
    assert said.code == 0
    assert not [line for line in said.out.splitlines() if line.startswith(("# ", "- item"))]
    for words in (("table",), ("table", "--format", "markdown"), ("methods",)):
        assert "m" * 490 in (printed := say(*words, "--out", "out").out)
        assert "m" * 501 not in printed
