"""Results in Python as people see them: as text and in notebooks they show what the terminal shows."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from intrabench.reporting.footnotes import NONE, Footnotes
from intrabench.reporting.formats import formatted, texts


@dataclass(frozen=True)
class Section:
    """A table for people: its heading, numbers or texts, and marks at them with their footnotes.

    keys: the columns that say what a line is; None: as `intrabench.cli.console.print_frame` finds them. right: columns
    of texts that are numbers.
    """

    heading: str
    frame: pl.DataFrame
    notes: Footnotes = NONE
    keys: Sequence[str] | None = None
    right: Sequence[str] = ()


Part = Section | str
"""A table, or a sentence."""


def as_text(parts: Sequence[Part]) -> str:
    """The parts below each other."""
    return "\n".join(_text(part) if isinstance(part, Section) else part for part in parts)


def as_html(parts: Sequence[Part]) -> str:
    """The same for a notebook."""
    return "\n".join(_html(part) if isinstance(part, Section) else f"<p>{html.escape(part)}</p>" for part in parts)


class ResultTable(pl.DataFrame):
    """A frame with all columns and digits that shows itself as the terminal shows it: columns that people compare,
    with the heading and footnotes. `full` gives it as a plain frame, which shows everything. So do frames made of it,
    and it itself once it is changed.
    """

    _parts: Sequence[Part] = ()
    _made: tuple[Sequence[str], int] = ((), 0)

    @classmethod
    def of(cls, frame: pl.DataFrame, parts: Sequence[Part]) -> ResultTable:
        """The frame, which shows itself as `parts`."""
        table = cls(frame)
        table._parts, table._made = tuple(parts), (frame.columns, frame.height)
        return table

    def full(self) -> pl.DataFrame:
        """The same with all columns shown."""
        return pl.DataFrame(self)

    @property
    def _is_whole(self) -> bool:
        return bool(self._parts) and self._made == (self.columns, self.height)

    def __str__(self) -> str:
        return as_text(self._parts) if self._is_whole else super().__str__()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self, **options: Any) -> str:
        return as_html(self._parts) if self._is_whole else super()._repr_html_(**options)


def _text(section: Section) -> str:
    cells = {name: _marked(section, name) for name in section.frame.columns}
    options: dict[str, Any] = {"tbl_rows": -1, "tbl_cols": -1, "tbl_width_chars": 10_000, "fmt_str_lengths": 10_000}
    with pl.Config(tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, **options):
        shown = str(pl.DataFrame(cells, schema=dict.fromkeys(cells, pl.String)))
    return "\n".join([*filter(None, [section.heading]), shown, *section.notes.lines()])


def _marked(section: Section, name: str) -> list[str]:
    """The texts of a column with their marks."""
    cells = texts(section.frame[name].to_list())
    marks = section.notes.marks.get(name, [""] * len(cells))
    return [f"{cell} {mark}".rstrip() for cell, mark in zip(cells, marks, strict=True)]


def _html(section: Section) -> str:
    heading = f"<p>{html.escape(section.heading)}</p>\n" if section.heading else ""
    return heading + formatted(section.frame, "html", section.notes)
