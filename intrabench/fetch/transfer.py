"""Download one file over HTTP in as many attempts as needed: resumed, with pauses, and refusing web pages."""

from __future__ import annotations

import email.utils
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from intrabench.errors import IntraBenchError
from intrabench.fetch.places import confirmed, is_quota

if TYPE_CHECKING:
    import httpx2

Progress = Callable[[int, int | None], None]
"""Called with the bytes that have arrived and the total bytes (None if unknown)."""

TRIES = 4  # in a row without progress
FIRST_PAUSE = 1.0  # seconds; doubled before each further try
LONGEST_PAUSE = 60.0  # a server that asks for more patience in Retry-After is asked again after this
TRY_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
SLOWEST = 1000.0  # bytes per second over a minute; below that a new connection is likely to be faster
PATIENCE = 60.0  # seconds
PAGE = 1 << 20  # bytes of a web page that are read


class DownloadError(IntraBenchError):
    """A file could not be fetched, checked, stored or opened."""


class Refused(Exception):
    """The server refuses the file; the message says why. final: further attempts are useless."""

    def __init__(self, reason: str, final: bool = True) -> None:
        super().__init__(reason)
        self.final = final


@dataclass
class Transfer:
    """The state of one download; the bytes so far are in `part`."""

    url: str
    part: Path
    size: int | None = None
    progress: Progress | None = None
    headers: dict[str, str] = field(default_factory=dict)
    version: str | None = None  # of the file at the server, once known: ETag, or else Last-Modified

    def run(self, client: httpx2.Client) -> None:
        """Try until the part is complete, resuming where the last attempt stopped.

        Raises:
            Refused: it will not work, and why.
        """
        import httpx2

        failures, furthest = 0, bytes_in(self.part)
        while True:
            pause = FIRST_PAUSE * 2**failures
            try:
                with client.stream("GET", self.url, headers=self._asking(), follow_redirects=True) as response:
                    if response.status_code not in TRY_AGAIN:
                        if self._receive(response):
                            return
                        reason = "the server sent only a part of it"
                    else:
                        reason = f"the server answered HTTP {response.status_code}"
                        pause = _retry_after(response.headers.get("Retry-After"), pause)
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                reason = why(error)
            done = bytes_in(self.part)
            failures = 0 if done > furthest else failures + 1
            furthest = max(furthest, done)
            if failures == TRIES:
                raise Refused(reason, final=False)
            time.sleep(pause)

    def _asking(self) -> dict[str, str]:
        # identity: the bytes as they are published, or else neither the range nor the checksum would fit
        headers = {**self.headers, "Accept-Encoding": "identity"}
        if done := bytes_in(self.part):
            headers["Range"] = f"bytes={done}-"
            if self.version:
                headers["If-Range"] = self.version
        return headers

    def _receive(self, response: httpx2.Response) -> bool:
        """Store the content of one response; return whether the part is complete."""
        done, status = bytes_in(self.part), response.status_code
        offered = re.fullmatch(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)", response.headers.get("Content-Range", ""))
        start, whole = offered.groups() if offered else (None, None)
        if status == 416 and whole == str(done):
            return True
        if status == 416 or (status == 206 and start != str(done)):  # our part is not the beginning of this file
            self.part.unlink(missing_ok=True)
            return False
        if status not in (200, 206):
            raise Refused(f"the server answered HTTP {status}")
        if response.headers.get("Content-Type", "").startswith("text/html"):
            return self._page(response)
        total = whole if status == 206 else response.headers.get("Content-Length")
        self.version = _strong(response.headers.get("ETag")) or response.headers.get("Last-Modified")
        return self._store(response, done if status == 206 else 0, int(total) if total and total.isdigit() else None)

    def _page(self, response: httpx2.Response) -> bool:
        """Handle a web page instead of the file: follow Google Drive's warning, refuse all others."""
        body = b""
        for chunk in response.iter_raw():
            body += chunk
            if len(body) > PAGE:
                break
        page = body.decode("utf-8", errors="replace")
        onward = confirmed(str(response.url), page)
        if onward is not None and onward != self.url:
            self.url = onward
            return False
        if is_quota(page):
            raise Refused("Google Drive's download quota of this file is exceeded; try again in a day")
        raise Refused("the server sent a web page instead of the file")

    def _store(self, response: httpx2.Response, done: int, total: int | None) -> bool:
        if total is not None and self.size is not None and total != self.size:
            raise Refused(f"the server offers {total} bytes, but {self.size} were published")
        total = total if total is not None else self.size
        since, then = time.monotonic(), done
        with self.part.open("ab" if done else "wb") as file:
            for chunk in response.iter_raw():
                done += file.write(chunk)
                if self.progress:
                    self.progress(done, total)
                if time.monotonic() - since > PATIENCE:
                    if done - then < SLOWEST * PATIENCE:
                        return False
                    since, then = time.monotonic(), done
        return total is None or done >= total


def why(error: Exception) -> str:
    """A transport error in our words, because its own message may name the host."""
    import httpx2

    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        return "the server's certificate could not be verified"
    if isinstance(error, httpx2.TimeoutException):
        return "the server did not answer in time"
    if isinstance(error, httpx2.ConnectError):
        return "the server could not be reached"
    return "the connection failed"


def bytes_in(part: Path) -> int:
    """The size of a file; 0 if it does not exist."""
    return part.stat().st_size if part.exists() else 0


def _strong(etag: str | None) -> str | None:
    return None if etag and etag.startswith("W/") else etag  # weak ETags do not guarantee equal bytes


def _retry_after(value: str | None, otherwise: float) -> float:
    """The seconds to wait according to the server (possibly given as a date), limited."""
    if not value:
        return otherwise
    try:
        seconds = (
            float(value) if value.isdigit() else email.utils.parsedate_to_datetime(value).timestamp() - time.time()
        )
    except ValueError:
        return otherwise
    return min(max(seconds, 0.0), LONGEST_PAUSE)
