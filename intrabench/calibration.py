"""A calibration: seconds of actions and errors of the hand, measured on people, as one TOML file.

``--effort FILE`` takes its ``[seconds]``, ``--hand FILE`` its ``[hand]``; `intrabench calibrate` writes one. Everything
of it stands in the records of runs, so that results do not depend on the file.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from intrabench.documents import read_toml
from intrabench.effort import COUNTED, SECONDS, EffortTable, shipped
from intrabench.errors import IntraBenchError
from intrabench.specs import written

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


def given_effort(given: str | Path) -> Calibration | None:
    """The value of ``--effort``: a calibration file; nothing for an empty text."""
    return Calibration.read(Path(given)) if str(given) else None


def given_hand(given: str | Path) -> str:
    """The value of ``--hand``: ``jitter_mm=2,...``, or a calibration file, whose errors of the hand are meant."""
    text = str(given)
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
