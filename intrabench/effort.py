"""Human effort, computed from the actions of the hand and cost tables: those of ``effort.toml``, or measured ones.

A `Calibration` is a TOML file of costs and errors of the hand: those that were measured on people, which `intrabench
calibrate` writes, or the user's own. ``--effort FILE`` takes its tables of costs, ``--hand FILE`` its ``[hand]``. All
of it stands in the records of runs, so that results do not depend on the file.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

from intrabench.errors import IntraBenchError
from intrabench.files.documents import read_toml, written_toml
from intrabench.specs.specs import nearest, written
from intrabench.turns import Action

SECONDS = "seconds@1"
"""The table of seconds, unless a run has another one."""

TABLES = ("interactions@1", "dof@1", SECONDS)
"""The tables that every row carries, in the order of its columns."""

FAMILIES = ("interactions", "dof", "seconds")
"""What the tables count, which is also what a file calls its own tables."""

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

    @cached_property
    def prices(self) -> dict[str, tuple[float, tuple[tuple[str, float], ...], float]]:
        """Of each kind of action what it costs, what each of what it counts (an attribute), and once in a round."""
        found = {}
        for kind, entry in self.costs.items():
            if isinstance(entry, dict):
                counted = tuple((f"{one}s", entry[f"per_{one}"]) for one in COUNTED if f"per_{one}" in entry)
                found[kind] = entry["each"], counted, entry.get("once_per_round", 0.0)
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
        if action.kind not in found.prices:
            raise IntraBenchError(
                f"the effort table {found.id} has no cost for the action {action.kind!r}; add it there"
            )
        each, counted, once[action.kind] = found.prices[action.kind]
        total += each + sum([price * getattr(action, name, 0) for name, price in counted])
    return total + sum(once.values())


def effort_of_round(actions: Iterable[Action], by: EffortTable | Calibration | None = None) -> Effort:
    """Cost of the actions of one round according to all tables.

    by: another table of seconds than `SECONDS`, or a calibration, which may also have other ones of the others.
    """
    made = tuple(actions)
    tables = by.tables if isinstance(by, Calibration) else (*TABLES[:2], by or SECONDS)
    return Effort(*(float(cost(made, one)) for one in tables))


def shipped_toml(name: str) -> str:
    """A table that ships as a calibration file, to be edited."""
    family = name.partition("@")[0]
    head = [f"# {name}, for --effort FILE: change what you like, and say in `source` where it is from."]
    head.append(f'# With base = "{name}" in the table, entries that stay the same can be left out.')
    return "\n".join([*head, written_toml({family: table(name)})]).rstrip()


HAND = ("jitter_mm", "miss_rate", "box_slack")
"""The parameters of the user error model (`intrabench.prompters.hand`), in their order."""

_COSTS = ("each", "once_per_round", *(f"per_{one}" for one in COUNTED))
_MEASURED = ("interval", "once_interval", "n", "sessions", "measured", "kept")
"""What `intrabench calibrate` writes beside the costs of an entry."""
_LATER = {"text", "undo", "handle"}
"""Actions that files of earlier versions have no cost for; a run with such an action says so."""


def kinds() -> list[str]:
    """The kinds of actions that tables have."""
    return [kind for kind, entry in shipped(SECONDS).costs.items() if isinstance(entry, dict)]


@dataclass(frozen=True)
class Calibration:
    """What a calibration file says. text: JSON of its content, with sorted keys."""

    text: str

    @classmethod
    def of(cls, content: Mapping[str, Any], where: str = "the calibration") -> Calibration:
        """Check the content of a file; `where` names it in errors.

        A table with a `base` becomes that table with its entries changed, so that the id is of what runs use.

        Raises:
            IntraBenchError: it is not what it should be; all that is wrong is said.
        """
        found, wrong = _resolved(content)
        if wrong := [*_name_problems(found), *wrong, *_problems(found)]:
            first, *others = wrong
            raise IntraBenchError("; also ".join([f"{where}{first}", *(one.lstrip(", ") for one in others)]))
        try:
            return cls(json.dumps(found, sort_keys=True, default=str, allow_nan=False))
        except ValueError:
            raise IntraBenchError(f"{where} has a value that is not finite; give numbers") from None

    @classmethod
    def read(cls, path: Path) -> Calibration:
        """From a TOML file, which is called by its name unless it has a `name`.

        Raises:
            IntraBenchError: there is no such file, or it is not what it should be.
        """
        try:
            types = {"name": str, "base": str, **dict.fromkeys((*FAMILIES, "hand", "recordings"), dict)}
            content = read_toml(path, types)
        except FileNotFoundError:
            raise IntraBenchError(
                f"there is no file {path}; give a calibration, which `intrabench calibrate` writes from recordings"
            ) from None
        return cls.of({"name": path.stem, **content}, str(path))

    @cached_property
    def content(self) -> dict[str, Any]:
        """The content of the file: `name`, `recordings`, the tables of costs that it has, and `hand`."""
        found: dict[str, Any] = json.loads(self.text)
        return found

    @property
    def id(self) -> str:
        """``NAME@HASH``; comments and the layout of the file do not matter."""
        return f"{self.content['name']}@{hashlib.sha256(self.text.encode()).hexdigest()[:8]}"

    @cached_property
    def tables(self) -> tuple[EffortTable, ...]:
        """All tables in the order of `TABLES`; those that the file does not have are the ones that ship."""
        return tuple(
            EffortTable(self.id, json.dumps(self.content[family])) if family in self.content else shipped(name)
            for family, name in zip(FAMILIES, TABLES, strict=True)
        )

    @property
    def table(self) -> EffortTable:
        """Its table of seconds."""
        return self.tables[-1]

    @property
    def sources(self) -> dict[str, str]:
        """Where its own tables are from, by what they count."""
        return {family: str(self.content[family]["source"]) for family in FAMILIES if family in self.content}

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


def recorded_tables(records: Iterable[Mapping[str, Any]]) -> dict[str, Calibration]:
    """The calibrations that records of runs hold, by id; what cannot be read is left out."""
    found = dict[str, Calibration]()
    for record in records:
        with suppress(IntraBenchError):
            if (content := record.get("effort")) is not None:
                one = Calibration.of(content)
                found[one.id] = one
    return found


def effort_option(text: str | Path) -> Calibration | None:
    """The value of ``--effort``: a calibration file; nothing for an empty text."""
    return Calibration.read(Path(text)) if str(text) else None


def hand_option(value: str | Path) -> str:
    """The value of ``--hand``: ``jitter_mm=2,...``, or a calibration file, whose errors of the hand are meant."""
    text = str(value)
    return text if not text or ("=" in text and not Path(text).is_file()) else Calibration.read(Path(text)).hand


def _resolved(content: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The content with all entries of tables that have a `base`, and what is wrong with the bases."""
    found, wrong = dict(content), list[str]()
    bases = {found["base"].partition("@")[0]: found.pop("base")} if isinstance(found.get("base"), str) else {}
    if bases.keys() - set(FAMILIES):
        wrong.append(f" has base = {next(iter(bases.values()))!r:.40}; give one of {', '.join(TABLES)}")
    for family, ours in zip(FAMILIES, TABLES, strict=True):
        entries = found.get(family, {} if family in bases else None)
        if not isinstance(entries, Mapping) or (base := entries.get("base", bases.get(family))) is None:
            continue
        if base != ours:
            wrong.append(f", [{family}] has base = {base!r:.40}; give {ours!r}")
        given = {name: entry for name, entry in entries.items() if name != "base"}
        changed = ", ".join(name for name in given if name != "source")
        source = f"{ours}{f', but for {changed}' if changed else ''}"
        found[family] = {**table(ours), "source": source, **given}
    return found, wrong


def _name_problems(content: Mapping[str, Any]) -> Iterator[str]:
    name = content.get("name")
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9_.-]{1,60}", name):
        yield f" has the name {name!r:.80}; give letters, digits, _, - and . only"


def _problems(content: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the tables of a file, each as the end of a sentence that begins with its name."""
    own = [family for family in FAMILIES if family in content]
    for family in own or ["seconds"]:
        entries = content.get(family)
        if not isinstance(entries, Mapping) or not isinstance(entries.get("source"), str):
            yield f" has no [{family}] with a source; write one as `intrabench info {family}@1 --toml` prints"
        if isinstance(entries, Mapping):
            yield from _table_problems(family, entries)
    if loose := [name for name in content if name in kinds()]:
        yield f" has {', '.join(loose)} in no table; put them under one of [{'], ['.join(FAMILIES)}]"
    parts = ("name", "recordings", "hand", *FAMILIES)
    for name in sorted(content.keys() - {*parts, *loose}):
        yield f" has {name!r}{nearest(name, parts)}; give {', '.join(parts)} and nothing else"
    yield from _hand_problems(content.get("hand", {}))


def _table_problems(family: str, entries: Mapping[str, Any]) -> Iterator[str]:
    unit = "in seconds" if family == "seconds" else "a number"
    wanted = [kind for kind in kinds() if kind in entries or kind not in _LATER]
    lacking = [kind for kind in wanted if not isinstance(entries.get(kind), Mapping) or "each" not in entries[kind]]
    if lacking:
        are, have = ("is", "has") if len(lacking) == 1 else ("are", "have")
        also = "" if len(lacking) == 1 else f', or base = "{family}@1" for what stays'
        yield (
            f", [{family}] {', '.join(lacking)} {are} missing or {have} no `each`; give {{ each = ... }}, {unit}{also}"
        )
    for kind in wanted:
        for name in sorted(entries[kind].keys() - {*_COSTS, *_MEASURED}) if kind not in lacking else ():
            yield f", [{family}] {kind} has {name!r}{nearest(name, _COSTS)}; give {', '.join(_COSTS)}"
        for name in _COSTS if kind not in lacking else ():
            if not _is_number(entries[kind].get(name, 0)):
                expected = "seconds, 0 or more" if family == "seconds" else "0 or more"
                yield f", [{family}] {kind} has {name} = {entries[kind][name]!r:.40}; give {expected}"
    if unknown := sorted(entries.keys() - {"source", *kinds()}):
        yield f", [{family}] has {', '.join(map(repr, unknown))}; give {', '.join(kinds())}"


def _hand_problems(hand: Any) -> Iterator[str]:
    if not isinstance(hand, Mapping) or hand.keys() - set(HAND):
        yield f", [hand] must have {', '.join(HAND)} and nothing else; correct it"
        return
    for parameter, entry in hand.items():
        most = 1.0 if parameter == "miss_rate" else math.inf
        if not isinstance(entry, Mapping) or not _is_number(entry.get("value"), most):
            expected = "from 0 to 1" if most == 1 else "of 0 or more"
            yield f", [hand] {parameter} needs {{ value = ... }}, a number {expected}"


def _is_number(value: Any, most: float = math.inf) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= most and value < math.inf
