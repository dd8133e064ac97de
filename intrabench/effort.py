"""Human effort, computed from the actions of the hand and the named cost tables of ``effort.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from intrabench.errors import IntraBenchError
from intrabench.prompts import Action

TABLES = ("interactions@1", "dof@1", "seconds@1")
"""The tables that every row carries, in the order of its columns."""


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


@cache
def table(name: str) -> dict[str, Any]:
    """The cost table ``name@version`` as data: its source and one entry per kind of action."""
    family, _, version = name.partition("@")
    tables = tomllib.loads(files("intrabench").joinpath("effort.toml").read_text(encoding="utf-8"))
    try:
        found: dict[str, Any] = tables[family][version]
    except KeyError:
        raise IntraBenchError(f"there is no effort table {name!r}; choose from {', '.join(TABLES)}") from None
    return found


def cost(actions: Iterable[Action], name: str) -> float:
    """Cost of the actions of one round according to the table `name`."""
    costs = table(name)
    total = 0.0
    once: dict[str, float] = {}
    for action in actions:
        if action.kind not in costs:
            raise IntraBenchError(f"the effort table {name} has no cost for the action {action.kind!r}; add it there")
        entry = costs[action.kind]
        control_points = getattr(action, "control_points", 0)
        total += entry["each"] + entry.get("per_control_point", 0) * control_points
        once[action.kind] = entry.get("once_per_round", 0.0)
    return total + sum(once.values())


def effort_of_round(actions: Iterable[Action]) -> Effort:
    """Cost of the actions of one round according to all tables."""
    made = tuple(actions)
    return Effort(*(float(cost(made, name)) for name in TABLES))
