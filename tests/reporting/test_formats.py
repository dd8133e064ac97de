"""Tables as text."""

from __future__ import annotations

import json
import math

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.files.documents import number_of_json
from intrabench.reporting.formats import FORMATS, formatted, in_unit, interval_in_unit

FRAME = pl.DataFrame({"model": ["a_b|c", "<&>"], "n": [1, 20], "dice": [0.51239, None]})
EXPECTED = {
    "csv": "model,n,dice\na_b|c,1,0.51239\n<&>,20,\n",
    "json": '[\n {\n  "model": "a_b|c",\n  "n": 1,\n  "dice": 0.51239\n },\n'
    ' {\n  "model": "<&>",\n  "n": 20,\n  "dice": null\n }\n]\n',
    "markdown": "| model | n | dice |\n| --- | ---: | ---: |\n| a_b\\|c | 1 | 0.512 |\n| \\<\\&> | 20 | - |\n",
    "latex": "\\begin{tabular}{lrr}\n\\toprule\nmodel & n & dice \\\\\n\\midrule\n"
    "a\\_b\\textbar{}c & 1 & 0.512 \\\\\n\\textless{}\\&\\textgreater{} & 20 & - \\\\\n\\bottomrule\n\\end{tabular}\n",
    "html": '<table>\n<thead><tr><th scope="col">model</th><th scope="col" class="number">n</th>'
    '<th scope="col" class="number">dice</th></tr></thead>\n<tbody>\n'
    '<tr><td>a_b|c</td><td class="number">1</td><td class="number">0.512</td></tr>\n'
    '<tr><td>&lt;&amp;&gt;</td><td class="number">20</td><td class="number">-</td></tr>\n</tbody>\n</table>\n',
}


@pytest.mark.parametrize("format", FORMATS)
def test_formats(format: str) -> None:
    assert formatted(FRAME, format) == EXPECTED[format]


def test_json_has_words_for_infinite_numbers_and_null_for_unknown_ones() -> None:
    values = [math.inf, -math.inf, math.nan, None, 1.5]
    text = formatted(pl.DataFrame({"hd95": values}, strict=False), "json")
    assert [line["hd95"] for line in json.loads(text, parse_constant=pytest.fail)] == [
        *("Infinity", "-Infinity", None, None, 1.5)
    ]
    assert [number_of_json(line["hd95"]) for line in json.loads(text)] == [math.inf, -math.inf, None, None, 1.5]
    assert number_of_json("inf") == math.inf  # of earlier versions


def test_numbers_of_several_units() -> None:
    assert [in_unit(0.461, ""), in_unit(0.461, "mm"), in_unit(12.25, "s"), in_unit(None, "mm")] == [
        *("0.461", "0.5", "12.2", "-")
    ]
    assert [in_unit(-0.0004, ""), in_unit(-0.0006, ""), in_unit(float("inf"), "mm")] == ["0.000", "-0.001", "inf"]
    assert (interval_in_unit(-1.26, 0.461, "mm"), interval_in_unit(None, None, "")) == ("[-1.3, 0.5]", "-")


def test_an_unknown_format(wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        formatted(FRAME, "markdwon")
    assert caught == wording


@pytest.mark.parametrize(
    ("name", "markdown", "latex"),
    [
        ("lesion [left]", "lesion \\[left\\]", "lesion {[}left{]}"),
        ("<b>*x*</b>", "\\<b>\\*x\\*\\</b>", "\\textless{}b\\textgreater{}{*}x{*}\\textless{}/b\\textgreater{}"),
        ("_a_b_ $x$", "\\_a_b\\_ \\$x\\$", "\\_a\\_b\\_ \\$x\\$"),
        ("two\nlines", "two\\\\nlines", "two\\textbackslash{}nlines"),
        ("`a` & ~b~", "\\`a\\` \\& \\~b\\~", "`a` \\& \\textasciitilde{}b\\textasciitilde{}"),
    ],
)
def test_names_mean_nothing_in_other_languages(name: str, markdown: str, latex: str) -> None:
    frame = pl.DataFrame({name: [name]})
    assert formatted(frame, "markdown") == f"| {markdown} |\n| --- |\n| {markdown} |\n"
    assert formatted(frame, "latex").splitlines()[2:5] == [f"{latex} \\\\", "\\midrule", f"{latex} \\\\"]
