"""One file from a server or a folder: resumed where it stopped, checked against its sha256, then moved into place.

Messages name the file and the folder, never the address: the address of a package index may hold credentials.
"""

from __future__ import annotations

import email.utils
import errno
import hashlib
import importlib.metadata
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import url2pathname

from intrabench.errors import IntraBenchError

if TYPE_CHECKING:
    import httpx2

Progress = Callable[[int, int | None], None]
"""Called with the bytes that are there and the bytes expected in all (None where nobody knows)."""

TRIES = 4
FIRST_PAUSE = 1.0  # seconds; doubled before each further try
LONGEST_PAUSE = 60.0  # a server that asks for more patience in Retry-After is asked again after this
TRY_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
CHUNK = 1 << 20


class DownloadError(IntraBenchError):
    """A file could not be fetched, checked, stored or opened."""


def download(
    url: str,
    path: Path,
    *,
    sha256: str | None,
    size: int | None = None,
    client: httpx2.Client | None = None,
    progress: Progress | None = None,
) -> Path:
    """Fetch ``url`` (http, https, file, or a plain path) to ``path`` and return ``path``.

    What has arrived waits in ``<path>.part``, so that a broken transfer goes on where it stopped, in this run or the
    next; ``path`` itself appears only with the right ``sha256`` (None: nobody knows it). ``size`` (bytes), where known,
    is asked of the disk first. ``client`` brings certificates, proxies and credentials.
    """
    part = path.with_name(path.name + ".part")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        left_over = _bytes_in(part) > 0
        _ask_for_space(path, (size or 0) - _bytes_in(part))
        found = _fill(part, url, path, size, client, progress)
        if (
            sha256 not in (found, None) and left_over
        ):  # an earlier run may have left a piece of something else: begin afresh, once
            part.unlink()
            found = _fill(part, url, path, size, client, progress)
        if sha256 not in (found, None):
            part.unlink()
            raise DownloadError(
                f"{path.name} arrived with sha256 {found} where {sha256} was expected, so it was thrown away: "
                f"run again, or {by_hand(path)}."
            )
        os.replace(part, path)
    return path


def sha256_of(path: Path) -> str:
    """The sha256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def by_hand(path: Path) -> str:
    """What a user without a connection can do, to end a message with."""
    return f"put {path.name} into {path.parent}"


def user_agent() -> str:
    """Who is asking: this program and its version."""
    try:
        return f"intrabench/{importlib.metadata.version('intrabench')}"
    except importlib.metadata.PackageNotFoundError:  # run from a checkout that was never installed
        return "intrabench/0"


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Say in one sentence why ``path`` cannot be written, where the system says so with an ``OSError``."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise DownloadError(
                f"{path} cannot be written, the disk is full: free some space, then run again."
            ) from None
        reason = error.strerror or type(error).__name__
        raise DownloadError(f"{path} cannot be written ({reason}): choose a folder that you may write to.") from None


def _ask_for_space(path: Path, needed: int) -> None:
    free = shutil.disk_usage(path.parent).free
    if needed > free:
        raise DownloadError(
            f"{path.name} needs {needed / 1e6:.1f} MB more in {path.parent}, which has {free / 1e6:.1f} MB left: "
            "free some space or choose another folder, then run again."
        )


def _fill(
    part: Path, url: str, path: Path, size: int | None, client: httpx2.Client | None, progress: Progress | None
) -> str:
    """Complete ``part`` from wherever ``url`` points and return its sha256."""
    if not size or _bytes_in(part) != size:
        source = _local(url)
        if source is None:
            _over_http(_Transfer(url, part, path, size, progress), client)
        elif source.is_file():
            _copy(source, part, progress)
        else:
            raise DownloadError(f"{path.name} is no longer where it was to be copied from: {by_hand(path)}.")
    return sha256_of(part)


def _local(url: str) -> Path | None:
    if "://" not in url:
        return Path(url)
    return Path(url2pathname(urlsplit(url).path)) if url.startswith("file://") else None


def _copy(source: Path, part: Path, progress: Progress | None) -> None:
    done, total = 0, source.stat().st_size
    with source.open("rb") as reader, part.open("wb") as writer:
        while chunk := reader.read(CHUNK):
            done += writer.write(chunk)
            if progress:
                progress(done, total)


def _over_http(transfer: _Transfer, client: httpx2.Client | None) -> None:
    import httpx2

    if client is not None:
        return transfer.run(client)
    with httpx2.Client(timeout=30) as own:
        transfer.run(own)


@dataclass
class _Transfer:
    """One file from one server, across as many attempts as it takes."""

    url: str
    part: Path
    path: Path
    size: int | None
    progress: Progress | None
    version: str | None = None  # of the file at the server, once it has told: ETag, or else Last-Modified

    def run(self, client: httpx2.Client) -> None:
        """Try until the part is complete, going on where the last attempt stopped."""
        import httpx2

        reason = ""
        for attempt in range(TRIES):
            pause = FIRST_PAUSE * 2**attempt
            try:
                with client.stream("GET", self.url, headers=self._headers(), follow_redirects=True) as response:
                    if response.status_code not in TRY_AGAIN:
                        if self._receive(response):
                            return
                        reason = "the server sent only a piece of it"
                    else:
                        reason = f"the server answered HTTP {response.status_code}"
                        pause = _retry_after(response.headers.get("Retry-After"), pause)
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                reason = why(error)
            if attempt < TRIES - 1:
                time.sleep(pause)
        raise DownloadError(f"{self.path.name} could not be downloaded, {reason}: run again, or {by_hand(self.path)}.")

    def _headers(self) -> dict[str, str]:
        # identity: the bytes as they are published, or else neither the range nor the sha256 would fit
        headers = {"User-Agent": user_agent(), "Accept-Encoding": "identity"}
        if done := _bytes_in(self.part):
            headers["Range"] = f"bytes={done}-"
            if self.version:
                headers["If-Range"] = self.version
        return headers

    def _receive(self, response: httpx2.Response) -> bool:
        """Store what one response brings; whether the part is complete now."""
        done, status = _bytes_in(self.part), response.status_code
        offered = re.fullmatch(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)", response.headers.get("Content-Range", ""))
        start, whole = offered.groups() if offered else (None, None)
        if status == 416 and whole == str(done):
            return True
        if status == 416 or (status == 206 and start != str(done)):  # our part is no beginning of this file
            self.part.unlink(missing_ok=True)
            return False
        if status not in (200, 206):
            raise DownloadError(
                f"{self.path.name} could not be downloaded, the server answered HTTP {status}: {by_hand(self.path)}."
            )
        total = whole if status == 206 else response.headers.get("Content-Length")
        self.version = _strong(response.headers.get("ETag")) or response.headers.get("Last-Modified")
        return self._store(response, done if status == 206 else 0, int(total) if total and total.isdigit() else None)

    def _store(self, response: httpx2.Response, done: int, total: int | None) -> bool:
        total = total if total is not None else self.size
        with self.part.open("ab" if done else "wb") as file:
            for chunk in response.iter_raw():
                done += file.write(chunk)
                if self.progress:
                    self.progress(done, total)
        return total is None or done >= total


def why(error: Exception) -> str:
    """A transport error in our words: its own may name the host."""
    import httpx2

    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        return "the server's certificate could not be verified"
    if isinstance(error, httpx2.TimeoutException):
        return "the server did not answer in time"
    if isinstance(error, httpx2.ConnectError):
        return "the server could not be reached"
    return "the connection failed"


def _bytes_in(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _strong(etag: str | None) -> str | None:
    return None if etag and etag.startswith("W/") else etag  # a weak one is no ground for joining bytes


def _retry_after(value: str | None, otherwise: float) -> float:
    """The seconds a server asked us to wait (it may say so as a date), within reason."""
    if not value:
        return otherwise
    try:
        seconds = (
            float(value) if value.isdigit() else email.utils.parsedate_to_datetime(value).timestamp() - time.time()
        )
    except ValueError:
        return otherwise
    return min(max(seconds, 0.0), LONGEST_PAUSE)
