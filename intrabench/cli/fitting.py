"""How a table fits a terminal: which columns it drops, which names break, and in how many blocks it is shown.

A number is never broken, nor is the name of a model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from rich.cells import cell_len

SPARED = ("human s", "sessions", "superiority", "of", "n/a", "interactions")
"""Columns that are dropped first, in this order: a reader misses them least, and files have them."""

_IN_SPECS = r"(?<=[:+,/])(?=\w)|(?<==)(?=\w{6})"
_BREAKS, _BREAKS_OF_HEADINGS = re.compile(_IN_SPECS), re.compile(_IN_SPECS + r"|(?<=_)(?=\w)|\s+")
"""Where keys and headings may go on in the next line; not within ``n=3``."""

_BORDER, _BETWEEN = 1, 3


@dataclass(frozen=True)
class Column:
    """A column: its name, the texts of its heading and its lines, and the side on which these stand.

    kind: a key says what a line is, and stands in every block; whole: a key that is not broken; number: all others, of
    which only the heading breaks.
    """

    name: str
    heading: str
    texts: Sequence[str]
    kind: Literal["key", "whole", "number"] = "number"
    right: bool = False

    @cached_property
    def width(self) -> int:
        """Of its longest line."""
        return max(cell_len(line) for text in (self.heading, *self.texts) for line in text.split("\n"))

    def narrow(self, width: int) -> Column:
        """The same, at most so wide if its names break there."""
        heading = broken(self.heading, width, _BREAKS_OF_HEADINGS)
        if self.kind == "number":
            return replace(self, heading=heading)
        return replace(self, heading=heading, texts=[broken(text, width) for text in self.texts])

    def lines(self) -> tuple[str, list[str]]:
        """The heading and the texts with spaces before them, if they stand on the right."""

        def aligned(text: str) -> str:
            return "\n".join(" " * (self.width - cell_len(line)) + line for line in text.split("\n"))

        return (aligned(self.heading), [*map(aligned, self.texts)]) if self.right else (self.heading, [*self.texts])


@dataclass(frozen=True)
class TableLayout:
    """The blocks of columns, one below the other, and the names of dropped columns."""

    blocks: Sequence[Sequence[Column]]
    dropped: Sequence[str] = ()


def fitted(columns: Sequence[Column], width: int | None) -> TableLayout:
    """The columns within a width, None: anyhow. If nothing helps, a block has one number and is wider."""
    if width is None or total(columns) <= width:
        return TableLayout([columns])
    spared = [name for name in SPARED if any(one.name == name and one.kind == "number" for one in columns)]
    dropped: list[str] = []
    for name in spared:
        dropped.append(name)
        if total(_without(columns, dropped)) <= width:
            break
    for name in reversed(spared):  # a narrow one may fit beside what was dropped for a wide one
        fewer = [one for one in dropped if one != name]
        dropped = fewer if total(_without(columns, fewer)) <= width else dropped
    kept = _without(columns, dropped)
    if total(kept) > width:
        kept = _narrowed(kept, width, lambda one: one.kind == "number")
    return TableLayout(_blocks(kept, width), dropped)


def total(columns: Sequence[Column]) -> int:
    """The width of a table of these columns with its borders."""
    return sum(column.width + _BETWEEN for column in columns) + _BORDER


def _without(columns: Sequence[Column], names: Sequence[str]) -> list[Column]:
    return [one for one in columns if one.kind != "number" or one.name not in names]


def _blocks(columns: Sequence[Column], width: int) -> list[list[Column]]:
    """As many columns of numbers side by side as there is room for, each time after the keys."""
    if total(columns) <= width:
        return [list(columns)]
    keys, numbers = ([one for one in columns if (one.kind == "number") == number] for number in (False, True))
    spare = width - total(numbers) + _BORDER
    lean = _narrowed(keys, spare, lambda one: one.kind == "key")
    keys = lean if total(lean) <= spare else _narrowed(keys, width // 2, lambda one: one.kind == "key")
    blocks: list[list[Column]] = [[]]
    for number in numbers:
        if blocks[-1] and total([*keys, *blocks[-1], number]) > width:
            blocks.append([])
        blocks[-1].append(number)
    return [[*keys, *block] for block in blocks]


def _narrowed(columns: Sequence[Column], width: int, may: Callable[[Column], bool]) -> list[Column]:
    """The columns within a width, as far as the names break of those that `may`: always the widest."""
    found = list(columns)
    open_ = {at for at, one in enumerate(found) if may(one)}
    while open_ and total(found) > width:
        at = max(open_, key=lambda at: (found[at].width, -at))
        narrow = columns[at].narrow(found[at].width - 1)
        if narrow.width < found[at].width:
            found[at] = narrow
        else:
            open_.remove(at)
    return found


def broken(text: str, width: int, places: re.Pattern[str] = _BREAKS) -> str:
    """The text in lines of at most this width, as far as it has places to break."""
    lines, last = [], 0
    ends = [match.span() for match in places.finditer(text)] + [(len(text), len(text))]
    for at, (end, _) in enumerate(ends):
        following = ends[at + 1][0] if at + 1 < len(ends) else None
        if following is None or cell_len(text[last:following]) > width:
            lines.append(text[last:end])
            last = ends[at][1]
    return "\n".join(lines)
