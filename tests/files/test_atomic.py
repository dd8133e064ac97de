"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.fetch.download import download
from intrabench.files.atomic import all_atomically, atomically, make_folder, new_folder, put, sync_all, writing


def test_the_old_file_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file.txt"
    with atomically(path) as part:
        part.write_text("old")
    with atomically(path) as part:
        part.write_text("new")
        assert path.read_text() == "old"
        assert part.parent == path.parent  # a rename across disks would not be atomic
    assert path.read_text() == "new"
    assert list(path.parent.iterdir()) == [path]


def test_nothing_half_written_stays_behind(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file.txt"
    with atomically(path) as part:
        part.write_text("old")

    def interrupted() -> None:
        with atomically(path) as part:
            part.write_text("ne")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old"
    assert list(path.parent.iterdir()) == [path]


def test_a_new_folder_is_there_whole_or_not_at_all(tmp_path: Path, wording: SnapshotAssertion) -> None:
    folder = tmp_path / "some" / "folder"
    with new_folder(folder) as part:
        (part / "file.txt").write_text("text")
        assert not folder.exists()
    assert (folder / "file.txt").read_text() == "text"
    with pytest.raises(IntraBenchError) as caught, new_folder(folder):
        pass
    assert caught == wording

    def failing(error: BaseException) -> None:
        with new_folder(tmp_path / "some" / "other") as part:
            (part / "file.txt").write_text("te")
            raise error

    with pytest.raises(KeyboardInterrupt):
        failing(KeyboardInterrupt())
    with pytest.raises(IntraBenchError) as caught:
        failing(OSError(errno.ENOSPC, "full"))
    assert caught == wording
    assert list(folder.parent.iterdir()) == [folder]


def test_two_writers_of_one_file_do_not_meet(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file.txt"
    with atomically(path) as first:
        first.write_text("first")
        with atomically(path) as second:
            second.write_text("second")
    assert path.read_text() == "first"  # the last to finish
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    "number",
    [
        errno.ENOSPC,
        errno.EACCES,
    ],
)
def test_what_the_system_refuses_is_one_sentence(number: int, wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught, writing(Path("file.txt")):
        raise OSError(number, "Permission denied")
    assert str(caught.value) == wording


@pytest.mark.parametrize("place", ["", ".", "..", "folder"])
def test_a_folder_in_place_of_a_file_is_one_sentence(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    (tmp_path / "here" / "folder").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    path = Path(place)
    with pytest.raises(IntraBenchError) as caught, writing(path), atomically(path):
        raise AssertionError("nothing is written before that is known")
    assert str(caught.value) == wording
    assert [found.name for found in Path().rglob("*")] == ["folder"]


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What was synced, with the content it had then, and what was renamed."""
    found: list[str] = []
    fsync, replace = os.fsync, os.replace

    def syncing(handle: int) -> None:
        path = Path(f"/proc/self/fd/{handle}").readlink()
        found.append(f"sync {path.name}" if path.is_dir() else f"sync {path.read_text()}")
        fsync(handle)

    def renaming(source: Path, place: Path) -> None:
        found.append(f"rename to {place.name}")
        replace(source, place)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", syncing)
        patch.setattr(os, "replace", renaming)
        yield found


def test_a_file_is_on_the_disk_before_it_counts_and_its_name_after(tmp_path: Path, steps: list[str]) -> None:
    with atomically(tmp_path / "file.txt") as part:
        part.write_text("whole")
    assert steps == ["sync whole", "rename to file.txt", f"sync {tmp_path.name}"]
    with atomically(tmp_path / "file.txt", durable=False) as part:
        part.write_text("again")
    assert steps[3:] == ["rename to file.txt"]


def test_several_files_share_the_sync_of_their_folder(tmp_path: Path, steps: list[str]) -> None:
    with all_atomically([tmp_path / name for name in "ab"]) as parts:
        for part in parts:
            part.write_text("whole")
    assert steps == ["sync whole", "sync whole", "rename to a", "rename to b", f"sync {tmp_path.name}"]


def test_no_file_counts_if_one_of_several_fails(tmp_path: Path) -> None:
    def half() -> None:
        with all_atomically([tmp_path / name for name in "ab"]) as parts:
            parts[0].write_text("whole")
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        half()
    assert list(tmp_path.glob("*")) == [tmp_path / "cwd"]


def test_what_arrived_is_on_the_disk_before_it_counts(tmp_path: Path, steps: list[str]) -> None:
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "one").write_text("first")
    put(tmp_path / "part", tmp_path / "series")
    assert steps == ["sync first", "sync part", "rename to series", f"sync {tmp_path.name}"]
    (tmp_path / "source").write_text("second")
    download(str(tmp_path / "source"), tmp_path / "series" / "two")
    assert steps[4:] == ["sync second", "rename to two", "sync series"]


def test_a_new_folder_is_on_the_disk_with_those_above_it(tmp_path: Path, steps: list[str]) -> None:
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")
    assert steps == [f"sync {tmp_path.name}", "sync a"]
    (tmp_path / "a" / "b" / "file").write_text("deep")
    sync_all(tmp_path / "a")
    assert steps[2:] == ["sync deep", "sync b", "sync a"]
