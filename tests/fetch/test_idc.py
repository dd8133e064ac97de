"""Series of the Imaging Data Commons, from buckets on this machine."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from urllib.parse import quote

import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.fetch import places
from intrabench.fetch.download import DownloadError
from intrabench.fetch.idc import INDEX, IdcSeries
from tests.server import Server, answer

FILES = {f"image-{number}.dcm": bytes([number]) * 5000 for number in range(5)}
UUID = "d10fd222-4e7a-4231-99a1-2177a57b048b"
SERIES = IdcSeries("1.2.3.4.5.6.7.8.9", UUID, "CT", len(FILES), 0.025)
pytestmark = pytest.mark.usefixtures("pauses")


def listing(files: dict[str, bytes], token: str = "", prefix: str = UUID) -> bytes:
    """What a bucket answers: an XML page of its objects."""
    entries = "".join(
        f"<Contents><Key>{prefix}/{name}</Key><Size>{len(body)}</Size>"
        f"<ETag>&quot;{hashlib.md5(body).hexdigest()}&quot;</ETag></Contents>"
        for name, body in files.items()
    )
    more = f"<IsTruncated>true</IsTruncated><NextContinuationToken>{token}</NextContinuationToken>" if token else ""
    space = "http://s3.amazonaws.com/doc/2006-03-01/"
    return f'<?xml version="1.0"?><ListBucketResult xmlns="{space}">{entries}{more}</ListBucketResult>'.encode()


def offer(server: Server, bucket: str = "", files: dict[str, bytes] = FILES) -> None:
    """Fill a bucket, whose list has two pages."""
    names = sorted(files)
    first, second = ({name: files[name] for name in part} for part in (names[:3], names[3:]))
    ask = f"{bucket or '/aws'}/?list-type=2&prefix={quote(UUID, safe='')}%2F"
    server.pages[ask] = answer(body=listing(first, "two+2/"))
    server.pages[f"{ask}&continuation-token=two%2B2%2F"] = answer(body=listing(second))
    for name, body in files.items():
        server.pages[f"{bucket or '/aws'}/{UUID}/{name}"] = answer(body=body)


@pytest.fixture(autouse=True)
def buckets(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "HOSTS", {"idc": f"{server.root}/aws", "idc_mirror": f"{server.root}/gcs"})
    server.answers = [answer(404)]


def test_all_files_of_a_series_arrive_and_are_known(server: Server, tmp_path: Path) -> None:
    offer(server)
    seen: list[tuple[int, int | None]] = []
    folder = SERIES.fetch(tmp_path, lambda done, total: seen.append((done, total)))
    assert folder == tmp_path / "idc" / UUID
    assert {path.name: path.read_bytes() for path in SERIES.paths(tmp_path)} == FILES
    assert seen[-1] == (25_000, 25_000)
    assert sorted(seen) == seen
    assert SERIES.problems(tmp_path) == []
    asked = len(server.paths)
    SERIES.fetch(tmp_path)
    assert len(server.paths) == asked
    assert all(headers["User-Agent"].startswith("intrabench/") for headers in server.requests)


def test_a_series_is_on_the_disk_before_it_counts(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(server)
    synced: list[str] = []
    fsync = os.fsync

    def syncing(handle: int) -> None:
        synced.append(Path(f"/proc/self/fd/{handle}").readlink().name)
        fsync(handle)

    monkeypatch.setattr(os, "fsync", syncing)
    SERIES.fetch(tmp_path)
    assert {*FILES, INDEX, f".{UUID}.part"} <= set(synced)
    assert synced[-1] == "idc"


def test_the_mirror_steps_in(server: Server, tmp_path: Path) -> None:
    offer(server, "/gcs")
    SERIES.fetch(tmp_path)
    assert {path.name: path.read_bytes() for path in SERIES.paths(tmp_path)} == FILES


def test_what_arrived_before_a_failure_is_not_fetched_again(
    server: Server, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    offer(server)
    del server.pages[f"/aws/{UUID}/image-4.dcm"]
    with pytest.raises(DownloadError) as caught:
        SERIES.fetch(tmp_path)
    assert str(caught.value) == wording
    assert not (tmp_path / "idc" / UUID).exists()
    offer(server)
    server.paths.clear()
    SERIES.fetch(tmp_path)
    assert [path for path in server.paths if path.endswith(".dcm")] == [f"/aws/{UUID}/image-4.dcm"]


def test_a_file_that_is_not_what_the_bucket_lists(server: Server, tmp_path: Path) -> None:
    offer(server)
    server.pages[f"/aws/{UUID}/image-1.dcm"] = answer(body=b"x" * 5000)
    with pytest.raises(DownloadError, match=r"image-1\.dcm arrived with md5"):
        SERIES.fetch(tmp_path)


@pytest.mark.parametrize(
    "page",
    [
        listing({}),
        listing(FILES, prefix="../.."),
        listing({"../../etc.dcm": b"1"}),
        b"<html>",
    ],
)
def test_lists_that_are_not_the_series(server: Server, tmp_path: Path, page: bytes, wording: SnapshotAssertion) -> None:
    server.answers = [answer(body=page)]
    with pytest.raises(DownloadError) as caught:
        SERIES.fetch(tmp_path)
    assert str(caught.value) == wording
    assert not (tmp_path / "idc" / UUID).exists()


def test_a_busy_bucket_is_asked_again(server: Server, tmp_path: Path, pauses: list[float]) -> None:
    offer(server)
    ask = next(path for path in server.pages if "list-type" in path and "token" not in path)
    ready = server.pages.pop(ask)
    server.answers = [answer(503), ready]
    SERIES.fetch(tmp_path)
    assert pauses == [1.0]


def test_damage_is_found(server: Server, tmp_path: Path, wording: SnapshotAssertion) -> None:
    offer(server)
    folder = SERIES.fetch(tmp_path)
    (folder / "image-0.dcm").write_bytes(b"y" * 5000)
    (folder / "image-2.dcm").unlink()
    assert [text.partition(" is missing")[0] for text in SERIES.problems(tmp_path)] == [
        str(folder / "image-0.dcm"),
        str(folder / "image-2.dcm"),
    ]
    (folder / "objects.json").write_text("{")
    assert SERIES.problems(tmp_path) == wording
