"""The files of a results folder that hold rows or turns: parts of runs, and packs, which hold what many parts held.

A pack is complete on the disk before the first of its parts is deleted, and a row is told by its session, round, run
and time. So while both are there, and after a kill for longer, readers see each row once.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import polars as pl

T = TypeVar("T")

SUFFIX, PACK, HOLDS = ".parquet", "packed-", "intrabench.parts"
"""The ending of parts, how names of packs begin, and under which key the metadata of a pack name the parts in it."""

PAUSES = (0.0, 0.1, 0.5, 2.0, 5.0)
"""Seconds before a folder is listed again, because network disks show for a while what is gone."""


def is_pack(name: str) -> bool:
    """Whether a file is a pack, by its name."""
    return name.startswith(PACK)


def new_pack() -> str:
    """A name that no other pack has, on any machine."""
    return f"{PACK}{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{secrets.token_hex(6)}{SUFFIX}"


def held_by(pack: Path) -> list[str]:
    """The names of the parts whose rows are in a pack; none of what cannot be read."""
    with suppress(OSError, ValueError, KeyError, TypeError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        found = json.loads(pl.read_parquet_metadata(pack)[HOLDS])
        return [name for name in found if name == Path(name).name and name.endswith(SUFFIX)]
    return []  # also if somebody else wrote them


def contents(path: Path) -> list[str]:
    """The names of the parts whose rows or turns are in a file: those in a pack, or its own."""
    return (held_by(path) if is_pack(path.name) else []) or [path.name]


def number_of(name: str) -> tuple[str, int]:
    """The run of a part and its number; those of a run are numbered as they were written, from 1."""
    run, _, number = name.removesuffix(SUFFIX).rpartition("-")
    return (run, int(number)) if not is_pack(name) and number.isdecimal() else (name, 0)


def part_name(run: str, number: int) -> str:
    """The name of a part of a run, the inverse of `number_of`."""
    return f"{run}-{number:04d}{SUFFIX}"


def listed(folder: Path) -> list[Path]:
    """The parts and packs in a folder, sorted by name.

    A listing may miss a part that is deleted meanwhile, and the pack that holds its rows, too. A pack is there before
    what it holds is deleted, so the listing is whole if a second one shows no other packs.
    """
    found = _names(folder)
    while {*filter(is_pack, again := _names(folder))} != {*filter(is_pack, found)}:
        found = again
    return [folder / name for name in sorted(found)]


def reading(folder: Path, read: Callable[[list[Path]], T]) -> T:
    """What `read` makes of the parts in a folder; it is called again if some of them were packed while it read."""
    for pause in PAUSES:
        time.sleep(pause)
        paths = listed(folder)
        found = read(paths)
        if all(map(os.path.lexists, paths)):
            break
    return found


def _names(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in entries if entry.name.endswith(SUFFIX)]
    except (FileNotFoundError, NotADirectoryError):
        return []
