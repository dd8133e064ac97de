"""What killed processes left is removed a day later, and nothing else is."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from intrabench.datasets.cases import store as cases
from intrabench.datasets.phantom import Phantom
from intrabench.files import cleanup, locks
from intrabench.files.cleanup import remove_leftovers
from intrabench.files.locks import locked
from intrabench.results.merge import merge
from intrabench.results.store import Store, clean
from tests.results.made import rows

PATTERNS = (".*.part", ".*.old", ".*.lock")


def aged(path: Path, days: float = 1.1) -> Path:
    """The path, written so long ago; a folder gets a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    inside = path
    if path.name.startswith((".case", ".merge", ".probe")) and path.suffix != ".lock":
        path.mkdir()
        inside = path / "image.nii.gz"
    inside.write_bytes(b"half")
    for one in {inside, path}:
        os.utime(one, (time.time() - days * 86400,) * 2)
    return path


def test_a_results_folder_loses_what_is_old_and_unfinished(tmp_path: Path) -> None:
    old = [
        aged(tmp_path / name)
        for name in (
            "rows/.run-0001.parquet.12-0a0b0c0d.part",
            "turns/.run-0001.parquet.12-0a0b0c0d.part",
            "masks/.abc.npz.12-0a0b0c0d.part",
            "runs/.run.json.12-0a0b0c0d.part",
            "runs/.run.tmp",
            "locks/0123456789abcdef.lock",
            "locks/run.run",
            "locks/0123456789abcdef.tries",
            "locks/a.lock.break.0a0b0c0d",
            ".merge-12",
            ".probe-12",
        )
    ]
    kept = [
        aged(tmp_path / name, days)
        for name, days in (
            ("rows/.run-0002.parquet.12-0a0b0c0d.part", 0.9),
            ("rows/run-0001.parquet", 9),
            ("masks/abc.npz", 9),
            ("locks/young.lock", 0.9),
            (".merge-13", 0.9),
            ("uv.lock", 9),  # results may be in any folder
            (".bashrc-old.part", 9),
        )
    ]
    clean(tmp_path)
    assert [path for path in old if path.exists()] == []
    assert [path for path in kept if not path.exists()] == []


@pytest.mark.parametrize("opens", [lambda root: Store(root, "next"), lambda root: merge([Path("from")], root)])
def test_the_next_run_and_the_next_merge_do_so(tmp_path: Path, opens: Callable[[Path], object]) -> None:
    Store(Path("from"), "run").write_part(rows({}).to_dicts(), [])
    left = [aged(tmp_path / "out" / name) for name in ("masks/.a.npz.1-0a0b0c0d.part", ".merge-1", "locks/a.lock")]
    opens(tmp_path / "out")
    assert [path for path in left if path.exists()] == []


def test_a_lock_that_is_held_stays_with_what_it_guards(tmp_path: Path) -> None:
    lock, part, old = tmp_path / ".case.lock", aged(tmp_path / ".case.part"), aged(tmp_path / ".case.old")
    with locked(lock) as lease:
        remove_leftovers(tmp_path, *PATTERNS)
        assert (lease.lost, part.exists(), old.exists()) == (False, True, True)
    remove_leftovers(tmp_path, *PATTERNS)
    assert (lock.exists(), part.exists(), old.exists()) == (False, False, False)


def test_the_clock_of_the_disk_decides_and_not_that_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This machine is a week ahead of the one that holds the lease."""
    lock, part = tmp_path / ".case.lock", aged(tmp_path / ".case.part")
    lock.write_text("filelock/2\npid=12\nhost=elsewhere\nmode=lease\ntoken=a\nduration=30.0\n")
    now = time.time()
    monkeypatch.setattr(cleanup.time, "time", lambda: now + 7 * 86400)
    remove_leftovers(tmp_path, *PATTERNS)
    assert (lock.exists(), part.exists()) == (True, True)


def test_who_takes_an_old_lock_over_while_it_is_removed_keeps_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, part = aged(tmp_path / ".a.lock"), aged(tmp_path / ".a.part")
    silence, rival = locks.silence, locked(tmp_path / ".b.lock")

    def late(path: Path) -> float:
        found = silence(path)
        rival.__enter__()
        (tmp_path / ".b.lock").replace(path)
        return found

    monkeypatch.setattr(locks, "silence", late)
    remove_leftovers(tmp_path, ".*.part")
    assert (lock.exists(), part.exists()) == (True, True)
    rival.__exit__(None, None, None)


def test_a_folder_that_is_still_written_to_stays(tmp_path: Path) -> None:
    part = aged(tmp_path / ".case.part")
    (part / "targets.npz").touch()
    os.utime(part, (0, 0))
    remove_leftovers(tmp_path, *PATTERNS)
    assert part.exists()


def test_a_link_is_removed_and_not_what_it_points_to(tmp_path: Path) -> None:
    target = aged(tmp_path / "elsewhere" / "a.part")
    link = tmp_path / ".case.part"
    link.symlink_to(target.parent)
    os.utime(link, (0, 0), follow_symlinks=False)
    remove_leftovers(tmp_path, *PATTERNS)
    assert (link.is_symlink(), target.exists()) == (False, True)


def test_a_conversion_removes_the_halves_of_other_cases(tmp_path: Path) -> None:
    phantom = Phantom((4, 8, 8), instances=1)
    cases.prepare(phantom, "case-1", tmp_path)
    (home,) = tmp_path.glob("cases/*")
    left = [
        aged(home / name)
        for name in (".case-7.part", ".case-7.part-0a0b", ".case-8.old", ".case-7.lock", ".case-7.tries")
    ]
    young = aged(home / ".case-9.part", 0.5)
    (home / "case-1" / "case.json").write_bytes(b"")
    cases._sweep.cache_clear()  # once per process
    cases.prepare(phantom, "case-1", tmp_path)
    assert [path for path in left if path.exists()] == []
    assert young.exists()


def test_a_folder_that_may_not_be_changed_or_is_not_there_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path) -> None:
        raise PermissionError(13, "Permission denied")

    aged(tmp_path / ".case.part")
    monkeypatch.setattr(cleanup, "_remove", refused)
    remove_leftovers(tmp_path, *PATTERNS)
    remove_leftovers(tmp_path / "nowhere", *PATTERNS)
    assert (tmp_path / ".case.part").exists()
