"""Human effort, computed from the actions of the hand and cost tables: those of ``effort.toml``, or measured ones.

A `Calibration` is a TOML file of seconds and errors of the hand that were measured on people; `intrabench calibrate`
writes one. ``--effort FILE`` takes its ``[seconds]``, ``--hand FILE`` its ``[hand]``. All of it stands in the records
of runs, so that results do not depend on the file.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

from intrabench.errors import IntraBenchError
from intrabench.files.documents import read_toml
from intrabench.specs.specs import written
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


HAND = ("jitter_mm", "miss_rate", "box_slack")
"""The parameters of the user error model (`intrabench.prompters.hand`), in their order."""

_COSTS = ("each", "once_per_round", *(f"per_{one}" for one in COUNTED))
_LATER = {"text"}
"""Actions that files of earlier versions have no cost for; a run with such an action says so."""


def kinds() -> list[str]:
    """The kinds of actions that a table of seconds has."""
    return [kind for kind, entry in shipped(SECONDS).costs.items() if isinstance(entry, dict)]


@dataclass(frozen=True)
class Calibration:
    """What a calibration file says. text: JSON of its content, with sorted keys."""

    text: str

    @classmethod
    def of(cls, content: Mapping[str, Any], where: str = "the calibration") -> Calibration:
        """Check the content of a file; `where` names it in errors.

        Raises:
            IntraBenchError: it is not what it should be.
        """
        _check(content, where)
        try:
            return cls(json.dumps(dict(content), sort_keys=True, default=str, allow_nan=False))
        except ValueError:
            raise IntraBenchError(f"{where} has a value that is not finite; give numbers") from None

    @classmethod
    def read(cls, path: Path) -> Calibration:
        """From a TOML file, which is called by its name unless it has a `name`.

        Raises:
            IntraBenchError: there is no such file, or it is not what it should be.
        """
        try:
            content = read_toml(path, {"name": str, "seconds": dict, "hand": dict, "recordings": dict})
        except FileNotFoundError:
            raise IntraBenchError(
                f"there is no file {path}; give a calibration, which `intrabench calibrate` writes from recordings"
            ) from None
        return cls.of({"name": path.stem, **content}, str(path))

    @cached_property
    def content(self) -> dict[str, Any]:
        """The content of the file: `name`, `recordings`, `seconds` and `hand`."""
        found: dict[str, Any] = json.loads(self.text)
        return found

    @property
    def id(self) -> str:
        """``NAME@HASH``; comments and the layout of the file do not matter."""
        return f"{self.content['name']}@{hashlib.sha256(self.text.encode()).hexdigest()[:8]}"

    @cached_property
    def table(self) -> EffortTable:
        """Its seconds, as an effort table."""
        return EffortTable(self.id, json.dumps(self.content["seconds"]))

    @property
    def hand(self) -> str:
        """Its errors of the hand as ``--hand`` takes them, ``jitter_mm=1.2,miss_rate=0.02``; zeros are left out.

        Raises:
            IntraBenchError: the file has none.
        """
        found = {name: entry["value"] for name, entry in self.content.get("hand", {}).items()}
        if not found:
            raise IntraBenchError(f"{self.id} has no [hand]; add {', '.join(HAND)}, or give --hand as text")
        return ",".join(f"{name}={written(found[name])}" for name in HAND if found.get(name))


def effort_option(text: str | Path) -> Calibration | None:
    """The value of ``--effort``: a calibration file; nothing for an empty text."""
    return Calibration.read(Path(text)) if str(text) else None


def hand_option(value: str | Path) -> str:
    """The value of ``--hand``: ``jitter_mm=2,...``, or a calibration file, whose errors of the hand are meant."""
    text = str(value)
    return text if not text or ("=" in text and not Path(text).is_file()) else Calibration.read(Path(text)).hand


def _check(content: Mapping[str, Any], where: str) -> None:
    name = content.get("name")
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9_.-]{1,60}", name):
        raise IntraBenchError(f"{where} has the name {name!r:.80}; give letters, digits, _, - and . only")
    seconds = content.get("seconds")
    if not isinstance(seconds, Mapping) or not isinstance(seconds.get("source"), str):
        raise IntraBenchError(f"{where} has no [seconds] with a source; write one as in intrabench/effort.toml")
    for kind in (kind for kind in kinds() if kind in seconds or kind not in _LATER):
        _check_costs(seconds.get(kind), f"{where}, [seconds] {kind}")
    if unknown := seconds.keys() - {"source", *kinds()}:
        raise IntraBenchError(f"{where}, [seconds] has {min(unknown)!r}; give {', '.join(kinds())}")
    hand = content.get("hand", {})
    if not isinstance(hand, Mapping) or hand.keys() - set(HAND):
        raise IntraBenchError(f"{where}, [hand] must have {', '.join(HAND)} and nothing else; correct it")
    for parameter, entry in hand.items():
        most = 1.0 if parameter == "miss_rate" else math.inf
        if not isinstance(entry, Mapping) or not _is_number(entry.get("value"), most):
            expected = "from 0 to 1" if most == 1 else "of 0 or more"
            raise IntraBenchError(f"{where}, [hand] {parameter} needs {{ value = ... }}, a number {expected}")


def _check_costs(entry: Any, where: str) -> None:
    if not isinstance(entry, Mapping) or "each" not in entry:
        raise IntraBenchError(f"{where} is missing or has no `each`; give {{ each = ... }}, in seconds")
    for name in _COSTS:
        if not _is_number(entry.get(name, 0)):
            raise IntraBenchError(f"{where} has {name} = {entry[name]!r:.40}; give seconds, 0 or more")


def _is_number(value: Any, most: float = math.inf) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= most and value < math.inf
