"""One file from a server or a folder: resumed where it stopped, checked against its checksum, then moved into place.

Messages name the file and the folder, never the address: the address of a package index may hold credentials.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from intrabench.fetch.checksum import checksum_of
from intrabench.fetch.transfer import LARGEST, DownloadError, Progress, Refused, Transfer, bytes_in
from intrabench.files.atomic import put, writing

if TYPE_CHECKING:
    import httpx2

__all__ = ["DownloadError", "Progress", "ask_for_space", "at_most", "by_hand", "download", "user_agent"]

CHUNK = 1 << 20


def download(
    url: str,
    path: Path,
    *,
    checksum: str = "",
    size: int | None = None,
    most: int = LARGEST,
    client: httpx2.Client | None = None,
    progress: Progress | None = None,
) -> Path:
    """Download ``url`` (http, https, file, or a plain path) to ``path`` and return ``path``.

    What has arrived waits in ``<path>.part``, so that a broken transfer goes on where it stopped, in this run or the
    next; ``path`` itself appears only with the right ``checksum`` (``sha256:...`` or ``md5:...``; empty: nobody knows
    it, so no redirection may leave https) and ``size`` (bytes), which is asked of the disk first; if nobody knows it,
    no more than ``most`` bytes are written. ``client`` brings certificates, proxies and credentials. Without a checksum
    it always starts again, because a part of an earlier transfer could not be verified.
    """
    part = path.with_name(path.name + ".part")
    algorithm = checksum.partition(":")[0] or "sha256"
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        if not checksum:
            part.unlink(missing_ok=True)
        left_over = bytes_in(part) > 0
        ask_for_space(path, (size or 0) - bytes_in(part))
        _fill(part, url, path, size, most, client, progress, pinned=bool(checksum))
        found = checksum_of(part, algorithm)
        if checksum not in (found, "") and left_over:  # an earlier run may have left a piece of something else
            part.unlink()
            _fill(part, url, path, size, most, client, progress, pinned=True)
            found = checksum_of(part, algorithm)
        problem = _problem(part, found, checksum, size)
        if problem:
            part.unlink()
            raise DownloadError(f"{path.name} arrived with {problem}: run again, or {by_hand(path)}.")
        put(part, path)
    return path


def by_hand(path: Path) -> str:
    """The end of messages: what a user without a connection can do."""
    return f"put {path.name} into {path.parent}"


def at_most(about_mb: float) -> int:
    """The bytes to accept of a file whose size is known as about so many MB (0: not at all)."""
    return int(2e6 * about_mb) + 10**6 if about_mb else LARGEST


def user_agent() -> str:
    """The user agent: this program, its version and its homepage, as requested by Zenodo."""
    import importlib.metadata  # of use only where something is downloaded

    try:
        version = importlib.metadata.version("intrabench")
    except importlib.metadata.PackageNotFoundError:  # run from a checkout that was never installed
        version = "0"
    return f"intrabench/{version} (+https://github.com/intrabench/intrabench)"


def ask_for_space(path: Path, needed: int) -> None:
    """Refuse what the disk of ``path`` (whose folder exists) has no room for; `needed` in bytes."""
    free = shutil.disk_usage(path.parent).free
    if needed > free:
        raise DownloadError(
            f"{path.name} needs {needed / 1e6:.1f} MB more in {path.parent}, which has {free / 1e6:.1f} MB left: "
            "free some space or choose another folder, then run again."
        )


def _problem(part: Path, found: str, checksum: str, size: int | None) -> str:
    """The problem with a downloaded file; empty if there is none."""
    if checksum not in (found, ""):
        return f"{found.replace(':', ' ')}, expected {checksum.partition(':')[2]}, so it was deleted"
    if not checksum and size is not None and bytes_in(part) != size:
        return f"{bytes_in(part)} bytes, expected {size}, so it was deleted"
    return ""


def _fill(
    part: Path,
    url: str,
    path: Path,
    size: int | None,
    most: int,
    client: httpx2.Client | None,
    progress: Progress | None,
    *,
    pinned: bool,
) -> None:
    """Complete ``part`` from ``url``."""
    if size and bytes_in(part) == size:
        return
    source = _local(url)
    if source is None:
        transfer = Transfer(url, part, size, most, progress, pinned, {"User-Agent": user_agent()})
        try:
            _over_http(transfer, client)
        except Refused as refused:
            remedy = by_hand(path) if refused.final else f"run again, or {by_hand(path)}"
            raise DownloadError(f"{path.name} could not be downloaded, {refused}: {remedy}.") from None
    elif source.is_file() and source.stat().st_size > (most if size is None else size):
        raise DownloadError(
            f"{path.name} has {source.stat().st_size} bytes at its source, more than the published file: "
            f"{by_hand(path)}."
        )
    elif source.is_file():
        _copy(source, part, progress)
    else:
        raise DownloadError(f"{path.name} no longer exists at its source: {by_hand(path)}.")


def _over_http(transfer: Transfer, client: httpx2.Client | None) -> None:
    import httpx2

    if client is not None:
        return transfer.run(client)
    with httpx2.Client(timeout=30) as http:
        transfer.run(http)


def _local(url: str) -> Path | None:
    if "://" not in url:
        return Path(url)
    if not url.startswith("file://"):
        return None
    from urllib.request import url2pathname  # brings all of http

    return Path(url2pathname(urlsplit(url).path))


def _copy(source: Path, part: Path, progress: Progress | None) -> None:
    done, total = 0, source.stat().st_size
    with source.open("rb") as reader, part.open("wb") as writer:
        while chunk := reader.read(CHUNK):
            done += writer.write(chunk)
            if progress:
                progress(done, total)
