"""Read the records of runs, ``runs/RUN.json``: their options, and whether they finished."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from intrabench.files.documents import Unreadable, read_json
from intrabench.files.locks import is_locked
from intrabench.files.names import file_name
from intrabench.specs.values import is_a

FINISHED, RUNNING = "finished", "running"
"""States of runs; others are interrupted, or failed with the type of the error. One that was killed stays running."""

LOCK = ".run"
"""Ending of the lock that a run holds, after the run's id."""

_TYPES: dict[str, Any] = {
    **{"state": str, "started": str, "ended": str | None, "rounds": int, "stamps": list[int], "arguments": list[str]},
    **dict.fromkeys(("options", "work", "versions", "hardware", "effort", "tracebacks"), dict),
    **{"weights": list[dict[str, Any]], "models": list[dict[str, Any]], "sessions": dict[str, int], "command": str},
}
_TYPES_OF_OPTIONS: dict[str, Any] = {
    **{"dataset": list[str], "plugin": list[str], "python": str | None, "weights": str | None},
    **{"batch": str, "compile": bool},
}
"""What readers rely on; a record may be damaged, or written by anybody."""


def read_record(root: Path, run_id: str | None) -> dict[str, Any]:
    """The record of a run; empty if there is none, it cannot be read, or its entries are of wrong types.

    run_id: None in rows that do not say of which run they are.
    """
    if run_id is None:
        return {}
    try:
        record = read_json(root / "runs" / f"{file_name(run_id)}.json", _TYPES)
    except (OSError, Unreadable):
        return {}
    return record if _fit(_TYPES_OF_OPTIONS, record.get("options", {})) else {}


def _fit(types: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    return all(is_a(types[name], value) for name, value in found.items() if name in types)


def read_records(root: Path) -> list[dict[str, Any]]:
    """All readable records."""
    return [record for path in sorted((root / "runs").glob("*.json")) if (record := read_record(root, path.stem))]


def unfinished(root: Path) -> list[dict[str, Any]]:
    """Records of runs that did not finish and were not completed since by another run of the same work."""
    records = sorted((record for record in read_records(root) if "state" in record), key=_span)
    ended: dict[str, int] = {}
    for record in records:
        if record["state"] == FINISHED:
            ended[work_of(record)] = max(_span(record)[1], ended.get(work_of(record), 0))
    return [r for r in records if r["state"] != FINISHED and ended.get(work_of(r), -1) < _span(r)[0]]


def going_on(root: Path) -> set[str]:
    """The ids of the runs into a folder that go on, by their locks."""
    return {path.stem for path in sorted((root / "locks").glob(f"*{LOCK}")) if is_locked(path)}


def _span(record: Mapping[str, Any]) -> tuple[int, int]:
    """When a run began and ended, by its stamps (`Store.stamp`); 0 in a record that lost them."""
    stamps = record.get("stamps") or [0]
    return stamps[0], stamps[-1]


def work_of(record: Mapping[str, Any]) -> str:
    """The work of a run, independent of hardware: equal for equal sessions."""
    work = {name: value for name, value in record.get("work", {}).items() if value}  # unset is equal to unknown
    if work.get("seed") == [0]:
        del work["seed"]  # as if none was given
    return json.dumps(work, sort_keys=True)


def without_home(text: str) -> str:
    """The text with ``~`` for the home folder, whose name is often that of a person."""
    home = Path.home()
    return text if home == home.parent else re.sub(rf"(?<![\w./~-]){re.escape(str(home))}(?![\w.-])", "~", text)


def at_home(words: str) -> str:
    """The inverse of `without_home`, for paths and specs of data sets."""
    return re.sub(r"(^|=)~(?=[/:,]|$)", lambda found: f"{found[1]}{Path.home()}", words)
