"""A table as text in other formats: CSV, Markdown, LaTeX, HTML, JSON."""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.files.documents import json_number
from intrabench.files.names import brief, one_line
from intrabench.reporting.footnotes import NONE, Footnotes
from intrabench.results.spreadsheet import write_csv
from intrabench.specs.specs import nearest

_TEX = {
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"},  # without them, old fonts print others
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    **{letter: f"{{{letter}}}" for letter in "[]*"},  # else a row that begins with them continues the command before
}

_MARKDOWN = re.compile(r"[\\|*<\[\]`~&$]|(?<!\w)_|_(?!\w)")
"""What Markdown would not print; an underscore within a word it does."""


def escaped(text: str, format: str) -> str:
    """Text such that Markdown, LaTeX or HTML shows it as it is; any other format does so by itself."""
    if format == "latex":
        return "".join(_TEX.get(letter, letter) for letter in text)
    if format == "markdown":
        return _MARKDOWN.sub(r"\\\g<0>", text)
    return html.escape(text) if format == "html" else text


def formatted(frame: pl.DataFrame, format: str, notes: Footnotes = NONE) -> str:
    """The frame as `format`, one of `FORMATS`; numbers as `texts` writes them, with footnotes below.

    CSV and JSON keep all digits and whole texts, and have no footnotes.
    """
    check_format(format)
    return FORMATS[format](frame, notes)


def check_format(format: str) -> None:
    """Refuse a format that is neither in `FORMATS` nor ``text``."""
    if format not in (names := ("text", *FORMATS)):
        raise IntraBenchError(f"there is no format {format!r}{nearest(format, names)}; choose from {', '.join(names)}")


def decimals(unit: str) -> int:
    """How many decimals values have where a table has values of several units: one with a unit, three of scores."""
    return 1 if unit else 3


def in_unit(value: float | None, unit: str) -> str:
    """A number of a table of several units."""
    if value is None:
        return "-"
    return f"{round(value, decimals(unit)) + 0.0:.{decimals(unit)}f}"  # 0.0, or little below zero would be -0.000


def interval_in_unit(low: float | None, high: float | None, unit: str) -> str:
    """The ends of an interval as `in_unit` writes them; a dash for none."""
    return "-" if low is None or high is None else f"[{in_unit(low, unit)}, {in_unit(high, unit)}]"


def texts(values: list[Any]) -> list[str]:
    """The texts of one column, each one line, with one decimal for large numbers and three for scores."""
    numbers = [value for value in values if isinstance(value, float) and math.isfinite(value)]
    top = max(numbers, default=0)
    decimals = 0 if top > 1 and all(value.is_integer() for value in numbers) else 1 if top >= 10 else 3

    def text(value: Any) -> str:
        if value is None:
            return "-"
        return f"{value:.{decimals}f}" if isinstance(value, float) else brief(str(value))

    return [text(value) for value in values]


def with_intervals(frame: pl.DataFrame) -> pl.DataFrame:
    """Numbers with their intervals in one column of texts, ``0.512 [0.401, 0.623]``, where there are any."""
    for name in [name for name in frame.columns if {f"{name}_low", f"{name}_high"} <= set(frame.columns)]:
        columns = [frame[column].to_list() for column in (name, f"{name}_low", f"{name}_high")]
        numbers = texts([value for column in columns for value in column])
        values, low, high = (numbers[at * frame.height : (at + 1) * frame.height] for at in range(3))
        cells = [
            value if value == "-" else f"{value} [-]" if lower == "-" else f"{value} [{lower}, {upper}]"
            for value, lower, upper in zip(values, low, high, strict=True)
        ]
        count = frame[name].count()
        frame = frame.drop(f"{name}_low", f"{name}_high")
        frame = frame.with_columns(pl.Series(name, cells)) if count else frame
    return frame


def _csv(frame: pl.DataFrame, _notes: Footnotes) -> str:
    return write_csv(frame)


def _json(frame: pl.DataFrame, _notes: Footnotes) -> str:
    return json.dumps(plain(frame), indent=1, default=str) + "\n"


def plain(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """The lines for JSON, each number as `json_number`."""
    return [{name: json_number(value) for name, value in line.items()} for line in frame.iter_rows(named=True)]


def _markdown(frame: pl.DataFrame, notes: Footnotes) -> str:
    def marked(text: str, mark: str = "") -> str:
        return escaped(text, "markdown") + (f"<sup>{escaped(mark, 'markdown')}</sup>" if mark else "")

    rule = ["---:" if numeric else "---" for numeric in _numeric(frame)]
    lines = [[marked(name) for name in _heads(frame)], rule]
    lines += [[marked(*cell) for cell in line] for line in _lines(frame, notes)]
    below = [f"\n{marked('', mark)} {marked(one_line(text))}" for mark, text in notes.texts.items()]
    return "\n".join([*(f"| {' | '.join(line)} |" for line in lines), *below]) + "\n"


def _latex(frame: pl.DataFrame, notes: Footnotes) -> str:
    def marked(text: str, mark: str = "") -> str:
        return escaped(text, "latex") + (rf"\textsuperscript{{{mark}}}" if mark else "")

    def line(cells: list[str]) -> str:
        return " & ".join(cells) + r" \\"

    kinds = "".join("r" if numeric else "l" for numeric in _numeric(frame))
    body = [line([marked(*cell) for cell in cells]) for cells in _lines(frame, notes)]
    head = line([marked(name) for name in _heads(frame)])
    parts = [rf"\begin{{tabular}}{{{kinds}}}", r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}"]
    below = (rf"\textsuperscript{{{mark}}}~{marked(one_line(text))}" for mark, text in notes.texts.items())
    return "\n".join([*parts, *(rf"\par{{\footnotesize {text}\par}}" for text in below)]) + "\n"


def _html(frame: pl.DataFrame, notes: Footnotes) -> str:
    def marked(text: str, mark: str = "") -> str:
        return escaped(text, "html") + (f"<sup>{mark}</sup>" if mark else "")

    kinds = [' class="number"' if numeric else "" for numeric in _numeric(frame)]
    head = "".join(
        f'<th scope="col"{kind}>{html.escape(name)}</th>' for name, kind in zip(_heads(frame), kinds, strict=True)
    )
    body = "\n".join(
        "<tr>" + "".join(f"<td{kind}>{marked(*cell)}</td>" for cell, kind in zip(line, kinds, strict=True)) + "</tr>"
        for line in _lines(frame, notes)
    )
    below = "".join(f"<p><sup>{mark}</sup> {marked(one_line(text))}</p>\n" for mark, text in notes.texts.items())
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n{below}"


FORMATS: Mapping[str, Callable[[pl.DataFrame, Footnotes], str]] = {
    "csv": _csv,
    "markdown": _markdown,
    "latex": _latex,
    "html": _html,
    "json": _json,
}


def _numeric(frame: pl.DataFrame) -> list[bool]:
    return [kind.is_numeric() for kind in frame.dtypes]


def _heads(frame: pl.DataFrame) -> list[str]:
    return [brief(name) for name in frame.columns]


def _lines(frame: pl.DataFrame, notes: Footnotes) -> list[list[tuple[str, str]]]:
    """The text and the mark of each cell."""
    none = [""] * frame.height
    columns = [zip(texts(frame[name].to_list()), notes.marks.get(name, none), strict=True) for name in frame.columns]
    return [list(line) for line in zip(*columns, strict=True)]
