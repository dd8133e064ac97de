"""Archives that are not what they should be: links, paths that lead outside, bombs, secrets, damage."""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets.base import Files
from intrabench.fetch.archive import member_names, open_members
from intrabench.fetch.download import DownloadError
from intrabench.fetch.remote import RemoteFile


def packed(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in members.items():
            archive.writestr(name, body)
    return path


def refusal(archive: Path, *members: str, limit: int | None = None) -> str:
    with pytest.raises(DownloadError) as caught:
        open_members(archive, members, archive.parent / "out", limit)
    return str(caught.value)


def everything_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_only_what_is_asked_for_is_unpacked(tmp_path: Path) -> None:
    archive = packed(tmp_path / "data.zip", {"one/image": b"1", "two/image": b"2"})
    assert member_names(archive) == ["one/image", "two/image"]
    assert open_members(archive, ["two/image"], tmp_path / "out")["two/image"].read_bytes() == b"2"
    assert everything_in(tmp_path / "out") == [tmp_path / "out" / "two" / "image"]


@pytest.mark.parametrize("name", ["../out.txt", "/etc/passwd", "a/../../b", "C:\\x", "a\\b"])
def test_names_that_lead_outside_are_refused(tmp_path: Path, name: str) -> None:
    archive = tmp_path / "data.zip"
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr(zipfile.ZipInfo(name), "x")
    assert "would be written outside" in refusal(archive, name)
    assert everything_in(tmp_path) == [archive]


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_links_are_no_members(tmp_path: Path, kind: str) -> None:
    archive = tmp_path / f"data.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(archive, "w") as opened:
            link = zipfile.ZipInfo("link")
            link.external_attr = 0o120777 << 16
            opened.writestr(link, "/etc/passwd")
    else:
        with tarfile.open(archive, "w") as taped:
            symbolic = tarfile.TarInfo("link")
            symbolic.type, symbolic.linkname = tarfile.SYMTYPE, "/etc/passwd"
            taped.addfile(symbolic)
    assert member_names(archive) == []
    assert f"{archive} has no link" in refusal(archive, "link")


def test_a_bomb_is_stopped_while_it_unpacks(tmp_path: Path, wording: SnapshotAssertion) -> None:
    archive = packed(tmp_path / "data.zip", {"bomb": bytes(30_000_000)})
    assert archive.stat().st_size < 40_000
    assert refusal(archive, "bomb", limit=5_000_000) == wording
    assert everything_in(tmp_path / "out") == []


def test_the_limit_is_that_of_the_source(tmp_path: Path, wording: SnapshotAssertion) -> None:
    packed(tmp_path / "data.zip", {"bomb": bytes(3_000_000)})
    files = Files(tmp_path, tmp_path / "unpacked")
    with pytest.raises(DownloadError) as caught:
        files.take(RemoteFile("data.zip", member_mb=2), "bomb")
    assert caught == wording
    assert files.take(RemoteFile("data.zip", member_mb=3), "bomb")[0].stat().st_size == 3_000_000


def test_an_encrypted_archive(tmp_path: Path, wording: SnapshotAssertion) -> None:
    archive = packed(tmp_path / "data.zip", {"secret": b"hidden words"})
    body = bytearray(archive.read_bytes())
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):  # the flags in the member's own header and the directory
        body[body.index(mark) + at] |= 1
    archive.write_bytes(body)
    assert refusal(archive, "secret") == wording


@pytest.mark.parametrize("cut", [20, 2000, -30])
def test_a_cut_archive_is_damaged(tmp_path: Path, cut: int, wording: SnapshotAssertion) -> None:
    archive = packed(tmp_path / "data.zip", {"one": os.urandom(5000)})
    archive.write_bytes(archive.read_bytes()[:cut])
    assert refusal(archive, "one") == wording
    with pytest.raises(DownloadError, match="is damaged"):
        member_names(archive)


def test_members_are_found_in_whatever_folder_they_were_packed(tmp_path: Path) -> None:
    members = {"Set/Patient_1/1_a": b"1", "Set/Patient_11/1_a": b"11", "__MACOSX/Set/Patient_1/1_a": b"-"}
    packed(tmp_path / "data.zip", members)
    files, source = Files(tmp_path, tmp_path / "unpacked"), RemoteFile("data.zip")
    (found,) = files.find(source, "Patient_1/1_a")
    assert found.read_bytes() == b"1"
    for ending, count in (("1_a", 2), ("Patient_2/1_a", 0), ("atient_1/1_a", 0)):
        with pytest.raises(DownloadError, match=rf"has {count} files {ending}, expected one"):
            files.find(source, ending)


def test_a_tar_of_any_packing(tmp_path: Path) -> None:
    for suffix in ("", ":gz", ":xz"):
        archive = tmp_path / f"data.tar{suffix.replace(':', '.')}"
        with tarfile.open(archive, f"w{suffix}") as taped:
            info = tarfile.TarInfo("a/b")
            info.size = 3
            taped.addfile(info, io.BytesIO(b"abc"))
        assert open_members(archive, ["a/b"], tmp_path / "out")["a/b"].read_bytes() == b"abc"
