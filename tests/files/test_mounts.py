"""Warnings about mounts on which runs cannot share a folder, and none about the others."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.files import mounts
from intrabench.files.mounts import mount_of, warnings_about
from tests.conftest import Said


@pytest.fixture
def mounted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder under the table of mounts `table`, which the test writes."""
    monkeypatch.setattr(mounts, "MOUNTS", tmp_path / "table")
    (tmp_path / "mine").mkdir()
    return tmp_path / "mine"


def table(folder: Path, source: str, kind: str, options: str = "rw") -> None:
    point = str(folder).replace(" ", "\\040")
    lines = ["proc /proc proc rw 0 0", "/dev/sda / ext4 rw 0 0", f"{source} {point} {kind} {options} 0 0"]
    (folder.parent / "table").write_text("\n".join(lines))


FINE = [
    ("ext4", "rw,relatime"),
    ("xfs", "rw,attr2"),
    ("tmpfs", "rw"),
    ("overlay", "rw,lowerdir=/a"),
    ("btrfs", "rw"),
    ("zfs", "rw"),
    ("lustre", "rw,noflock"),
    ("gpfs", "rw"),
    ("beegfs", "rw"),
    ("ceph", "rw"),
    ("fuse.glusterfs", "rw"),
    ("nfs4", "rw,vers=4.2,local_lock=none"),
    ("nfs", "rw,vers=3,nolock,local_lock=all"),
    ("cifs", "rw,cache=strict"),
    ("virtiofs", "rw"),
]


@pytest.mark.parametrize(("kind", "options"), FINE)
def test_no_false_alarm(mounted: Path, kind: str, options: str) -> None:
    table(mounted, "server:/share", kind, options)
    assert warnings_about(mounted) == []
    assert list(mounted.iterdir()) == []


KNOWN = [
    ("s3fs", "fuse.s3fs", "rw", "s3fs"),
    ("bucket", "fuse.gcsfuse", "rw", "gcsfuse"),
    ("mountpoint-s3", "fuse", "rw", "mountpoint-s3"),
    ("me@host:", "fuse.sshfs", "rw", "sshfs"),
    ("C:", "9p", "rw", "9p"),
    ("/dev/sdb1", "vfat", "rw", "vfat"),
    ("nas:/a", "nfs", "rw,vers=2", "nfs"),
    ("nas:/a", "nfs4", "rw,nocto", "nfs4"),
    ("//nas/a", "cifs", "rw,cache=loose", "cifs"),
]


@pytest.mark.parametrize(("source", "kind", "options", "called"), KNOWN)
def test_what_is_known_to_go_wrong(
    mounted: Path, source: str, kind: str, options: str, called: str, wording: SnapshotAssertion
) -> None:
    table(mounted, source, kind, options)
    (mounted / "out").mkdir()
    (warning,) = warnings_about(mounted / "out")
    assert f"is on {called} (mounted" in warning
    assert warning == wording
    assert warnings_about(mounted.parent) == []


def test_the_last_mount_of_a_point_counts_and_blanks_are_understood(mounted: Path) -> None:
    blank = mounted.parent / "my disk"
    blank.mkdir()
    table(blank, "a", "vfat")
    with (mounted.parent / "table").open("a") as file:
        file.write(f"\nb {str(blank).replace(' ', chr(92) + '040')} xfs rw 0 0\nodd\n")
    found = mount_of(blank / "deeper")
    assert found is not None
    assert (found.point, found.kind) == (blank, "xfs")
    (mounted.parent / "table").unlink()
    assert mount_of(blank) is None
    assert warnings_about(blank) == []


def test_what_went_wrong_when_it_was_tried(
    mounted: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    """A mount that creates everything, renames nothing and shows old times."""
    table(mounted, "a", "strange")
    opens = os.open
    monkeypatch.setattr(os, "open", lambda path, flags, *more, **named: opens(path, flags & ~os.O_EXCL, *more, **named))
    monkeypatch.setattr(os, "replace", lambda one, other: None)
    monkeypatch.setattr(os, "utime", lambda *_: None if isinstance(_[0], int) else UTIME(*_))
    assert warnings_about(mounted) == wording
    assert list(mounted.iterdir()) == []


UTIME = os.utime


def test_a_trial_that_is_refused_counts_and_a_folder_that_is_not_there_is_told_by_others(
    mounted: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    def refused(*_: object) -> None:
        raise OSError("Operation not permitted")

    assert warnings_about(mounted / "nowhere") == []
    monkeypatch.setattr(os, "replace", refused)
    (told,) = warnings_about(mounted)
    assert told == wording


def test_this_machine(tmp_path: Path) -> None:
    assert warnings_about(tmp_path) == []


def test_a_run_warns_once(mounted: Path, say: Callable[..., Said], monkeypatch: pytest.MonkeyPatch) -> None:
    table(mounted, "bucket", "fuse.s3fs")
    monkeypatch.chdir(mounted)
    said = say("run", "--model", "box_fill", "--prompter", "box_volume", "--dataset", "phantom:shape=4x8x8,instances=1")
    assert said.code == 0
    assert said.err.count("intrabench-results is on s3fs") == 1
