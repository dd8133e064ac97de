"""Human effort, computed from the actions of the hand and cost tables: those of ``effort.toml``, or measured ones."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

from intrabench.errors import IntraBenchError
from intrabench.turns import Action

SECONDS = "seconds@1"
"""The table of seconds, unless a run has another one."""

TABLES = ("interactions@1", "dof@1", SECONDS)
"""The tables that every row carries, in the order of its columns."""

COUNTED = ("control_point", "word")
"""What some actions have several of, ``per_word`` in tables and ``words`` in actions."""


@dataclass(frozen=True)
class Effort:
    """Accumulated cost by the three tables."""

    interactions: float = 0.0
    dof: float = 0.0
    seconds: float = 0.0

    @property
    def columns(self) -> dict[str, float]:
        """The columns of a row, in the order of `TABLES`."""
        return {"interactions": self.interactions, "dof": self.dof, "seconds_human": self.seconds}

    def __add__(self, other: Effort) -> Effort:
        return Effort(self.interactions + other.interactions, self.dof + other.dof, self.seconds + other.seconds)


@dataclass(frozen=True)
class EffortTable:
    """A cost table. id: its name. text: JSON of its source and one entry per kind of action, as in ``effort.toml``."""

    id: str
    text: str

    @cached_property
    def costs(self) -> dict[str, Any]:
        """What `text` says."""
        found: dict[str, Any] = json.loads(self.text)
        return found


@cache
def shipped(name: str) -> EffortTable:
    """The table ``name@version`` of ``effort.toml``.

    Raises:
        IntraBenchError: there is none.
    """
    family, _, version = name.partition("@")
    tables = tomllib.loads(files("intrabench").joinpath("effort.toml").read_text(encoding="utf-8"))
    try:
        return EffortTable(name, json.dumps(tables[family][version]))
    except KeyError:
        raise IntraBenchError(f"there is no effort table {name!r}; choose from {', '.join(TABLES)}") from None


def table(name: str) -> dict[str, Any]:
    """The cost table ``name@version`` as data: its source and one entry per kind of action."""
    return shipped(name).costs


def cost(actions: Iterable[Action], by: str | EffortTable) -> float:
    """Cost of the actions of one round according to a table, or the one of that name.

    Raises:
        IntraBenchError: there is no such table, or an action has no cost.
    """
    found = shipped(by) if isinstance(by, str) else by
    total = 0.0
    once: dict[str, float] = {}
    for action in actions:
        if action.kind not in found.costs:
            raise IntraBenchError(
                f"the effort table {found.id} has no cost for the action {action.kind!r}; add it there"
            )
        entry = found.costs[action.kind]
        total += entry["each"] + sum(entry.get(f"per_{one}", 0) * getattr(action, f"{one}s", 0) for one in COUNTED)
        once[action.kind] = entry.get("once_per_round", 0.0)
    return total + sum(once.values())


def effort_of_round(actions: Iterable[Action], seconds: EffortTable | None = None) -> Effort:
    """Cost of the actions of one round according to all tables. seconds: another table of seconds than `SECONDS`."""
    made = tuple(actions)
    return Effort(*(float(cost(made, one)) for one in (*TABLES[:2], seconds or SECONDS)))
