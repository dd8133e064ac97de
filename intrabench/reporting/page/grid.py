"""Tables of the page: headings, and cells with a text and a sort key."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from math import isnan
from typing import Any, TypeAlias

import polars as pl

from intrabench.metrics.base import Best, merit
from intrabench.reporting.formats import texts
from intrabench.statistics.infinite import NOTHING, Infinite


@dataclass(frozen=True)
class Cell:
    """A text, its sort key (None comes last), its interval, a mark after it, and a strip to draw.

    mark: that the model was trained on the data. note: letters of footnotes on adapted prompts. strip: the lower end,
    the middle and the upper end of an interval in percent of the width. ends: the interval as numbers. best: ``best``,
    or ``alike`` if it cannot be told from the best.
    """

    text: str
    value: float | str | None = None
    interval: str = ""
    mark: str = ""
    note: str = ""
    strip: tuple[float, float, float] | None = None
    ends: tuple[float, float] | None = None
    best: str = ""

    @property
    def key(self) -> str:
        """The sort key for scripts: empty, text, or a number with all its digits."""
        if isinstance(self.value, float) and math.isinf(self.value):
            return "Infinity" if self.value > 0 else "-Infinity"
        return "" if self.value is None else str(self.value)


@dataclass(frozen=True)
class Grid:
    """A table that can be sorted; the first `headed` columns identify a row."""

    id: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    headed: int = 1

    @cached_property
    def numeric(self) -> list[bool]:
        """Which columns hold numbers."""
        return [not any(isinstance(row[n].value, str) for row in self.rows) for n in range(len(self.heads))]

    def notes(self, texts: Mapping[str, str]) -> dict[str, str]:
        """The footnotes whose letters stand in its cells, of all that there are."""
        letters = {letter for row in self.rows for cell in row for letter in cell.note.split(",")}
        return {mark: text for mark, text in texts.items() if mark in letters}

    @cached_property
    def stays(self) -> list[str]:
        """Classes of the columns that stay when a table scrolls sideways: those that name a line, or the first."""
        names = [n for n, head in enumerate(self.heads) if head in _NAMES] or [0]
        places = {n: f"stay{place}" for place, n in enumerate(names)}
        return [places.get(n, "") for n in range(len(self.heads))]


_NAMES = ("Prompter", "Model", "First line", "Second line", "method")


def frame_grid(frame: pl.DataFrame, id: str) -> Grid:
    """The frame as a table: numbers as `texts` writes them, sorted by all their digits."""
    columns = []
    for values in (frame[name].to_list() for name in frame.columns):
        keys = [one if one is None or isinstance(one, int | float) else str(one) for one in values]
        columns.append([Cell(text, key) for text, key in zip(texts(values), keys, strict=True)])
    return Grid(id, frame.columns, list(zip(*columns, strict=True)), headed=0)


def word(text: Any) -> Cell:
    """A cell of text."""
    return Cell(str(text or ""), str(text or ""))


def number(value: float | None, digits: int = 0, interval: str = "", mark: str = "", note: str = "") -> Cell:
    """A cell of a number; a dash for none."""
    if value is None or math.isnan(value):
        return Cell("–", note=note)
    return Cell(digits_of(value, digits), value, interval, mark, note)


Mean: TypeAlias = tuple[float | None, Infinite]
"""A mean or a difference, and what is infinite behind it."""

NO_MEAN: Mean = (None, NOTHING)


def mean_of(row: Mapping[str, Any]) -> Mean:
    """That of a row with `value` and the columns `BESIDE`."""
    return row["value"], Infinite.beside(row)


def mean(
    of: Mean, digits: int, low: float | None = None, high: float | None = None, mark: str = "", note: str = ""
) -> Cell:
    """A cell of a mean or a difference; below it its interval, and what is infinite or a miss."""
    value, infinite = of
    words = infinite.words(lambda one: digits_of(one, digits)) if infinite else infinite.misses
    if not infinite.count:
        return number(value, digits, "; ".join(filter(None, (interval_text(low, high, digits), words))), mark, note)
    shown = "±∞" if value is None or isnan(value) else digits_of(value, digits)  # infinite values of both signs
    return Cell(shown, value, words, mark, note)


def digits_of(value: float, digits: int) -> str:
    """A number with so many decimals, thousands set apart by thin spaces at which no line breaks."""
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return f"{value:,.{digits}f}".replace(",", "\u202f").replace("-", "−")


def interval_text(low: float | None, high: float | None, digits: int) -> str:
    """``low–high``, one number where both are the same, or nothing."""
    if low is None or high is None:
        return ""
    return "–".join(dict.fromkeys(digits_of(end, digits) for end in (low, high)))


def with_best_marks(
    rows: Sequence[Sequence[Cell]],
    groups: Sequence[Hashable],
    bests: Sequence[Best | None],
    fewer: Set[str] = frozenset(),
) -> list[list[Cell]]:
    """The rows with `Cell.best` in the last columns, for which `bests` says which values are best (None: no mark).

    Values are compared within a group, such as the models with one prompter. Those that look the same are all best.
    Those whose interval overlaps that of the best are ``alike``. Of a single value nothing is said, and of values of
    different targets: those with one of the marks `fewer`. Nor is an infinite one the best.
    """
    made = [list(row) for row in rows]
    for column, best in enumerate(reversed(bests), 1):
        if best is None:
            continue
        for group in dict.fromkeys(groups):
            alike = [row for row, of in zip(made, groups, strict=True) if of == group]
            if not any(fewer & set(row[-column].note.split(",")) for row in alike):
                _mark(alike, -column, best)
    return made


def _mark(rows: Sequence[list[Cell]], column: int, best: Best) -> None:
    valued = [row for row in rows if isinstance(row[column].value, int | float) and not isnan(_value(row[column]))]
    if len(valued) < 2:
        return
    first = max((row[column] for row in valued), key=lambda cell: float(merit(_value(cell), best)))
    if math.isinf(_value(first)):  # none is finite
        return
    for row in valued:
        cell = row[column]
        if cell.text == first.text:
            row[column] = replace(cell, best="best")
        elif _overlap(cell.ends, first.ends):
            row[column] = replace(cell, best="alike")


def _value(cell: Cell) -> Any:
    return cell.value


def _overlap(one: tuple[float, float] | None, other: tuple[float, float] | None) -> bool:
    return one is not None and other is not None and one[0] <= other[1] and other[0] <= one[1]
