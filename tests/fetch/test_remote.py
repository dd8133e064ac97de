"""Files on the web: mirrors, Google Drive's pages, files brought by hand, and servers that behave badly."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.fetch import places, stall
from intrabench.fetch.download import DownloadError
from intrabench.fetch.remote import RemoteFile
from tests.server import Server, answer, the_rest_of

BODY = bytes(range(256)) * 4000
MD5 = f"md5:{hashlib.md5(BODY).hexdigest()}"
WARNING = """<html><title>Google Drive - Virus scan warning</title><form id="download-form" action="{action}"
method="get"><input type="submit" value="Download anyway"><input type="hidden" name="id" value="a b">
<input type="hidden" name="confirm" value="t"><input type="hidden" name="uuid" value="1-2"></form></html>"""
QUOTA = b"<title>Google Drive - Quota exceeded</title>Too many users have viewed or downloaded this file recently."
pytestmark = pytest.mark.usefixtures("pauses")


@pytest.fixture(autouse=True)
def hosts(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hosts of hf and gdrive, on this machine."""
    here = {"hf": "/{repository}/resolve/{revision}/{path}", "gdrive": "/drive?id={id}"}
    monkeypatch.setattr(places, "HOSTS", {kind: server.root + place for kind, place in here.items()})


def page(body: bytes) -> Callable[[BaseHTTPRequestHandler], None]:
    return answer(200, body, Content_Type="text/html; charset=utf-8")


def refusal(file: RemoteFile, folder: Path) -> str:
    with pytest.raises(DownloadError) as caught:
        file.fetch(folder)
    return str(caught.value)


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.is_file())


def test_mirrors_are_tried_in_turn_and_what_worked_is_noted(server: Server, tmp_path: Path) -> None:
    file = RemoteFile("data.zip", (f"{server.root}/gone", "hf:own/set@c0de/data.zip"), MD5, len(BODY))
    server.answers = [answer(404), answer(body=BODY)]
    assert file.fetch(tmp_path).read_bytes() == BODY
    assert server.paths == ["/gone", "/own/set/resolve/c0de/data.zip"]
    note = json.loads((tmp_path / "data.zip.json").read_text())
    assert (note["checksum"], note["source"], note["size"]) == (MD5, "hf:own/set@c0de/data.zip", len(BODY))
    assert file.fetch(tmp_path) == tmp_path / "data.zip"
    assert len(server.paths) == 2
    assert file.problems(tmp_path) == []


def test_a_redirect_is_followed(server: Server, tmp_path: Path) -> None:
    server.pages["/there"] = answer(body=BODY)
    server.answers = [answer(302, Location=f"{server.root}/there")]
    assert RemoteFile("data.zip", (f"{server.root}/here",), MD5).fetch(tmp_path).read_bytes() == BODY


def test_many_cut_connections_are_no_failure_as_long_as_bytes_arrive(
    server: Server, tmp_path: Path, pauses: list[float]
) -> None:
    step = len(BODY) // 8

    def cut(handler: BaseHTTPRequestHandler) -> None:
        start = int(handler.headers.get("Range", "bytes=0-")[6:-1])
        span = f"bytes {start}-{len(BODY) - 1}/{len(BODY)}"
        answer(206 if start else 200, BODY[start : start + step], len(BODY) - start, Content_Range=span)(handler)

    server.answers = [cut]
    assert RemoteFile("data.zip", (server.url,), MD5, len(BODY)).fetch(tmp_path).read_bytes() == BODY
    assert len(server.requests) == 8
    assert pauses == [1.0] * 7


def test_a_page_in_place_of_the_file_is_refused(server: Server, tmp_path: Path, wording: SnapshotAssertion) -> None:
    server.answers = [page(b"<html>please log in</html>")]
    told = refusal(RemoteFile("data.zip", (server.url,), page="https://home"), tmp_path)
    assert told == wording
    assert left(tmp_path) == []


def test_a_server_that_offers_another_length_is_left_at_once(
    server: Server, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    server.answers = [answer(body=BODY[:-1])]
    told = refusal(RemoteFile("data.zip", (server.url,), MD5, len(BODY)), tmp_path)
    assert told == wording
    assert left(tmp_path) == []


def test_wrong_bytes_are_thrown_away(server: Server, tmp_path: Path, wording: SnapshotAssertion) -> None:
    server.answers = [answer(body=BODY[::-1])]
    told = refusal(RemoteFile("data.zip", (server.url,), MD5, len(BODY)), tmp_path)
    hashlib.md5(BODY[::-1]).hexdigest()
    assert told == wording
    assert left(tmp_path) == []


def test_a_trickle_is_given_up_for_a_new_connection(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stall, "PATIENCE", 0.05)
    monkeypatch.setattr(stall, "SLOWEST", 1e6)
    waited = threading.Event()  # time.sleep does nothing in these tests

    def trickle(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(BODY)))
        handler.end_headers()
        for at in range(0, 5000, 1000):
            handler.wfile.write(BODY[at : at + 1000])
            waited.wait(0.02)

    server.answers = [trickle, the_rest_of(BODY)]
    assert RemoteFile("data.zip", (server.url,), MD5).fetch(tmp_path).read_bytes() == BODY
    assert int(server.requests[1]["Range"][6:-1]) in range(1000, 5001)


def test_google_drive_is_told_that_the_file_is_wanted_unscanned(server: Server, tmp_path: Path) -> None:
    server.pages["/drive?id=0a1b"] = page(WARNING.format(action=f"{server.root}/download").encode())
    server.pages["/download?id=a+b&confirm=t&uuid=1-2"] = answer(body=BODY)
    assert RemoteFile("data.zip", ("gdrive:0a1b",), MD5).fetch(tmp_path).read_bytes() == BODY


def test_google_drive_that_only_repeats_its_page(server: Server, tmp_path: Path, wording: SnapshotAssertion) -> None:
    server.answers = [page(WARNING.format(action=f"{server.root}/download").encode())]
    assert refusal(RemoteFile("data.zip", ("gdrive:0a1b",), MD5), tmp_path) == wording


def test_the_quota_of_google_drive(server: Server, tmp_path: Path, wording: SnapshotAssertion) -> None:
    server.answers = [page(QUOTA)]
    told = refusal(RemoteFile("data.zip", ("gdrive:0a1b",), MD5), tmp_path)
    assert told == wording


def test_a_file_for_people_only(tmp_path: Path, wording: SnapshotAssertion) -> None:
    file = RemoteFile("data.zip", (), MD5, page="https://home/data", terms="the owner asks for a signed agreement")
    assert refusal(file, tmp_path) == wording
    (tmp_path / "data.zip").write_bytes(b"another")
    told = refusal(file, tmp_path)
    assert told.startswith(f"{tmp_path / 'data.zip'} has md5 ")
    assert told == wording
    assert file.problems(tmp_path) == [told]
    (tmp_path / "data.zip").write_bytes(BODY)
    assert file.fetch(tmp_path).read_bytes() == BODY
    assert file.urls() == ("https://home/data",)


def test_where_nobody_publishes_a_checksum_the_first_counts(server: Server, tmp_path: Path) -> None:
    file = RemoteFile("data.zip", (server.url,))
    server.answers = [answer(body=BODY)]
    path = file.fetch(tmp_path)
    assert file.problems(tmp_path) == []
    path.write_bytes(BODY[::-1])
    (told,) = file.problems(tmp_path)
    assert f"but {hashlib.sha256(BODY).hexdigest()} was expected" in told
    assert refusal(file, tmp_path) == told
    path.unlink()
    server.answers = [answer(body=BODY[::-1])]
    told = refusal(file, tmp_path)
    assert f"the first download had {hashlib.sha256(BODY).hexdigest()}" in told
    assert f"delete {tmp_path / 'data.zip.json'} and run again" in told
    assert not path.exists()


def test_two_at_once_download_once(server: Server, tmp_path: Path) -> None:
    begun = threading.Event()

    def slow(handler: BaseHTTPRequestHandler) -> None:
        begun.wait(0.2)
        answer(body=BODY)(handler)

    server.answers = [slow]
    file = RemoteFile("data.zip", (server.url,), MD5)
    running = [threading.Thread(target=file.fetch, args=(tmp_path,)) for _ in range(3)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert (tmp_path / "data.zip").read_bytes() == BODY
    assert len(server.requests) == 1


def test_a_large_file_is_read_once_for_its_checksum(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answers = [answer(body=BODY)]
    file = RemoteFile("data.zip", (server.url,), MD5)
    file.fetch(tmp_path)

    def never(*_: object) -> str:
        raise AssertionError("the file was read again")

    monkeypatch.setattr("intrabench.fetch.remote.checksum_of", never)
    assert file.fetch(tmp_path) == tmp_path / "data.zip"
    (tmp_path / "data.zip").touch()  # it may have changed
    with pytest.raises(AssertionError, match="read again"):
        file.fetch(tmp_path)
