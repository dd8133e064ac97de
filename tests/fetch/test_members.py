"""Members are taken out of wheels and source archives by name, and nothing else is."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.fetch.archive import open_members
from intrabench.fetch.download import DownloadError
from tests.fetch.packages import SDIST, WHEEL, sdist, wheel


@pytest.mark.parametrize(("filename", "pack"), [(WHEEL, wheel), (SDIST, sdist)])
def test_only_the_named_members_are_taken(tmp_path: Path, filename: str, pack: object) -> None:
    archive = tmp_path / filename
    archive.write_bytes(pack(**{"a/brain.txt": "brain", "b/brain.txt": "other", "a/code.py": "1 / 0"}))  # type: ignore[operator]
    out = tmp_path / "out"
    assert open_members(archive, ["b/brain.txt", "a/brain.txt"], out) == {
        "b/brain.txt": out / "b" / "brain.txt",
        "a/brain.txt": out / "a" / "brain.txt",
    }
    files = {str(path.relative_to(out)): path.read_text() for path in out.rglob("*") if path.is_file()}
    assert files == {"a/brain.txt": "brain", "b/brain.txt": "other"}


@pytest.mark.parametrize("name", ["../escaped.txt", "a/../../escaped.txt", "/escaped.txt", "..\\escaped.txt", ""])
def test_no_member_leaves_its_folder(tmp_path: Path, name: str, wording: SnapshotAssertion) -> None:
    archive = tmp_path / SDIST
    archive.write_bytes(sdist(**{name: "escaped"}))
    with pytest.raises(DownloadError) as caught:
        open_members(archive, [name], tmp_path / "out")
    assert caught == wording
    assert not (tmp_path / "out").exists()
    assert list(tmp_path.rglob("*escaped.txt")) == []
    assert not Path("/escaped.txt").exists()


def test_links_in_an_archive_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "private.txt").write_text("private")
    archive = tmp_path / SDIST
    with tarfile.open(archive, "w:gz") as tar:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
            info = tarfile.TarInfo(f"data/{kind.decode()}.txt")
            info.type, info.linkname = kind, str(tmp_path / "private.txt")
            tar.addfile(info)
    with pytest.raises(DownloadError, match=r"has no data/1\.txt, data/2\.txt: "):
        open_members(archive, ["data/2.txt", "data/1.txt"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_missing_member_is_named(tmp_path: Path, wording: SnapshotAssertion) -> None:
    archive = tmp_path / WHEEL
    archive.write_bytes(wheel())
    with pytest.raises(DownloadError) as caught:
        open_members(archive, ["some_data/liver.txt"], tmp_path / "out")
    assert str(caught.value) == wording


def test_a_missing_archive_is_named(tmp_path: Path, wording: SnapshotAssertion) -> None:
    with pytest.raises(DownloadError) as caught:
        open_members(tmp_path / WHEEL, ["a.txt"], tmp_path / "out")
    assert str(caught.value) == wording


@pytest.mark.parametrize("filename", [WHEEL, SDIST])
@pytest.mark.parametrize(
    "body",
    [b"no archive", sdist(**{"a.txt": "text " * 999})[:60], wheel()[:-9]],
    ids=["no archive", "half a source archive", "half a wheel"],  # their bytes hold the time
)
def test_a_damaged_archive_leaves_no_half_member(
    tmp_path: Path, filename: str, body: bytes, wording: SnapshotAssertion
) -> None:
    archive = tmp_path / filename
    archive.write_bytes(body)
    with pytest.raises(DownloadError) as caught:
        open_members(archive, ["a.txt"], tmp_path / "out")
    assert str(caught.value) == wording
    assert [path for path in (tmp_path / "out").rglob("*") if path.is_file()] == []
