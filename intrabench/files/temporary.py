"""Temporary folders, and what killed processes left of them."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from filelock import FileLock

from intrabench.files.cleanup import AGE

PREFIX = "intrabench-"
_HELD = ".held"
"""The file in a folder that is locked as long as its process lives."""


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder that is deleted at the end, or, if this process is killed, by a later one."""
    sweep()
    with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as folder, _lock(Path(folder)):
        yield Path(folder)


@cache
def sweep() -> None:
    """Delete the user's temporary folders that are older than a day and that no process uses."""
    with suppress(OSError):
        for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
            with suppress(OSError):
                if _is_old(folder):
                    with _lock(folder):  # an OSError if a process holds it
                        pass
                    shutil.rmtree(folder)


def _is_old(folder: Path) -> bool:
    """Whether it is a folder of the user's, and no link to one, that was made long ago."""
    status = folder.lstat()
    owned = not hasattr(os, "getuid") or status.st_uid == os.getuid()
    return owned and folder.is_dir() and not folder.is_symlink() and time.time() - status.st_mtime > AGE


def _lock(folder: Path) -> FileLock:
    """Holds a folder; the death of the process releases it."""
    return FileLock(folder / _HELD, timeout=0)
