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
from intrabench.names import one_line
from intrabench.specs import nearest

_TEX = {
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"},  # without them, old fonts print others
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    **{letter: f"{{{letter}}}" for letter in "[]*"},  # else a row that begins with them continues the command before
}

_MARKDOWN = re.compile(r"[\\|*<\[\]`~&$]|(?<!\w)_|_(?!\w)")
"""What Markdown would not print; an underscore within a word it does."""


def formatted(frame: pl.DataFrame, format: str) -> str:
    """The frame as `format`, one of `FORMATS`; numbers as `texts` writes them, but CSV and JSON keep all digits."""
    check_format(format)
    return FORMATS[format](frame)


def check_format(format: str) -> None:
    """Refuse a format that is neither in `FORMATS` nor ``text``."""
    if format not in (*FORMATS, "text"):
        raise IntraBenchError(
            f"there is no format {format!r}{nearest(format, FORMATS)}; choose from {', '.join(FORMATS)}"
        )


def texts(values: list[Any]) -> list[str]:
    """The texts of one column, each one line, with one decimal for large numbers and three for scores."""
    numbers = [value for value in values if isinstance(value, float) and math.isfinite(value)]
    top = max(numbers, default=0)
    decimals = 0 if top > 1 and all(value.is_integer() for value in numbers) else 1 if top >= 10 else 3

    def text(value: Any) -> str:
        if value is None:
            return "-"
        return f"{value:.{decimals}f}" if isinstance(value, float) else one_line(str(value))

    return [text(value) for value in values]


def _csv(frame: pl.DataFrame) -> str:
    return frame.write_csv()


def _json(frame: pl.DataFrame) -> str:
    """A list of lines; JSON has neither infinite numbers nor NaN, which are null."""
    lines = [
        {name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in line.items()}
        for line in frame.iter_rows(named=True)
    ]
    return json.dumps(lines, indent=1, default=str) + "\n"


def _markdown(frame: pl.DataFrame) -> str:
    def escaped(text: str) -> str:
        return _MARKDOWN.sub(r"\\\g<0>", text)

    rule = ["---:" if numeric else "---" for numeric in _numeric(frame)]
    lines = [
        [escaped(name) for name in _heads(frame)],
        rule,
        *([escaped(text) for text in line] for line in _lines(frame)),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _latex(frame: pl.DataFrame) -> str:
    def escaped(text: str) -> str:
        return "".join(_TEX.get(letter, letter) for letter in text)

    def line(cells: list[str]) -> str:
        return " & ".join(escaped(cell) for cell in cells) + r" \\"

    kinds = "".join("r" if numeric else "l" for numeric in _numeric(frame))
    body = [line(cells) for cells in _lines(frame)]
    parts = [rf"\begin{{tabular}}{{{kinds}}}", r"\toprule", line(_heads(frame)), r"\midrule", *body, r"\bottomrule"]
    return "\n".join([*parts, r"\end{tabular}"]) + "\n"


def _html(frame: pl.DataFrame) -> str:
    kinds = [' class="number"' if numeric else "" for numeric in _numeric(frame)]
    head = "".join(
        f'<th scope="col"{kind}>{html.escape(name)}</th>' for name, kind in zip(_heads(frame), kinds, strict=True)
    )
    body = "\n".join(
        "<tr>"
        + "".join(f"<td{kind}>{html.escape(cell)}</td>" for cell, kind in zip(line, kinds, strict=True))
        + "</tr>"
        for line in _lines(frame)
    )
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n"


FORMATS: Mapping[str, Callable[[pl.DataFrame], str]] = {
    "csv": _csv,
    "markdown": _markdown,
    "latex": _latex,
    "html": _html,
    "json": _json,
}


def _numeric(frame: pl.DataFrame) -> list[bool]:
    return [kind.is_numeric() for kind in frame.dtypes]


def _heads(frame: pl.DataFrame) -> list[str]:
    return [one_line(name) for name in frame.columns]


def _lines(frame: pl.DataFrame) -> list[list[str]]:
    columns = [texts(frame[name].to_list()) for name in frame.columns]
    return [list(line) for line in zip(*columns, strict=True)]
