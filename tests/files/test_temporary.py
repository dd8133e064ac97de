"""Temporary folders go, also those of processes that were killed."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import pytest

from intrabench.files.temporary import sweep, temporary_folder


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    sweep.cache_clear()
    return place


def aged(folder: Path, days: float) -> Path:
    folder.mkdir()
    (folder / "volume.npy").write_bytes(b"x")
    then = time.time() - days * 24 * 3600
    os.utime(folder, (then, then))
    return folder


def test_a_folder_lives_as_long_as_it_is_needed(place: Path) -> None:
    with temporary_folder() as folder:
        assert folder.parent == place
        (folder / "a file").touch()
        then = time.time() - 7 * 24 * 3600
        os.utime(folder, (then, then))
        sweep.cache_clear()
        sweep()  # another command, a week later
        assert (folder / "a file").exists()
    assert list(place.iterdir()) == []


def test_what_killed_processes_left_is_deleted_after_a_day(place: Path) -> None:
    old = aged(place / "intrabench-killed", 1.1)
    kept = [aged(place / "intrabench-young", 0.9), aged(place / "of-others", 9)]
    target = aged(place / "elsewhere", 9)
    (place / "intrabench-link").symlink_to(target)
    sweep()
    assert not old.exists()
    assert all((folder / "volume.npy").exists() for folder in (*kept, target))
