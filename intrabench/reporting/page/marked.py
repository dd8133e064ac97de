"""Marks of the best values of a column, and of those that cannot be told from them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from math import isnan
from typing import Any

from intrabench.metrics.base import Best, merit
from intrabench.reporting.page.grid import Cell


def marked(
    rows: Sequence[Sequence[Cell]], groups: Sequence[Hashable], bests: Sequence[Best | None]
) -> list[list[Cell]]:
    """The rows with `Cell.best` in the last columns, for which `bests` says which values are best (None: no mark).

    Values are compared within a group, such as the models with one prompter. Those that look the same are all best.
    Those whose interval overlaps that of the best are ``alike``. Of a single value nothing is said.
    """
    made = [list(row) for row in rows]
    for column, best in enumerate(reversed(bests), 1):
        if best is None:
            continue
        for group in dict.fromkeys(groups):
            _mark([row for row, of in zip(made, groups, strict=True) if of == group], -column, best)
    return made


def _mark(rows: Sequence[list[Cell]], column: int, best: Best) -> None:
    valued = [row for row in rows if isinstance(row[column].value, int | float) and not isnan(_value(row[column]))]
    if len(valued) < 2:
        return
    first = max((row[column] for row in valued), key=lambda cell: float(merit(_value(cell), best)))
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
