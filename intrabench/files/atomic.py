"""Write files completely or not at all, also if the power fails, with one sentence if they cannot be written."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from intrabench.errors import IntraBenchError


class CannotWrite(IntraBenchError):
    """A file cannot be written."""

    passing = True


@contextmanager
def atomically(path: Path, durable: bool = True) -> Iterator[Path]:
    """A temporary path beside `path` to write to. At the end it replaces `path`; after an error it is deleted.

    The folder is created. If several processes write the same file at once, the last one counts.

    durable: wait until the content is on the disk, so that a crash of the system leaves no empty or cut file under this
    name. What can be made again at any time needs no such wait.

    Raises:
        OSError: the file cannot be written; inside of `writing` that becomes one sentence.
    """
    with all_atomically([path], durable) as (part,):
        yield part


@contextmanager
def all_atomically(paths: Sequence[Path], durable: bool = True) -> Iterator[list[Path]]:
    """As `atomically`, for several files: none is replaced before all are written, and each folder is synced once."""
    for path in paths:
        if path.is_dir():  # also "." and "/", which have no name to put a part beside
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    parts = [path.with_name(f".{path.name}.{unique()}.part") for path in paths]
    folders = {path.parent for path in paths}
    for folder in folders:
        make_folder(folder, durable)
    try:
        yield parts
        # First the contents, then the names, then the folders: after a crash of the system each name means the whole
        # old file or the whole new one.
        for part in parts if durable else ():
            sync(part)
        for part, path in zip(parts, paths, strict=True):
            os.replace(part, path)
        for folder in folders if durable else ():
            sync(folder)
    finally:
        for part in parts:
            part.unlink(missing_ok=True)


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder beside `folder` to fill. At the end it gets that name; after an error it is deleted.

    Raises:
        IntraBenchError: something of that name exists already.
        CannotWrite: the folder cannot be written.
    """
    if os.path.lexists(folder):
        raise IntraBenchError(f"{folder} exists already; give another folder")
    part = folder.with_name(f".{folder.name}.{unique()}.part")
    with writing(folder):
        make_folder(part)
        try:
            yield part
            put(part, folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)


def unique() -> str:
    """Part of a temporary name that nobody else takes; processes of two machines may have the same number."""
    return f"{os.getpid()}-{secrets.token_hex(4)}"


def put(part: Path, path: Path) -> None:
    """Rename a file, or a folder of files, once all of it is on the disk.

    Raises:
        OSError: as in `atomically`.
    """
    sync_all(part) if part.is_dir() else sync(part)
    os.replace(part, path)
    sync(path.parent)


def make_folder(folder: Path, durable: bool = True) -> None:
    """Create a folder and those above it; durable: as in `atomically`."""
    if not folder.is_dir():
        if folder.parent != folder:
            make_folder(folder.parent, durable)
        folder.mkdir(exist_ok=True)
        if durable:
            sync(folder.parent)


def sync(path: Path) -> None:
    """Wait until the content of a file, or the names in a folder, are on the disk.

    Raises:
        OSError: the disk refuses; some tell only now that they are full.
    """
    if path.is_dir():
        with suppress(OSError):  # Windows and some network disks cannot sync folders
            _sync(path, os.O_RDONLY)
    else:
        _sync(path, os.O_RDWR)  # Windows syncs only what may be written


def sync_all(folder: Path) -> None:
    """`sync` for all files in a folder and below, then for the folders."""
    found = sorted(folder.rglob("*"), key=Path.is_dir)
    for path in [*found, folder]:
        sync(path)


def _sync(path: Path, mode: int) -> None:
    handle = os.open(path, mode)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an ``OSError`` into one sentence that says why `path` cannot be written.

    Raises:
        CannotWrite: the sentence.
    """
    try:
        yield
    except OSError as error:
        raise CannotWrite(why(path, error)) from None


def why(path: Path | str, error: OSError) -> str:
    """One sentence that says why `path` cannot be written."""
    if is_full(error):
        return f"{path} cannot be written because the disk is full: free some space, then run again."
    if isinstance(error, IsADirectoryError):
        return f"{path} cannot be written because it is a folder: give the name of a file."
    reason = error.strerror or str(error) or type(error).__name__
    return f"{path} cannot be written ({reason}): choose a writable folder."


def is_full(error: OSError) -> bool:
    """Whether the disk is full; errors of polars and of `shutil.copytree` tell only in words."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT) or os.strerror(errno.ENOSPC) in str(error)
