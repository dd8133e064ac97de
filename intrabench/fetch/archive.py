"""Single members out of archives (zip, wheel, tar): safely, whole, and never more than the archive should hold."""

from __future__ import annotations

import gzip
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO

from intrabench.fetch.download import DownloadError, by_hand
from intrabench.files.atomic import atomically, writing

DAMAGED = (zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, NotImplementedError)
CHUNK = 1 << 20
NOTES = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
LONGEST_NOTE = 1 << 20


def member_names(archive: Path) -> list[str]:
    """The names of the regular files of an archive, in its order; of a zip only its directory is read.

    Raises:
        DownloadError: it is damaged or not there.
    """
    with _opening(archive):
        return [name for name, _ in _files(archive)]


def open_members(archive: Path, members: Sequence[str], into: Path, limit: int | None = None) -> dict[str, Path]:
    """Take only ``members`` (their names in ``archive``) out of it; each lies at ``into / name``.

    limit: bytes that one member may unpack to; an archive that goes beyond is refused while it is unpacked, whatever
    its own directory claims.

    Raises:
        DownloadError: damaged, not there, without a member, with a name that leads outside, or beyond the limit.
    """
    wanted = {name: _inside(into, name, archive) for name in members}
    with _opening(archive), writing(into):
        found = set()
        for name, reader in _files(archive):
            if name in wanted:
                _place(reader, wanted[name], archive, limit)
                found.add(name)
                if len(found) == len(wanted):
                    break
    if missing := sorted(set(wanted) - found):
        raise DownloadError(
            f"{archive} has no {', '.join(missing)}: it is not the expected file; delete it and run again."
        )
    return wanted


class _opening:
    """Say in one sentence that an archive is not there or damaged."""

    def __init__(self, archive: Path) -> None:
        self._archive = archive

    def __enter__(self) -> None:
        if not self._archive.is_file():
            raise DownloadError(f"{self._archive} does not exist: download it, or {by_hand(self._archive)}.")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: object) -> None:
        if isinstance(error, DAMAGED):
            raise DownloadError(f"{self._archive} is damaged: delete it and run again to download it again.") from None
        if isinstance(error, RuntimeError) and "password" in str(error):
            raise DownloadError(
                f"{self._archive} is encrypted and cannot be opened: unpack it by hand, then pack its content again."
            ) from None


def _files(archive: Path) -> Iterator[tuple[str, Callable[[], IO[bytes]]]]:
    """The regular files of an archive, in one pass: name, and how to open it. Links and devices are left out."""
    if archive.suffix in (".whl", ".zip"):
        with zipfile.ZipFile(archive) as packed:
            for info in packed.infolist():
                is_link = (info.external_attr >> 28) == 0o12  # the type of file that Unix zips note
                if not info.is_dir() and not is_link:
                    yield info.filename, partial(packed.open, info)
    else:
        with tarfile.open(archive, "r:*", tarinfo=_Header) as taped:
            for member in taped:
                if member.isreg():
                    yield member.name, partial(_extract, taped, member)


class _Header(tarfile.TarInfo):
    """A member of a tar file whose names and notes are read only if they are as short as names and notes are."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _Header:
        found = super().frombuf(buf, encoding, errors)
        if found.type in NOTES and found.size > LONGEST_NOTE:
            raise tarfile.ReadError("a name or a note is too long")
        return found


def _extract(taped: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    reader = taped.extractfile(member)
    assert reader is not None  # it is a regular file
    return reader


def _inside(folder: Path, name: str, archive: Path) -> Path:
    pure = PurePosixPath(name)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts or "\\" in name or ":" in name:
        raise DownloadError(
            f"{name!r} in {archive} would be written outside {folder}: name a member inside the archive."
        )
    return folder.joinpath(*pure.parts)


def _place(reader: Callable[[], IO[bytes]], target: Path, archive: Path, limit: int | None) -> None:
    """Write one member whole or not at all."""
    written = 0
    with atomically(target, durable=False) as part, reader() as source, part.open("wb") as file:
        while chunk := source.read(CHUNK):
            written += file.write(chunk)
            if limit is not None and written > limit:
                raise DownloadError(
                    f"{target.name} in {archive} unpacks to more than the {limit / 1e6:.0f} MB that a file of this "
                    "data set may have: the archive is not the published one; delete it and run again."
                )
