"""Downloads against a local server that breaks off, refuses ranges, asks for patience and lies."""

from __future__ import annotations

import errno
import hashlib
import shutil
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.fetch.checksum import checksum_of
from intrabench.fetch.download import DownloadError, download
from tests.server import Answer, Server, the_rest_of
from tests.server import answer as made

BODY = bytes(range(256)) * 4000
SHA256 = hashlib.sha256(BODY).hexdigest()
CHECKSUM = f"sha256:{SHA256}"
the_rest = the_rest_of(BODY)
pytestmark = pytest.mark.usefixtures("pauses")


def answer(status: int = 200, body: bytes = BODY, claimed: int | None = None, **headers: str) -> Answer:
    """What `tests.server.answer` makes, of all the bytes unless told otherwise."""
    return made(status, body, claimed, **headers)


def test_plain_download_reports_progress_and_says_who_asks(server: Server, tmp_path: Path) -> None:
    server.answers = [answer()]
    seen: list[tuple[int, int | None]] = []
    target = tmp_path / "new" / "file.bin"
    got = download(
        server.url, target, checksum=CHECKSUM, size=len(BODY), progress=lambda done, total: seen.append((done, total))
    )
    assert got == target
    assert target.read_bytes() == BODY
    assert seen[-1] == (len(BODY), len(BODY))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert server.requests[0]["User-Agent"].startswith("intrabench/")
    assert "Range" not in server.requests[0]
    assert [path.name for path in target.parent.iterdir()] == ["file.bin"]


def test_a_dropped_connection_goes_on_where_it_stopped(server: Server, tmp_path: Path, pauses: list[float]) -> None:
    server.answers = [answer(body=BODY[:300_000], claimed=len(BODY), ETag='"v1"'), the_rest]
    download(server.url, tmp_path / "file.bin", checksum=CHECKSUM)
    assert (tmp_path / "file.bin").read_bytes() == BODY
    assert server.requests[1]["Range"] == "bytes=300000-"
    assert server.requests[1]["If-Range"] == '"v1"'
    assert len(server.requests) == 2
    assert pauses == [1.0]


def test_a_weak_etag_is_not_asked_for_again(server: Server, tmp_path: Path) -> None:
    day = "Mon, 01 Jan 2024 00:00:00 GMT"
    server.answers = [answer(body=BODY[:9], claimed=len(BODY), ETag='W/"v1"', Last_Modified=day), the_rest]
    download(server.url, tmp_path / "file.bin", checksum=CHECKSUM)
    assert server.requests[1]["If-Range"] == day


def test_the_part_of_an_earlier_run_is_used(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.bin.part").write_bytes(BODY[:1000])
    server.answers = [the_rest]
    download(server.url, tmp_path / "file.bin", checksum=CHECKSUM, size=len(BODY))
    assert (tmp_path / "file.bin").read_bytes() == BODY
    assert server.requests[0]["Range"] == "bytes=1000-"


def test_a_complete_part_needs_no_server(tmp_path: Path) -> None:
    (tmp_path / "file.bin.part").write_bytes(BODY)
    download("http://127.0.0.1:9/file.bin", tmp_path / "file.bin", checksum=CHECKSUM, size=len(BODY))
    assert (tmp_path / "file.bin").read_bytes() == BODY


def test_a_wrong_part_of_an_earlier_run_is_replaced(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.bin.part").write_bytes(b"x" * 1000)
    server.answers = [the_rest, answer()]
    download(server.url, tmp_path / "file.bin", checksum=CHECKSUM)
    assert (tmp_path / "file.bin").read_bytes() == BODY
    assert "Range" not in server.requests[1]


def test_a_server_that_ignores_ranges_sends_all_again(server: Server, tmp_path: Path) -> None:
    server.answers = [answer(body=BODY[:500], claimed=len(BODY)), answer()]
    download(server.url, tmp_path / "file.bin", checksum=CHECKSUM)
    assert server.requests[1]["Range"] == "bytes=500-"
    assert (tmp_path / "file.bin").read_bytes() == BODY


def test_another_range_than_asked_for_is_not_joined(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.bin.part").write_bytes(BODY[:1000])
    wrong = answer(206, BODY[999:], Content_Range=f"bytes 999-{len(BODY) - 1}/{len(BODY)}")
    server.answers = [wrong, answer()]
    download(server.url, tmp_path / "file.bin", checksum=CHECKSUM)
    assert (tmp_path / "file.bin").read_bytes() == BODY
    assert "Range" not in server.requests[1]


def test_416_for_a_complete_part_ends_the_transfer(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.bin.part").write_bytes(BODY)
    server.answers = [answer(416, b"", Content_Range=f"bytes */{len(BODY)}")]
    download(server.url, tmp_path / "file.bin", checksum=CHECKSUM)
    assert (tmp_path / "file.bin").read_bytes() == BODY
    assert len(server.requests) == 1


def test_416_for_a_part_too_long_begins_afresh(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.bin.part").write_bytes(BODY + b"more")
    server.answers = [answer(416, b"", Content_Range=f"bytes */{len(BODY)}"), answer()]
    download(server.url, tmp_path / "file.bin", checksum=CHECKSUM, size=len(BODY))
    assert (tmp_path / "file.bin").read_bytes() == BODY
    assert "Range" not in server.requests[1]


@pytest.mark.parametrize(("asked", "waited"), [("7", 7.0), ("86400", 60.0), ("soon", 1.0)])
def test_503_is_asked_again_when_the_server_says_so(
    server: Server, tmp_path: Path, pauses: list[float], asked: str, waited: float
) -> None:
    server.answers = [answer(503, b"", Retry_After=asked), answer()]
    download(server.url, tmp_path / "file.bin", checksum=CHECKSUM)
    assert pauses == [waited]
    assert (tmp_path / "file.bin").read_bytes() == BODY


def test_tries_are_bounded_and_the_part_stays(
    server: Server, tmp_path: Path, pauses: list[float], wording: SnapshotAssertion
) -> None:
    (tmp_path / "file.bin.part").write_bytes(BODY[:1000])
    server.answers = [answer(503, b"")]
    with pytest.raises(DownloadError) as caught:
        download(server.url, tmp_path / "file.bin", checksum=CHECKSUM)
    assert str(caught.value) == wording
    assert len(server.requests) == 4
    assert pauses == [1.0, 2.0, 4.0]
    assert (tmp_path / "file.bin.part").read_bytes() == BODY[:1000]


def test_404_is_final(server: Server, tmp_path: Path, wording: SnapshotAssertion) -> None:
    server.answers = [answer(404, b"")]
    with pytest.raises(DownloadError) as caught:
        download(server.url, tmp_path / "file.bin", checksum=CHECKSUM)
    assert caught == wording
    assert len(server.requests) == 1


def test_a_wrong_sha256_leaves_nothing_behind(server: Server, tmp_path: Path, wording: SnapshotAssertion) -> None:
    server.answers = [answer(body=b"a page of a captive portal")]
    hashlib.sha256(b"a page of a captive portal").hexdigest()
    with pytest.raises(DownloadError) as caught:
        download(server.url, tmp_path / "data" / "file.bin", checksum=CHECKSUM)
    assert str(caught.value) == wording
    assert list((tmp_path / "data").iterdir()) == []


def test_an_unreachable_host_is_not_named(tmp_path: Path, wording: SnapshotAssertion) -> None:
    with pytest.raises(DownloadError) as caught:
        download("http://user:secret@127.0.0.1:9/file.bin", tmp_path / "file.bin", checksum=CHECKSUM)
    assert str(caught.value) == wording
    assert caught.value.__cause__ is None


def test_the_disk_is_asked_first(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 10, 2_000_000))
    with pytest.raises(DownloadError) as caught:
        download(server.url, tmp_path / "file.bin", checksum=CHECKSUM, size=5_000_000)
    assert str(caught.value) == wording
    assert server.requests == []


def test_a_folder_that_cannot_be_made(server: Server, tmp_path: Path, wording: SnapshotAssertion) -> None:
    (tmp_path / "occupied").write_text("a file")
    target = tmp_path / "occupied" / "file.bin"
    with pytest.raises(IntraBenchError) as caught:
        download(server.url, target, checksum=CHECKSUM)
    assert str(caught.value) == wording


@pytest.mark.parametrize(
    "number",
    [
        errno.EROFS,
        errno.ENOSPC,
    ],
)
def test_a_disk_that_takes_no_more(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, wording: SnapshotAssertion
) -> None:
    real_open = Path.open

    def refuse(path: Path, mode: str = "r", *args: object, **options: object) -> object:
        if path.suffix == ".part" and mode != "rb":
            raise OSError(number, errno.errorcode[number] if number == errno.ENOSPC else "Read-only file system")
        return real_open(path, mode, *args, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", refuse)
    server.answers = [answer()]
    with pytest.raises(IntraBenchError) as caught:
        download(server.url, tmp_path / "file.bin", checksum=CHECKSUM)
    assert str(caught.value).startswith(f"{tmp_path / 'file.bin'} cannot be written")
    assert str(caught.value) == wording
    assert len(server.requests) == 1


@pytest.mark.parametrize("as_url", [True, False])
def test_files_are_copied_and_checked(tmp_path: Path, as_url: bool) -> None:
    source = tmp_path / "a folder" / "file.bin"
    source.parent.mkdir()
    source.write_bytes(BODY)
    seen: list[tuple[int, int | None]] = []
    target = tmp_path / "copy.bin"
    download(
        source.as_uri() if as_url else str(source), target, checksum=CHECKSUM, progress=lambda *done: seen.append(done)
    )
    assert target.read_bytes() == BODY
    assert checksum_of(target) == CHECKSUM
    assert seen == [(len(BODY), len(BODY))]


def test_a_file_that_is_gone(tmp_path: Path, wording: SnapshotAssertion) -> None:
    with pytest.raises(DownloadError) as caught:
        download((tmp_path / "gone.bin").as_uri(), tmp_path / "file.bin", checksum=CHECKSUM)
    assert str(caught.value) == wording
