"""Servers that send too much, too slowly, or something other than they say."""

from __future__ import annotations

import gzip
import hashlib
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import httpx2
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.fetch import stall, transfer
from intrabench.fetch.download import DownloadError, at_most, download
from intrabench.fetch.idc import IdcSeries
from intrabench.fetch.remote import RemoteFile
from tests.server import Answer, Server, answer, dripping, the_rest_of

BODY = bytes(range(256)) * 1200  # 307 kB
CHECKSUM = f"sha256:{hashlib.sha256(BODY).hexdigest()}"
ENDLESS = 64  # times the body
pytestmark = pytest.mark.usefixtures("pauses")


def endless(sent: list[int], status: int = 200, **headers: str) -> Answer:
    """A body of 20 MB without a length, which is much more than anybody asked for."""

    def send(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        with suppress(ConnectionError):
            for _ in range(ENDLESS):
                handler.wfile.write(BODY)
                sent.append(len(BODY))

    return send


def chunked(body: bytes) -> Answer:
    """A body in chunks, without a length."""

    def send(handler: BaseHTTPRequestHandler) -> None:
        handler.protocol_version = "HTTP/1.1"
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        with suppress(ConnectionError):
            for at in range(0, len(body), 50_000):
                piece = body[at : at + 50_000]
                handler.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            handler.wfile.write(b"0\r\n\r\n")

    return send


@pytest.mark.parametrize(
    "options",
    [
        {"checksum": CHECKSUM, "size": len(BODY)},
        {"size": len(BODY)},
        {"checksum": CHECKSUM, "most": 3_000_000},
    ],
    ids=["size and checksum", "size", "about"],
)
@pytest.mark.parametrize("send", [endless, lambda _: chunked(BODY * ENDLESS)], ids=["endless", "chunked"])
def test_no_more_is_written_than_was_published(
    server: Server,
    tmp_path: Path,
    options: dict[str, object],
    send: Callable[[list[int]], Answer],
    wording: SnapshotAssertion,
) -> None:
    written: list[int] = []
    server.answers = [send([])]
    with pytest.raises(DownloadError) as caught:
        download(server.url, tmp_path / "f" / "a", progress=lambda done, _: written.append(done), **options)  # type: ignore[arg-type]
    assert caught == wording
    most = options.get("size", options.get("most"))
    assert isinstance(most, int)
    assert max(written) <= most
    assert list((tmp_path / "f").iterdir()) == []
    assert len(server.requests) == 1


def test_a_body_in_chunks_is_as_good_as_any(server: Server, tmp_path: Path) -> None:
    server.answers = [chunked(BODY)]
    assert download(server.url, tmp_path / "a", checksum=CHECKSUM).read_bytes() == BODY


def test_a_body_is_read_as_far_as_its_length_says(server: Server, tmp_path: Path) -> None:
    server.answers = [answer(200, BODY + b"more", claimed=len(BODY))]
    assert download(server.url, tmp_path / "a", checksum=CHECKSUM, size=len(BODY)).read_bytes() == BODY


@pytest.mark.parametrize(("about", "most"), [(0.0, transfer.LARGEST), (3.0, 7_000_000)])
def test_a_file_of_about_a_size_may_have_twice_as_much(
    server: Server, tmp_path: Path, about: float, most: int, wording: SnapshotAssertion
) -> None:
    assert at_most(about) == most
    server.answers = [answer(200, b"", claimed=most + 1)]
    with pytest.raises(DownloadError) as caught:
        RemoteFile("a.zip", (server.url,), about_mb=about).fetch(tmp_path / "f")
    assert caught == wording
    assert not (tmp_path / "f" / "a.zip.part").exists()


def test_the_body_of_a_redirection_is_not_read(server: Server, tmp_path: Path) -> None:
    sent: list[int] = []
    server.pages["/away"] = endless(sent, 302, Location="/file.bin")
    server.answers = [answer(200, BODY)]
    assert download(f"{server.root}/away", tmp_path / "a", checksum=CHECKSUM).read_bytes() == BODY
    assert len(sent) < ENDLESS


def test_redirections_in_a_circle_end(server: Server, tmp_path: Path, wording: SnapshotAssertion) -> None:
    server.answers = [answer(302, b"", Location="/file.bin")]
    with pytest.raises(DownloadError) as caught:
        download(server.url, tmp_path / "a", checksum=CHECKSUM)
    assert caught == wording
    assert len(server.requests) == 21


@pytest.mark.parametrize(
    "lie",
    [
        f"bytes 1000-{len(BODY) - 1}/{len(BODY) * 2}",  # of another size than first said
        f"bytes 1000-{len(BODY) - 1}/" + "9" * 5000,  # which is no number
        f"bytes 0-{len(BODY) - 1}/{len(BODY)}",
        "",
    ],
    ids=["size", "digits", "start", "none"],
)
def test_a_range_of_something_else_begins_afresh(server: Server, tmp_path: Path, lie: str) -> None:
    cut = answer(200, BODY[:1000], claimed=len(BODY))
    server.answers = [cut, answer(206, BODY[1000:], Content_Range=lie), answer(200, BODY)]
    assert download(server.url, tmp_path / "a", checksum=CHECKSUM).read_bytes() == BODY
    assert "Range" in server.requests[1]
    assert "Range" not in server.requests[2]


def test_a_part_of_unknown_size_is_not_the_whole(server: Server, tmp_path: Path) -> None:
    server.answers = [answer(206, BODY[:1000], Content_Range="bytes 0-999/*"), answer(200, BODY)]
    assert download(server.url, tmp_path / "a").read_bytes() == BODY


def test_a_range_that_goes_on_for_ever_is_cut(server: Server, tmp_path: Path, wording: SnapshotAssertion) -> None:
    rest = f"bytes 1000-{len(BODY) - 1}/{len(BODY)}"
    server.answers = [answer(200, BODY[:1000], claimed=len(BODY)), endless([], 206, Content_Range=rest)]
    with pytest.raises(DownloadError) as caught:
        download(server.url, tmp_path / "f" / "a", checksum=CHECKSUM)
    assert caught == wording
    assert list((tmp_path / "f").iterdir()) == []


def test_what_is_packed_once_more_is_refused(server: Server, tmp_path: Path, wording: SnapshotAssertion) -> None:
    packed = gzip.compress(BODY)
    server.answers = [answer(200, packed, Content_Encoding="gzip")]
    with pytest.raises(DownloadError) as caught:
        download(server.url, tmp_path / "f" / "a")
    assert caught == wording
    assert list((tmp_path / "f").iterdir()) == []
    # but some servers only say so, of files that are archives themselves
    assert download(server.url, tmp_path / "a.nii.gz").read_bytes() == packed


BEGINNINGS = {
    "header": b"HTTP/1.1 200 OK\r\nX: ",
    "body": f"HTTP/1.1 200 OK\r\nContent-Length: {len(BODY)}\r\n\r\n".encode(),
    "body without end": b"HTTP/1.0 200 OK\r\n\r\n",
    "frame": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;",
}


@pytest.mark.parametrize("where", BEGINNINGS)
def test_a_drip_is_given_up(
    server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    pauses: list[float],
    where: str,
    wording: SnapshotAssertion,
) -> None:
    monkeypatch.setattr(stall, "PATIENCE", 0.05)  # of each of four tries
    over = threading.Event()
    server.answers = [dripping(BEGINNINGS[where], over)]
    try:
        with pytest.raises(DownloadError) as caught:
            download(server.url, tmp_path / "a", checksum=CHECKSUM)
        assert caught == wording
    finally:
        over.set()
    assert pauses == [1.0, 2.0, 4.0]


def test_a_drip_on_an_earlier_connection_is_given_up(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stall, "PATIENCE", 0.2)
    ports: list[int] = []
    sent: list[bytes] = []

    def keep(handler: BaseHTTPRequestHandler) -> None:
        ports.append(handler.client_address[1])
        handler.protocol_version = "HTTP/1.1"
        answer(200, BODY)(handler)
        handler.close_connection = False

    def drip(handler: BaseHTTPRequestHandler) -> None:
        ports.append(handler.client_address[1])
        dripping(BEGINNINGS["header"], threading.Event(), sent)(handler)

    server.answers = [keep, drip, answer(200, BODY)]
    with httpx2.Client(timeout=30) as client:
        for name in "ab":
            assert download(server.url, tmp_path / name, checksum=CHECKSUM, client=client).read_bytes() == BODY
    assert ports[0] == ports[1]  # the same connection
    assert len(sent) < 2000


def test_after_a_drip_it_goes_on(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stall, "PATIENCE", 0.2)
    over = threading.Event()

    def send(handler: BaseHTTPRequestHandler) -> None:
        with suppress(OSError):
            handler.send_response(200)
            handler.send_header("Content-Length", str(len(BODY)))
            handler.end_headers()
            handler.wfile.write(BODY[:100_000])
            over.wait(120)

    server.answers = [send, the_rest_of(BODY)]
    assert download(server.url, tmp_path / "a", checksum=CHECKSUM).read_bytes() == BODY
    over.set()
    assert server.requests[1]["Range"] == "bytes=100000-"


def test_a_file_at_its_source_is_not_copied_beyond_its_size(tmp_path: Path, wording: SnapshotAssertion) -> None:
    (tmp_path / "source").write_bytes(BODY)
    with pytest.raises(DownloadError) as caught:
        download(str(tmp_path / "source"), tmp_path / "f" / "a", size=1000)
    assert caught == wording
    assert list((tmp_path / "f").iterdir()) == []


def entries(count: int, size: int = 10, same: bool = False) -> bytes:
    names = ["one" if same else f"n{number}" for number in range(count)]
    listed = "".join(f"<Contents><Key>u/{name}.dcm</Key><Size>{size}</Size></Contents>" for name in names)
    return f"<L><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>{listed}</L>".encode()


@pytest.mark.parametrize(
    "page",
    [
        entries(3),  # page after page
        entries(0),
        entries(5, 10**12).replace(b"true", b"false"),
        entries(5, same=True).replace(b"true", b"false"),
    ],
    ids=["endless", "empty", "huge", "twice"],
)
def test_lists_of_a_bucket_end(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: bytes, wording: SnapshotAssertion
) -> None:
    monkeypatch.setattr("intrabench.fetch.places.HOSTS", {"idc": server.root})
    if b"n0" in page and b"true" in page:
        server.answers = [answer(200, page), answer(200, page.replace(b"u/n", b"u/m"))]
    else:
        server.answers = [answer(200, page)]
    with pytest.raises(DownloadError) as caught:
        IdcSeries("1.2", "u", "CT", 5, 2.0).fetch(tmp_path)
    assert caught == wording
    assert len(server.requests) <= 2


def test_a_list_of_a_bucket_that_never_ends_is_cut(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    monkeypatch.setattr("intrabench.fetch.places.HOSTS", {"idc": server.root})
    server.answers = [endless([])]
    with pytest.raises(DownloadError) as caught:
        IdcSeries("1.2", "u", "CT", 5, 2.0).fetch(tmp_path)
    assert caught == wording
