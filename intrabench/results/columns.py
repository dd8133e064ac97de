"""Which columns of metrics are read from rows, and what their values may be. Anybody may have written a part."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property

from intrabench.errors import IntraBenchError, several
from intrabench.files.names import one_line
from intrabench.metrics.base import Metric
from intrabench.registry import reach, registry
from intrabench.specs import specs

MOST, LONGEST = 200, 300
"""Columns of metrics that are read from a folder, and characters of the name of one."""

RESERVED = ("line", "size")
"""Columns that tables add to rows; they also add some that begin with an underscore."""

_NAMED, _SHOWN = 3, 60
"""How many columns a note names, and how much of each name it shows."""

_shipped: dict[str, tuple[float, float]] = {}
"""The bounds of columns of metrics that ship, which never change."""


def add_readable(columns: list[str], names: Iterable[str]) -> None:
    """Add to the `columns` of a folder those of a part that can be read, until they are `MOST`.

    So many are looked at of each part, good or not: to make a metric of a name takes time.
    """
    there, metrics = set(columns), _Metrics()
    for _, name in zip(range(MOST), names, strict=False):
        if name not in there and len(columns) < MOST and _is_readable(name, metrics):
            columns.append(name)
            there.add(name)


def bounds_of(columns: Sequence[str]) -> dict[str, tuple[float, float]]:
    """The least and the greatest value of columns, as their metrics say; those of unknown metrics may have any."""
    metrics = _Metrics()
    return {name: _shipped.get(name) or _bounds(name, metrics) for name in columns}


def note_of(left: list[str]) -> list[str]:
    """One sentence about columns that are left out, none if there are none."""
    if not left:
        return []
    names = [one_line(name[:_SHOWN]) + ("…" if len(name) > _SHOWN else "") for name in left[:_NAMED]]
    more = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
    return [
        f"{several(len(left), 'column')} of metrics {'is' if len(left) == 1 else 'are'} left out, {', '.join(names)}"
        f"{more}: of each folder {MOST} are read at most, each named as its metric writes it and not as tables name "
        f"their own columns ({', '.join(RESERVED)}, or an underscore first), and none of a metric of "
        "your own with a text as parameter, unless its class declares what that reaches"
    ]


class _Metrics:
    """The classes of metrics by name, each loaded once, for loading checks them."""

    def __init__(self) -> None:
        self._loaded: dict[str, type[Metric] | None] = {}

    @cached_property
    def entries(self) -> Mapping[str, registry.Entry]:
        """Where they are."""
        return registry.entries("metrics")

    def load(self, name: str) -> type[Metric] | None:
        """The class of a name; None if there is none, or it is wrong."""
        if name not in self._loaded:
            self._loaded[name] = None
            with suppress(IntraBenchError):
                self._loaded[name] = self.entries[name].load() if name in self.entries else None
        return self._loaded[name]

    def of_column(self, column: str) -> tuple[str, type[Metric] | None]:
        """The name and the class of the metric of a column; those that ship are called as their columns begin."""
        name = column.partition(":")[0]
        if name in self.entries:
            return name, self.load(name)
        likely = [one for one, at in self.entries.items() if at.origin != _SHIPS or column.startswith(one)]
        found = ((one, cls) for one in likely if (cls := self.load(one)) and cls.default_column == column)
        return next(found, ("", None))


_SHIPS = "intrabench"


def _bounds(column: str, metrics: _Metrics) -> tuple[float, float]:
    name, cls = metrics.of_column(column)
    found = (-math.inf, math.inf) if cls is None else cls.bounds
    if cls is not None and metrics.entries[name].origin == _SHIPS:
        _shipped[column] = found
    return found


def _is_readable(column: str, metrics: _Metrics) -> bool:
    """Whether a column may be asked for by its name: making a metric of it runs no code that only a row names."""
    if len(column) > LONGEST or column in RESERVED or column.startswith("_"):
        return False
    if column in _shipped or ":" not in column:
        return True
    if (name := column.partition(":")[0]) not in metrics.entries:
        return True  # nothing can be made of it here
    if (cls := metrics.load(name)) is None:
        return False
    try:
        _, parameters = specs.parse(column)
        return not reach.of_class(cls, parameters) and specs.build(cls, parameters, column).column == column
    except IntraBenchError:
        return False
