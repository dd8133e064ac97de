"""The result of a check as a file outside of the submission, which names the content that was checked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from intrabench.atomic import atomically, make_folder, writing
from intrabench.board.files import CHECKSUMS
from intrabench.documents import Unreadable, read_json
from intrabench.errors import IntraBenchError

SCHEMA = 1
"""The version of the file's format."""


@dataclass(frozen=True)
class Result:
    """What a check found. content: of `content_of`. verified, unverified, differing: sessions that were replayed."""

    submission: str
    content: str
    verified: tuple[str, ...]
    unverified: tuple[str, ...]
    differing: tuple[str, ...]

    @property
    def replayed(self) -> tuple[str, ...]:
        """All sessions that it played again, or tried to."""
        return (*self.verified, *self.unverified, *self.differing)


def content_of(folder: Path) -> str:
    """A hash of all files of a submission, by its checksums, which `read_submission` compares with the files."""
    told = read_json(folder / CHECKSUMS, {})
    return sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def write_result(result: Result, checks: Path) -> Path:
    """Write the file ``SUBMISSION.json`` into the folder of checks, in place of an earlier one.

    Raises:
        IntraBenchError: it cannot be written.
    """
    path = checks / f"{result.submission}.json"
    with writing(path):
        make_folder(checks)
        with atomically(path) as part:
            part.write_text(json.dumps({"schema": SCHEMA, **asdict(result)}, indent=1) + "\n", encoding="utf-8")
    return path


def read_results(checks: Path) -> dict[str, Result]:
    """The results in a folder of checks, by the content that they are of.

    Raises:
        IntraBenchError: there is no such folder, or a file in it is not as `board check --out` writes it.
    """
    if not checks.is_dir():
        raise IntraBenchError(f"{checks} is no folder; give one that `intrabench board check --out` wrote")
    return {one.content: one for one in map(_read, sorted(checks.glob("*.json")))}


def _read(path: Path) -> Result:
    found = read_json(path, _TYPES)
    if found.keys() != _TYPES.keys() or found["schema"] != SCHEMA:
        raise Unreadable(f"{path} is no result of a check; `intrabench board check --out` writes it")
    given: dict[str, Any] = {name: found[name] for name in ("submission", "content")}
    return Result(**given | {name: tuple(found[name]) for name in _LISTS})


_LISTS = ("verified", "unverified", "differing")
_TYPES: dict[str, Any] = {"schema": int, "submission": str, "content": str, **dict.fromkeys(_LISTS, list[str])}


def refuse_inside(checks: Path, submissions: Sequence[Path]) -> None:
    """Refuse a folder of checks inside of a submission, where whoever submits could have put it.

    Raises:
        IntraBenchError: it is.
    """
    for folder in submissions:
        if checks.resolve().is_relative_to(folder.resolve()):
            raise IntraBenchError(f"{checks} is inside of {folder}, which others wrote; give a folder outside of it")
