"""The files of a submission: which there may be, how large, and their checksums. Anybody may have written them.

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
from pathlib import Path
from typing import Any

from intrabench.errors import several
from intrabench.fetch.checksum import checksum_of
from intrabench.files.documents import Unreadable, read_json
from intrabench.files.names import one_line

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
        told = path.lstat()
        seen.add(place)
        if len(found) == MOST_FILES:
            return found, [f"{folder} has more than {MOST_FILES} files; a submission needs few"]
        if stat.S_ISLNK(told.st_mode):
            wrong.append(f"{one_line(place)} is a link, which may lead anywhere; put the file itself there")
        elif not stat.S_ISREG(told.st_mode):
            wrong.append(f"{one_line(place)} is neither a file nor a folder; remove it")
        elif not _KNOWN.fullmatch(place):
            wrong.append(f"{one_line(place)} does not belong into a submission; remove it")
        elif told.st_size > (most := LARGEST_RECORD if place.startswith("runs/") else LARGEST_FILE):
            wrong.append(f"{place} has {told.st_size / 1e6:.0f} MB, expected {most / 1e6:.0f} MB at most")
        else:
            found[place] = told.st_size
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
        told = read_json(folder / CHECKSUMS, {})
    except FileNotFoundError:
        return [f"{CHECKSUMS} is missing; `intrabench submit` writes it"]
    except Unreadable as error:
        return [str(error)]
    wrong = []
    for place, said in told.items():
        if not _KNOWN.fullmatch(place):
            wrong.append(f"{CHECKSUMS} names {one_line(place)[:200]}, which is no file of a submission")
        elif place not in found:
            wrong.append(f"{place} is in {CHECKSUMS}, but is missing")
        elif said != (now := _sum(folder / place)):
            wrong.append(
                f"{place} was changed: it has {several(now['bytes'], 'byte')} with sha256 {now['sha256'][:12]}…"
            )
    wrong += [f"{place} is not in {CHECKSUMS}" for place in found if place not in told and place != CHECKSUMS]
    return wrong


def _sum(path: Path) -> dict[str, Any]:
    return {"bytes": path.stat().st_size, "sha256": checksum_of(path).partition(":")[2]}
