"""Lines and tables for people."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Collection, Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal

import typer

from intrabench.cli.verbosity import quiet
from intrabench.files.names import brief, one_line

if TYPE_CHECKING:
    import polars as pl

    from intrabench.cli.fitting import Column
    from intrabench.reporting.display import Part
    from intrabench.reporting.footnotes import Footnotes

_ROOM = 16
"""Minimum width of the last of several columns on a terminal."""


def echo(*lines: str, err: bool = False) -> None:
    """Print lines; what a name or a message in them holds neither begins another line nor steers the terminal."""
    for line in lines:
        typer.echo("\t".join(map(one_line, line.split("\t"))), err=err)


def note(*lines: str, err: bool = False) -> None:
    """Print lines that are neither results nor tell what is wrong; ``--quiet`` leaves them out."""
    if not quiet():
        echo(*lines, err=err)


def screen_width() -> int | None:
    """The width of the terminal; None: the output goes elsewhere, where nothing has to fit."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def echo_sentences(*sentences: str, hanging: str = "") -> None:
    """Print sentences in lines as wide as the terminal; those after the first of each begin with `hanging`."""
    width = screen_width()
    for sentence in sentences:
        echo(*(_folded(sentence, width, hanging) if width else [sentence]))


def note_sentences(*sentences: str, hanging: str = "") -> None:
    """`echo_sentences` of what is neither a result nor tells what is wrong; ``--quiet`` leaves it out."""
    if not quiet():
        echo_sentences(*sentences, hanging=hanging)


def _folded(text: str, width: int, hanging: str = "") -> list[str]:
    """The text in lines of so many letters, which break between words."""
    lines = wrap(one_line(text), width, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False)
    return lines or [""]


_FACT = re.compile(r"\s*[a-z][\w /-]*: ")
_FULL = 112
"""A line that has no room within so many letters for the next word goes on with it."""


def echo_text(text: str) -> None:
    """Print a text in lines of up to 120 letters; on a narrower terminal its paragraphs and facts are folded anew.

    A fact is a line of its own, ``name: what``.
    """
    lines, width = text.split("\n"), screen_width()
    if width is None:
        return echo(*lines)
    joined = lines[:1]
    for line in lines[1:]:
        word, same = line.strip().partition(" ")[0], _indent(line) == _indent(joined[-1])
        if same and word and not _FACT.match(line) and len(joined[-1].split("\n")[-1]) + 1 + len(word) > _FULL:
            joined[-1] += f"\n{line}"
        else:
            joined.append(line)
    for line in joined:
        whole = _indent(line) + " ".join(part.strip() for part in line.split("\n"))
        echo(*_folded(whole, min(width, 120), _indent(line) + "  " * bool(_FACT.match(line))))


def _indent(line: str) -> str:
    return " " * (len(line) - len(line.lstrip()))


def print_columns(rows: Sequence[Mapping[str, Any]], *, heading: bool = True, spared: Sequence[str] = ()) -> None:
    """Print rows in columns of fitting width; on a terminal the last one breaks into lines.

    spared: columns that are left out, the first of them first, if the last one would have too little room.
    """
    from rich.cells import cell_len

    lines = [[brief(str(value)) for value in row.values()] for row in rows]
    names = list(rows[0]) if rows else []
    if heading and rows:
        lines.insert(0, names)
    width, left = screen_width(), list[str]()
    while True:
        shown = [at for at, name in enumerate(names) if name not in left]
        widths = [max(cell_len(line[at]) for line in lines) for at in shown]
        before = sum(widths[:-1]) + 2 * len(widths[:-1])
        if width is None or not widths or len(left) == len(spared):
            break
        words = [cell_len(word) for line in lines for word in line[shown[-1]].split()]
        if width - before >= max(min(_ROOM, widths[-1]), *words, 0):
            break
        left.append(spared[len(left)])
    for line in lines:
        *first, last = (line[at] for at in shown)
        start = "".join(text + " " * (2 + room - cell_len(text)) for text, room in zip(first, widths, strict=False))
        room = None if width is None else max(width - before, _ROOM)
        parts = _folded(last, room) if room else [last]
        echo(*(f"{start if not at else ' ' * before}{part}".rstrip() for at, part in enumerate(parts)))
    if left:
        echo_sentences(f"no room at {width} columns for: {', '.join(left)}; --json has everything")


def print_frame(
    frame: pl.DataFrame,
    title: str = "",
    notes: Footnotes | None = None,
    *,
    keys: Collection[str] | None = None,
    right: Collection[str] = (),
    everything: str = "",
) -> None:
    """Print a frame as a table for people that fits the terminal, with its footnotes.

    keys: columns that say what a line is; None: those before the counts of sessions, or else before all numbers. right:
    columns of texts that stand on the right, as numbers do. everything: an option that gives columns for which there is
    no room.
    """
    from intrabench.cli.fitting import SPARED, Column, fitted
    from intrabench.reporting.formats import texts

    keys = _keys(frame, right) if keys is None else keys
    columns = []
    for name in frame.columns:
        marks = notes.marks.get(name, []) if notes else []
        numeric = name in right or frame[name].dtype.is_numeric()
        shown = _marked(texts(frame[name].to_list()), marks)
        columns.append(Column(name, brief(name), shown, _kind(name, keys), right=numeric))
    width = screen_width()
    found = fitted(columns, width)
    if title:
        echo_sentences(*title.split("\n"))
    for block in found.blocks:
        _print_block(block)
    if found.dropped:
        names = [name for name in SPARED if name in found.dropped]
        echo_sentences(
            f"no room at {width} columns for: {', '.join(names)}" + (f"; {everything}" if everything else "")
        )
    if notes:
        echo_sentences(*notes.lines(), hanging="   ")


def print_parts(parts: Sequence[Part], everything: str = "") -> None:
    """Print tables and sentences; everything: as of `print_frame`."""
    for part in parts:
        if isinstance(part, str):
            echo_sentences(part)
        else:
            print_frame(part.frame, part.heading, part.notes, keys=part.keys, right=part.right, everything=everything)


_WHOLE, _COUNTED = ("model", "method", "ml", "pixels", "case", "target"), ("round", "asked")
"""Keys that are never broken: names that people look for, and numbers that say what a line is."""


def _keys(frame: pl.DataFrame, right: Collection[str]) -> list[str]:
    """The columns before the counts of sessions, or else before the first number."""
    if "sessions" in frame.columns:
        return frame.columns[: frame.columns.index("sessions")]
    values = [(name in right or frame[name].dtype.is_numeric()) and name not in _COUNTED for name in frame.columns]
    return frame.columns[: values.index(True)] if True in values else frame.columns[:1]


def _kind(name: str, keys: Collection[str]) -> Literal["key", "whole", "number"]:
    if name not in keys:
        return "number"
    return "whole" if name in (*_WHOLE, *_COUNTED) else "key"


def _marked(texts: Sequence[str], marks: Sequence[str]) -> Sequence[str]:
    """The texts with their marks, below each other."""
    room = max(map(len, marks), default=0)
    return [f"{text} {mark:<{room}}" for text, mark in zip(texts, marks, strict=True)] if room else texts


def _print_block(columns: Sequence[Column]) -> None:
    """Print columns as one table, however wide."""
    from rich.table import Table

    from intrabench.cli.fitting import total
    from intrabench.engine.progress.screen import plain_console

    table = Table(header_style="bold")
    lines = []
    for column in columns:
        heading, texts = column.lines()
        table.add_column(heading, no_wrap=True, overflow="ignore")
        lines.append(texts)
    for row in zip(*lines, strict=True):
        table.add_row(*row)
    # a height, too, or rich takes 80 columns for a terminal that it does not know
    plain_console(width=total(columns), height=100).print(table, crop=False)
