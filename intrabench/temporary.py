"""Temporary folders, and what killed processes left of them."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from intrabench.leftovers import AGE

PREFIX = "intrabench-"


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder that is deleted at the end, or, if this process is killed, by a later one."""
    sweep()
    with tempfile.TemporaryDirectory(prefix=PREFIX) as folder, _locked(Path(folder)):
        yield Path(folder)


@cache
def sweep() -> None:
    """Delete the user's temporary folders that are older than a day and that no process uses.

    Earlier versions also left some in shared memory.
    """
    for place in (Path(tempfile.gettempdir()), Path("/dev/shm")):
        with suppress(OSError):
            for folder in place.glob(f"{PREFIX}*"):
                with suppress(OSError), _locked(folder):
                    told = folder.lstat()
                    if told.st_uid == os.getuid() and time.time() - told.st_mtime > AGE:
                        shutil.rmtree(folder)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold a folder; an OSError if another process does. Its death releases it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)
