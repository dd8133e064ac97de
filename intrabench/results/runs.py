"""The records of runs, ``runs/RUN.json``, read again: what was asked, and whether the run came to its end."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FINISHED = "finished"
"""The state of a run that came to its end; others are running, interrupted, and failed with the kind of the error."""

LOCK = ".run"
"""How the lock that a run holds is called, after the run."""

_RENAMED = {"models": "model", "prompters": "prompter", "datasets": "dataset", "seeds": "seed"}
_RENAMED |= {"memory_mb": "memory", "plugins": "plugin"}
"""What options were called in records that do not tell their `work`, those before 0.2."""

_PASSING = ("device", "batch", "memory", "compile", "cache_embeddings", "python", "plugin")
"""The options in those records that do not decide which sessions a run consists of."""


def read_record(root: Path, run_id: str) -> dict[str, Any]:
    """The record of a run; nothing where there is none, or none that can be read."""
    try:
        record = json.loads((root / "runs" / f"{run_id}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return _upgraded(record) if isinstance(record, dict) else {}


def read_records(root: Path) -> list[dict[str, Any]]:
    """All records that can be read."""
    return [record for path in sorted((root / "runs").glob("*.json")) if (record := read_record(root, path.stem))]


def unfinished(root: Path) -> list[dict[str, Any]]:
    """Records of runs that did not come to their end, and that no other run of the same work completed since."""
    records = sorted((record for record in read_records(root) if "state" in record), key=lambda r: str(r["started"]))
    ended: dict[str, str] = {}
    for record in records:
        if record["state"] == FINISHED:
            ended[work_of(record)] = max(str(record["ended"]), ended.get(work_of(record), ""))
    return [r for r in records if r["state"] != FINISHED and ended.get(work_of(r), "") < str(r["started"])]


def work_of(record: Mapping[str, Any]) -> str:
    """What a run was to compute, whatever it ran on: equal for equal work."""
    given = {name: value for name, value in record.get("work", {}).items() if value}  # unset is equal to unknown
    return json.dumps(given, sort_keys=True)


def _upgraded(record: dict[str, Any]) -> dict[str, Any]:
    """A record as it is written now."""
    if "work" in record or not isinstance(record.get("options"), dict):
        return record
    options = {_RENAMED.get(name, name): value for name, value in record["options"].items()}
    work = {name: value for name, value in options.items() if name not in _PASSING}
    return {**record, "options": options, "work": work}


def without_home(text: str) -> str:
    """The same with ``~`` for the home folder, whose name often is a person's."""
    home = Path.home()
    return text if home == home.parent else re.sub(rf"(?<![\w./~-]){re.escape(str(home))}(?![\w.-])", "~", text)


def at_home(words: str) -> str:
    """The inverse of `without_home`, for paths and specs of data sets."""
    return re.sub(r"(^|=)~(?=[/:,]|$)", lambda found: f"{found[1]}{Path.home()}", words)
