"""Remove what killed processes left behind: unfinished files and folders, and locks that nobody holds."""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

from intrabench.files.atomic import CannotWrite
from intrabench.files.locks import Busy, forget, locked

AGE = 86400.0
"""Seconds for which a leftover stays; no process takes a day to write one file."""

LOCKS = (".lock", ".run")
"""The endings of locks. Of the folders below, ``.NAME.lock`` guards what is made as ``.NAME.part``."""

LEASES = ("*.lock", "*.run", "*.tries", "*.break.*")
"""Patterns of locks and of what stands beside them."""


def remove_leftovers(folder: Path, *patterns: str) -> None:
    """Remove what matches `patterns` in a folder, was not written to for a day, and is not held by a process.

    Only locks and what processes make before they rename it may match.
    """
    with suppress(OSError):  # no such folder, or one that may not be changed: then all stays as it is
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if any(fnmatchcase(entry.name, one) for one in patterns)]
        for path in (folder / name for name in sorted(names, key=lambda name: name.endswith(LOCKS))):  # locks last
            if _is_old(path):
                _unless_locked(path)


def _unless_locked(path: Path) -> None:
    """Remove something under its lock, if there is one, which goes with it."""
    lock = path if path.name.endswith(LOCKS) else path.with_suffix(".lock")
    with suppress(OSError, Busy, CannotWrite):
        if not lock.exists():
            return _remove(path)
        forget(lock, AGE)
        with locked(lock):
            if path != lock:
                _remove(path)


def _remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def _is_old(path: Path) -> bool:
    """Whether nothing was written there for a day."""
    inside = path.rglob("*") if path.is_dir() and not path.is_symlink() else ()
    with suppress(OSError):
        return max(one.lstat().st_mtime for one in [path, *inside]) < time.time() - AGE
    return False
