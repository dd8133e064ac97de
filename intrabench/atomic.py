"""Files that are written whole or not at all, and one sentence where they cannot be written."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from intrabench.errors import IntraBenchError


class CannotWrite(IntraBenchError):
    """The system does not let a file be written."""


@contextmanager
def atomically(path: Path) -> Iterator[Path]:
    """A place beside `path` to write to. At the end the file there replaces `path`; after an error nothing of it stays.

    The folder is made. Of several processes that write the same file at once, the last one counts.

    Raises:
        OSError: the file cannot be written; inside of `writing` that becomes one sentence.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.part")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield part
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Say in one sentence why `path` cannot be written, where the system says so with an ``OSError``.

    Raises:
        CannotWrite: the sentence.
    """
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise CannotWrite(f"{path} cannot be written, the disk is full: free some space, then run again.") from None
        reason = error.strerror or type(error).__name__
        raise CannotWrite(f"{path} cannot be written ({reason}): choose a folder that you may write to.") from None
