"""Download one file over HTTP in as many attempts as needed: resumed, with pauses, and refusing web pages."""

from __future__ import annotations

import email.utils
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from intrabench.errors import IntraBenchError
from intrabench.fetch.places import confirmed, is_quota
from intrabench.fetch.stall import SLOWEST, Watch, trace

if TYPE_CHECKING:
    import httpx2

Progress = Callable[[int, int | None], None]
"""Called with the bytes that have arrived and the total bytes (None if unknown)."""

TRIES = 4  # in a row without progress
FIRST_PAUSE = 1.0  # seconds; doubled before each further try
LONGEST_PAUSE = 60.0  # a server that asks for more patience in Retry-After is asked again after this
TRY_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
PAGE = 1 << 20  # bytes of a web page that are read
REDIRECTS = 20
RANGE = re.compile(r"bytes (?:(\d{1,18})-\d{1,18}|\*)/(\d{1,18}|\*)")
LARGEST = 50 * 10**9
"""Bytes of a file about whose size nobody says anything."""


class DownloadError(IntraBenchError):
    """A file could not be fetched, checked, stored or opened."""

    passing = True


class Refused(Exception):
    """The server refuses the file; the message says why. final: further attempts are useless."""

    def __init__(self, reason: str, final: bool = True) -> None:
        super().__init__(reason)
        self.final = final


@dataclass
class Transfer:
    """The state of one download; the bytes so far are in `part`.

    size: of the published file in bytes. most: bytes that are accepted if it is not known. Nothing is written beyond.
    pinned: a checksum says what has to arrive; else no redirection may leave https.
    """

    url: str
    part: Path
    size: int | None = None
    most: int = LARGEST
    progress: Progress | None = None
    pinned: bool = False
    headers: dict[str, str] = field(default_factory=dict)
    version: str | None = None  # of the file at the server, once known: ETag, or else Last-Modified
    offered: int | None = None  # its size at the server, once known
    arrived: int = 0  # bytes, over all attempts

    def run(self, client: httpx2.Client) -> None:
        """Try until the part is complete, resuming where the last attempt stopped.

        Raises:
            Refused: it will not work, and why.
        """
        import httpx2

        failures, furthest, since = 0, bytes_in(self.part), time.monotonic()
        while True:
            pause = FIRST_PAUSE * 2**failures
            watch = Watch(lambda: self.arrived)
            try:
                with watch, self._answer(client) as response:
                    if response.status_code not in TRY_AGAIN:
                        if self._receive(response) and not watch.cut:
                            return
                        reason = "the server sent only a part of it"
                    else:
                        reason = f"the server answered HTTP {response.status_code}"
                        pause = _retry_after(response.headers.get("Retry-After"), pause)
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                reason = why(error)
            if watch.cut:
                reason = f"the server sent less than {SLOWEST:.0f} bytes per second"
            done, now = bytes_in(self.part), time.monotonic()
            failures = 0 if done - furthest > SLOWEST * (now - since) else failures + 1
            furthest, since = max(furthest, done), now
            if failures == TRIES:
                raise Refused(reason, final=False)
            time.sleep(pause)

    @contextmanager
    def _answer(self, client: httpx2.Client) -> Iterator[httpx2.Response]:
        """The answer behind all redirections, whose own bodies are not read."""
        asked: Any = client.build_request("GET", self.url, headers=self._asking(), extensions={"trace": trace})
        auth: dict[str, Any] = {}
        for _ in range(REDIRECTS + 1):
            response = client.send(asked, stream=True, follow_redirects=False, **auth)
            try:
                if response.next_request is None:
                    yield response
                    return
            finally:
                response.close()
            self._check_onward(str(asked.url), str(response.next_request.url))
            asked, auth = response.next_request, {"auth": None}  # redirections keep the credentials for the same host
        raise Refused(f"the server redirects more than {REDIRECTS} times")

    def _check_onward(self, url: str, onward: str) -> None:
        """Refuse to be led to what is not on the web or, if nothing is pinned, from https to where others can write."""
        before, after = urlsplit(url).scheme, urlsplit(onward).scheme
        if after not in ("http", "https"):
            raise Refused("the server redirects to an address that is not on the web")
        if before == "https" != after and not self.pinned:
            raise Refused("the server redirects from https to http, and no checksum says what should arrive")

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
        offered = RANGE.fullmatch(response.headers.get("Content-Range", ""))
        start, whole = offered.groups() if offered else (None, None)
        if status == 416 and whole == str(done):
            return True
        if status == 416 or (status == 206 and not self._continues(start, whole)):
            self.part.unlink(missing_ok=True)
            return False
        if status not in (200, 206):
            raise Refused(f"the server answered HTTP {status}")
        if response.headers.get("Content-Type", "").startswith("text/html"):
            return self._page(response)
        if self._packed(response):
            raise Refused("the server sent it compressed")
        total = whole if status == 206 else response.headers.get("Content-Length")
        self.version = _strong(response.headers.get("ETag")) or response.headers.get("Last-Modified")
        return self._store(response, done if status == 206 else 0, int(total) if total and total.isdigit() else None)

    def _continues(self, start: str | None, whole: str | None) -> bool:
        """Whether a range is what our part lacks of the same file."""
        size = self.size if self.size is not None else self.offered
        return start == str(bytes_in(self.part)) and (
            size is not None if whole == "*" else self.offered is None or whole == str(self.offered)
        )

    def _packed(self, response: httpx2.Response) -> bool:
        """Whether the bytes are packed once more, against our wish; some servers only say so of archives."""
        encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
        return encoding not in ("", "identity") and not self.part.name.removesuffix(".part").endswith((".gz", ".tgz"))

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
            self._check_onward(str(response.url), onward)
            self.url = onward
            return False
        if is_quota(page):
            raise Refused("Google Drive's download quota of this file is exceeded; try again in a day")
        raise Refused("the server sent a web page instead of the file")

    def _store(self, response: httpx2.Response, done: int, total: int | None) -> bool:
        if total is not None and self.size is not None and total != self.size:
            raise Refused(f"the server offers {total} bytes, but {self.size} were published")
        if total is not None and self.size is None and total > self.most:
            raise Refused(f"the server offers {_mb(total)}, but it should have at most {_mb(self.most)}")
        total = self.offered = total if total is not None else self.size
        with self.part.open("ab" if done else "wb") as file:
            for chunk in response.iter_raw():
                if done + len(chunk) > (self.most if total is None else total):
                    self.part.unlink()
                    raise Refused(f"the server sent more than {_mb(self.most) if total is None else f'{total} bytes'}")
                done += file.write(chunk)
                self.arrived += len(chunk)
                if self.progress:
                    self.progress(done, total)
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


def _mb(count: int) -> str:
    return f"{count / 1e6:.0f} MB"


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
    except (ValueError, OverflowError):
        return otherwise
    return min(max(seconds, 0.0), LONGEST_PAUSE)
