"""Sentences of the page: texts in which names stand out, and carry their marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import polars as pl

from intrabench.reporting.page.grid import digits_of

Part: TypeAlias = tuple[str, str]
"""A kind, and a text: ``text``, ``name``, ``note`` (letters of footnotes), or ``seen``."""

Sentence: TypeAlias = list[Part]


@dataclass(frozen=True)
class Names:
    """What lines are called. seen: lines trained on any of the data. notes: marks of footnotes by line."""

    lines: pl.DataFrame
    seen: frozenset[int]
    notes: Mapping[int, str] = field(default_factory=dict)

    def of(self, line: int) -> Sentence:
        """``model with prompter (notes)`` and its marks."""
        row = self.lines.filter(pl.col("line") == line).row(0, named=True)
        more = [text(f" ({row['notes']})")] if row["notes"] else []
        marks = [("note", note)] if (note := self.notes.get(line)) else []
        marks += [("seen", "†")] if line in self.seen else []
        return [name(row["label"]), text(" with "), name(row["shown"]), *more, *marks]

    def prompter(self, line: int) -> str:
        """The prompter as it is shown."""
        return str(self.lines.filter(pl.col("line") == line)["shown"][0])


def text(words: str) -> Part:
    """Plain words."""
    return "text", words


def name(words: str) -> Part:
    """A name, which stands out."""
    return "name", words


def plain(sentence: Sequence[Part]) -> str:
    """A sentence as text, names in backquotes."""
    return "".join(f"`{words}`" if kind == "name" else words for kind, words in sentence)


def amount(value: float, digits: int = 2) -> str:
    """A number of a sentence; what is not 0 does not look like it."""
    shown = digits_of(value, digits)
    return digits_of(value, digits + 1) if value and float(f"{value:.{digits}f}") == 0 else shown


def span(low: float | None, high: float | None, digits: int = 2) -> str:
    """``0.66 to 0.75``; empty without an interval."""
    return "" if low is None or high is None else f"{amount(low, digits)} to {amount(high, digits)}"


def chance(p: float | None) -> str:
    """A p-value with three decimals, or ``< 0.001``; a dash where there was no test."""
    if p is None:
        return "–"
    return "<\u00a00.001" if p < 0.001 else digits_of(p, 3)


def listed(items: Sequence[Sentence], most: int = 3) -> Sentence:
    """``A, B and C``, or ``A, B, C and 4 more``."""
    kept = [*items[:most], *([[text(f"{len(items) - most} more")]] if len(items) > most else [])]
    said: Sentence = []
    for number, item in enumerate(kept):
        said += [text(" and " if number == len(kept) - 1 else ", ")] if number else []
        said += item
    return said
