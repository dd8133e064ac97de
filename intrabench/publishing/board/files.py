"""The files of a submission: which there may be, how large, their checksums, and what ``submission.json`` says.

Anybody may have written them.

submission.json                what it is: who made it, its data, lines with their means, which sessions have masks
rows/, turns/, runs/, masks/   as in any results folder: all rows, the turns and masks of a sample, the records of runs
ledger.parquet                 a digest of every row, so that a row that was changed or removed can be named
checksums.json                 bytes and sha256 of all other files
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from intrabench.errors import IntraBenchError, several
from intrabench.fetch.checksum import checksum_of
from intrabench.files.documents import Unreadable, read_json
from intrabench.files.names import one_line

SCHEMA = 1
"""The version of the folder's format."""

_LONGEST = {"name": 200, "contact": 300, "licence": 200, "notes": 4000}
_ADDRESS = re.compile(r"https?://[^\s<>\"']+|[^\s@<>\"'/]+@[^\s@<>\"'/]+\.[^\s@<>\"'/]+")


@dataclass(frozen=True)
class Submitter:
    """Who submits: a name, a contact (an address of mail or of a page), the licence of the folder, and notes.

    Raises:
        IntraBenchError: one is missing, too long, or no address.
    """

    name: str
    contact: str
    licence: str
    notes: str = ""

    def __post_init__(self) -> None:
        for key, most in _LONGEST.items():
            text = getattr(self, key)
            if not text.strip() and key != "notes":
                raise IntraBenchError(f"--{key} is empty; say {_WANTED[key]}")
            if len(text) > most:
                raise IntraBenchError(f"--{key} has {len(text)} characters, expected {most} at most; shorten it")
        if not _ADDRESS.fullmatch(self.contact):
            raise IntraBenchError(
                f"--contact {one_line(self.contact)!r} is no address of mail and no page, https://...; give one"
            )

    @property
    def href(self) -> str:
        """The contact as a link."""
        return self.contact if self.contact.startswith(("http://", "https://")) else f"mailto:{self.contact}"


_WANTED = {
    "name": "who submits, e.g. a person or a group",
    "contact": "how to reach you, by mail or a page",
    "licence": "under which licence others may use these results, e.g. CC-BY-4.0",
}


@dataclass(frozen=True)
class Data:
    """A data set of a submission, as its card says; published: it ships with IntraBench, so that others can get it."""

    dataset: str
    version: str
    published: bool = False
    title: str = ""
    modality: str = ""
    licence: str = ""
    citation: str = ""
    homepage: str = ""


@dataclass(frozen=True)
class Statement:
    """All of it. sampled: the sessions whose turns are there; masks: those of them whose masks are there.

    lines: of `intrabench.publishing.board.lines.stated_lines`.
    """

    id: str
    by: Submitter
    created: str
    intrabench: str
    rows: int
    data: tuple[Data, ...]
    sampled: tuple[str, ...]
    masks: tuple[str, ...]
    lines: list[dict[str, Any]] = field(default_factory=list)

    def write(self, folder: Path) -> None:
        """Write the file into a submission."""
        text = json.dumps({"schema": SCHEMA, **asdict(self)}, indent=1, ensure_ascii=False)
        (folder / STATEMENT).write_text(text + "\n", encoding="utf-8")


def read_statement(folder: Path) -> Statement:
    """The statement of a submission.

    Raises:
        IntraBenchError: it is not as this version writes it.
    """
    path = folder / STATEMENT
    # At first the schema alone: a file of another version is to be called so, and not to have wrong fields.
    found = read_json(path, {"schema": int})
    if (schema := found.pop("schema", None)) != SCHEMA:
        raise IntraBenchError(
            f"{path} is of schema {schema}, and this intrabench reads {SCHEMA}; use another version of it"
        )
    for name in _TYPES:
        if name not in found:
            raise Unreadable(f"{path} has no {name}; `intrabench submit` writes it")
    for name in found.keys() - _TYPES.keys():
        raise Unreadable(f"{path} has {one_line(name)!r}, which is unknown; remove it")
    found = read_json(path, {"schema": int, **_TYPES})
    if not NAME.fullmatch(found["id"]):
        raise Unreadable(
            f"{path} has the id {one_line(found['id'])!r}, expected small letters, digits, and . _ - between"
        )
    by = _object(path, Submitter, found["by"])
    data = tuple(_object(path, Data, one) for one in found["data"])
    rest = {name: found[name] for name in ("id", "created", "intrabench", "rows", "lines")}
    return Statement(**rest, by=by, data=data, sampled=tuple(found["sampled"]), masks=tuple(found["masks"]))


_TYPES: dict[str, Any] = {
    **dict.fromkeys(("id", "created", "intrabench"), str),
    **{"by": dict[str, str], "rows": int, "data": list[dict[str, str | bool]]},
    **{"sampled": list[str], "masks": list[str], "lines": list[dict[str, Any]]},
}


def _object(path: Path, cls: Any, found: Mapping[str, Any]) -> Any:
    types = {one.name: bool if one.type == "bool" else str for one in fields(cls)}
    try:
        if wrong := [name for name, value in found.items() if type(value) is not types.get(name)]:
            raise Unreadable(f"{path} has a wrong {one_line(wrong[0])}; `intrabench submit` writes it")
        return cls(**found)
    except TypeError:
        raise Unreadable(f"{path} lacks what `intrabench submit` writes there ({', '.join(types)})") from None
    except IntraBenchError as error:
        raise Unreadable(f"{path}: {str(error).removeprefix('--')}") from None


STATEMENT, LEDGER, CHECKSUMS = "submission.json", "ledger.parquet", "checksums.json"
PART = "submission-0001.parquet"
"""The one part of rows, and of turns."""

MOST_FILES = 2000
LARGEST_FILE, LARGEST_RECORD, LARGEST = 95_000_000, 2_000_000, 400_000_000
"""Bytes of a file, which public hosts of repositories limit to 100 MB, of the record of a run, and of a submission."""

NAME = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?")
"""What a submission's folder may be called: it is part of addresses that stay."""

_KNOWN = re.compile(
    rf"{STATEMENT}|{LEDGER}|{CHECKSUMS}|(?:rows|turns)/{PART}|runs/[\w.-]{{1,120}}\.json|masks/[0-9a-f]{{24}}\.npz"
)
_MUST = (STATEMENT, LEDGER, f"rows/{PART}", f"turns/{PART}")


def look(folder: Path) -> tuple[dict[str, int], list[str]]:
    """The files of a submission and their bytes, and a sentence for each that must not be there; none is opened."""
    found, wrong, seen = dict[str, int](), list[str](), set[str]()
    for place, path in _below(folder):
        # Of a link itself, not of what it leads to: somebody else made this folder.
        status = path.lstat()
        seen.add(place)
        if len(found) == MOST_FILES:
            return found, [f"{folder} has more than {MOST_FILES} files; a submission needs few"]
        if stat.S_ISLNK(status.st_mode):
            wrong.append(f"{one_line(place)} is a link, which may lead anywhere; put the file itself there")
        elif not stat.S_ISREG(status.st_mode):
            wrong.append(f"{one_line(place)} is neither a file nor a folder; remove it")
        elif not _KNOWN.fullmatch(place):
            wrong.append(f"{one_line(place)} does not belong into a submission; remove it")
        elif status.st_size > (most := LARGEST_RECORD if place.startswith("runs/") else LARGEST_FILE):
            wrong.append(f"{place} has {status.st_size / 1e6:.0f} MB, expected {most / 1e6:.0f} MB at most")
        else:
            found[place] = status.st_size
    if (total := sum(found.values())) > LARGEST:
        wrong.append(f"{folder} has {total / 1e6:.0f} MB, expected {LARGEST / 1e6:.0f} MB at most")
    wrong += [f"{name} is missing; `intrabench submit` writes it" for name in _MUST if name not in seen]
    return found, wrong


def _below(folder: Path, place: str = "") -> Iterator[tuple[str, Path]]:
    """All that is in a folder and below, but not behind links: paths with ``/``, sorted."""
    for entry in sorted(os.scandir(folder), key=lambda one: one.name):
        if entry.is_dir(follow_symlinks=False):
            yield from _below(Path(entry.path), f"{place}{entry.name}/")
        else:
            yield f"{place}{entry.name}", Path(entry.path)


def write_checksums(folder: Path) -> None:
    """Write the checksums of all files that are there."""
    sums = {place: _sum(folder / place) for place in look(folder)[0] if place != CHECKSUMS}
    (folder / CHECKSUMS).write_text(json.dumps(sums, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def wrong_checksums(folder: Path, found: Mapping[str, int]) -> list[str]:
    """A sentence for each file that is not as ``checksums.json`` says. found: of `look`."""
    try:
        sums = read_json(folder / CHECKSUMS, {})
    except FileNotFoundError:
        return [f"{CHECKSUMS} is missing; `intrabench submit` writes it"]
    except Unreadable as error:
        return [str(error)]
    wrong = []
    for place, expected in sums.items():
        if not _KNOWN.fullmatch(place):
            wrong.append(f"{CHECKSUMS} names {one_line(place)[:200]}, which is no file of a submission")
        elif place not in found:
            wrong.append(f"{place} is in {CHECKSUMS}, but is missing")
        elif expected != (now := _sum(folder / place)):
            wrong.append(
                f"{place} was changed: it has {several(now['bytes'], 'byte')} with sha256 {now['sha256'][:12]}…"
            )
    wrong += [f"{place} is not in {CHECKSUMS}" for place in found if place not in sums and place != CHECKSUMS]
    return wrong


def _sum(path: Path) -> dict[str, Any]:
    return {"bytes": path.stat().st_size, "sha256": checksum_of(path).partition(":")[2]}
