"""Write files completely or not at all, with one sentence if they cannot be written."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from intrabench.errors import IntraBenchError


class CannotWrite(IntraBenchError):
    """A file cannot be written."""


@contextmanager
def atomically(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` to write to. At the end it replaces `path`; after an error it is deleted.

    The folder is created. If several processes write the same file at once, the last one counts.

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
    """Turn an ``OSError`` into one sentence that says why `path` cannot be written.

    Raises:
        CannotWrite: the sentence.
    """
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise CannotWrite(
                f"{path} cannot be written because the disk is full: free some space, then run again."
            ) from None
        reason = error.strerror or type(error).__name__
        raise CannotWrite(f"{path} cannot be written ({reason}): choose a writable folder.") from None
