"""Where a server may lead a download: never off the web, and from https to http only to what a checksum pins."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import httpx2
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.fetch.download import DownloadError, download
from tests.server import Server, answer

BODY = b"PK\x03\x04what was published"
PIN = f"sha256:{hashlib.sha256(BODY).hexdigest()}"
SAFE, PLAIN = "https://one.example/file", "http://two.example/file"
WARNING = f'<html><form id="download-form" action="{PLAIN}"><input name="id" value="1"></form></html>'


class Web:
    """Answers by address, and remembers which were asked for."""

    def __init__(self, answers: Mapping[str, httpx2.Response]) -> None:
        self.asked: list[str] = []
        self._answers = answers
        self.client = httpx2.Client(transport=httpx2.MockTransport(self._answer))

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(str(request.url))
        return self._answers[str(request.url).partition("?")[0]]


def to(address: str) -> httpx2.Response:
    return httpx2.Response(302, headers={"Location": address})


def test_what_nothing_pins_stays_on_https(tmp_path: Path, wording: SnapshotAssertion) -> None:
    web = Web({SAFE: to(PLAIN), PLAIN: httpx2.Response(200, content=iter([BODY]))})
    with pytest.raises(DownloadError) as caught:
        download(SAFE, tmp_path / "file", client=web.client)
    assert caught == wording
    assert web.asked == [SAFE]
    assert not list(tmp_path.glob("file*"))
    assert download(SAFE, tmp_path / "file", checksum=PIN, client=web.client).read_bytes() == BODY


def test_a_way_back_to_https_changes_nothing(tmp_path: Path) -> None:
    web = Web({SAFE: to(PLAIN), PLAIN: to("https://three.example/file")})
    with pytest.raises(DownloadError, match="from https to http"):
        download(SAFE, tmp_path / "file", client=web.client)
    assert web.asked == [SAFE]


def test_the_button_of_a_page_leads_no_further_than_a_redirect(tmp_path: Path) -> None:
    web = Web({SAFE: httpx2.Response(200, content=iter([WARNING.encode()]), headers={"Content-Type": "text/html"})})
    with pytest.raises(DownloadError, match="from https to http"):
        download(SAFE, tmp_path / "file", client=web.client)
    assert web.asked == [SAFE]


@pytest.mark.parametrize("place", ["file:///etc/hostname", "ftp://two.example/file"])
@pytest.mark.parametrize("checksum", ["", PIN])
def test_no_server_leads_off_the_web(
    server: Server, tmp_path: Path, place: str, checksum: str, wording: SnapshotAssertion
) -> None:
    server.answers = [answer(302, Location=place)]
    with pytest.raises(DownloadError) as caught:
        download(server.url, tmp_path / "file", checksum=checksum)
    assert caught == wording
    assert len(server.requests) == 1
    assert not list(tmp_path.glob("file*"))
