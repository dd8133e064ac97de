"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from intrabench.atomic import atomically, writing
from intrabench.errors import IntraBenchError


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


def test_two_writers_of_one_file_do_not_meet(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file.txt"
    with atomically(path) as first:
        first.write_text("first")
        with atomically(path) as second:
            second.write_text("second")
    assert path.read_text() == "first"  # the last to finish
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (errno.ENOSPC, "file.txt cannot be written because the disk is full: free some space, then run again."),
        (errno.EACCES, "file.txt cannot be written (Permission denied): choose a writable folder."),
    ],
)
def test_what_the_system_refuses_is_one_sentence(number: int, sentence: str) -> None:
    with pytest.raises(IntraBenchError) as caught, writing(Path("file.txt")):
        raise OSError(number, "Permission denied")
    assert str(caught.value) == sentence
