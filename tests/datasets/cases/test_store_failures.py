"""What fails or is damaged on the way to the store or in it leaves no half case, is named and mended."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets.base import Dataset, Files
from intrabench.datasets.cases import store, stored_case
from intrabench.datasets.phantom import Phantom
from intrabench.errors import IntraBenchError
from intrabench.fetch.package import PackageSource
from intrabench.target import Target
from intrabench.volume import Volume
from tests.datasets.cases.made import Folder, Given, left_over, put, some_image, some_labels, times


@dataclass(frozen=True)
class Breaking(Phantom):
    """Fails after its files were unpacked."""

    name = "breaking"
    error: type[BaseException] = field(default=RuntimeError)

    def load(self, case: str, files: Files) -> tuple[Volume, list[Target]]:
        files.unpacked.mkdir()
        (files.unpacked / "half").write_bytes(b"half")
        raise self.error("interrupted")


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, OSError])
def test_a_failure_while_loading_leaves_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    with pytest.raises(error, match="interrupted"):
        store.prepare(Breaking((4, 8, 8), error=error), "case-1", tmp_path)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


class Suspended(Phantom):
    """Its first conversion sleeps for so long that another process takes its lease over and converts the case."""

    def load(self, case: str, files: Files) -> tuple[Volume, list[Target]]:
        root = files.downloads.parent
        if not (root / "theirs").exists():
            (root / "theirs").touch()
            (lease,) = root.glob("cases/*/.case-1.lock")
            lease.unlink()
            store.prepare(self, case, root)
            (root / "theirs").write_text(json.dumps(times(root / "cases")))
        return super().load(case, files)


def test_a_conversion_that_slept_too_long_uses_what_its_successor_made(tmp_path: Path) -> None:
    made = Suspended((4, 8, 8))
    assert store.prepare(made, "case-1", tmp_path) == store.index(made, "case-1", tmp_path)
    theirs = json.loads((tmp_path / "theirs").read_text())
    assert {name: theirs[name] for name in times(tmp_path / "cases") if "case-1/" in name} == {
        name: time for name, time in times(tmp_path / "cases").items() if "case-1/" in name
    }
    assert left_over(tmp_path) == []


@pytest.mark.parametrize("step", ["write_image_file", "check_intensities", "image_hash"])
def test_a_failure_while_writing_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    phantom = Phantom((4, 8, 8), instances=1)
    with monkeypatch.context() as patch:
        patch.setattr(stored_case, step, fail)
        with pytest.raises(KeyboardInterrupt):
            store.prepare(phantom, "case-1", tmp_path)
    assert store.index(phantom, "case-1", tmp_path) is None
    assert left_over(tmp_path) == []
    assert store.prepare(phantom, "case-1", tmp_path).targets[0].id == "blob.1"


def test_what_a_crash_left_disturbs_nobody_and_is_cleared_a_day_later(tmp_path: Path) -> None:
    phantom = Phantom((4, 8, 8), instances=1)
    store.prepare(phantom, "case-1", tmp_path)
    (folder,) = tmp_path.glob("cases/*/case-1")
    part = folder.rename(folder.with_name(".case-1.part-0a0b"))  # killed just before the end
    store.prepare(phantom, "case-1", tmp_path)
    assert store.verify(phantom, tmp_path) == []
    assert left_over(tmp_path) == [part.name]
    for path in (part, *part.iterdir()):
        os.utime(path, (1e9, 1e9))
    store._sweep.cache_clear()
    shutil.rmtree(folder)
    store.prepare(phantom, "case-1", tmp_path)
    assert left_over(tmp_path) == []


def test_the_old_case_stays_until_the_new_one_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = put(tmp_path / "mine", "p1", some_image(), some_labels())
    old = store.prepare(dataset, "p1", tmp_path)
    (folder,) = tmp_path.glob("cases/*/p1")
    before = times(folder)
    monkeypatch.setattr(stored_case, "FORMAT", stored_case.FORMAT + 1)  # a later version of this program
    with monkeypatch.context() as patch:
        patch.setattr(Folder, "load", lambda *args: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            store.prepare(dataset, "p1", tmp_path)
    assert times(folder) == before
    assert store.index(dataset, "p1", tmp_path) is None
    assert store.prepare(dataset, "p1", tmp_path) == old
    assert times(folder) != before


def test_a_full_disk_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(stored_case, "write_image_file", full)
    with pytest.raises(IntraBenchError, match="the disk is full"):
        store.prepare(Phantom((4, 8, 8)), "case-1", tmp_path)
    assert left_over(tmp_path) == []


def read_all(dataset: Dataset, root: Path) -> None:
    scene = store.open_case(dataset, "case-1", root)
    scene.targets()
    _ = scene.volume


@pytest.mark.parametrize("name", ["image.nii.zst", "targets.npz", "case.json"])
@pytest.mark.parametrize("harm", ["truncate", "empty", "remove"])
def test_broken_pieces_are_said_and_mended(tmp_path: Path, name: str, harm: str) -> None:
    phantom = Phantom((6, 12, 12))
    whole = store.prepare(phantom, "case-1", tmp_path)
    path = next(tmp_path.glob(f"cases/*/case-1/{name}"))
    content = path.read_bytes()
    path.unlink() if harm == "remove" else path.write_bytes(content[: len(content) // 2] if harm == "truncate" else b"")
    if name == "case.json" and harm == "remove":
        said = "is not in the store; run `intrabench data get phantom:shape=6x12x12` again"
    else:
        said = f"{name} is damaged; delete the folder .* and run `intrabench data get phantom:shape=6x12x12` again"
        assert any(name in problem for problem in store.verify(phantom, tmp_path))
    with pytest.raises(IntraBenchError, match=said):
        read_all(phantom, tmp_path)
    assert store.prepare(phantom, "case-1", tmp_path) == whole
    assert path.read_bytes() == content  # byte by byte: conversion is deterministic
    assert left_over(tmp_path) == []


def test_verify_finds_changed_voxels_of_the_same_length(tmp_path: Path, wording: SnapshotAssertion) -> None:
    phantom = Phantom((6, 12, 12), noise=0)
    assert store.verify(phantom, tmp_path) == wording
    store.prepare(phantom, "case-1", tmp_path)
    (folder,) = tmp_path.glob("cases/*/case-1")
    stored = json.loads((folder / "case.json").read_text())
    stored["image_hash"] = "0" * 16
    stored["targets"][1]["content_hash"] = "0" * 16
    (folder / "case.json").write_text(json.dumps(stored))
    problems = store.verify(phantom, tmp_path)
    assert [name in problem for name, problem in zip(("image.nii.zst", "targets.npz"), problems, strict=True)] == [
        True
    ] * 2


def test_verify_finds_another_archive(tmp_path: Path, wording: SnapshotAssertion) -> None:
    class Packed(Given):
        def sources(self) -> tuple[PackageSource, ...]:
            return (PackageSource("data", "1", "data-1.tar.gz", hashlib.sha256(b"right").hexdigest(), 5),)

    (tmp_path / "downloads").mkdir()
    archive = tmp_path / "downloads" / "data-1.tar.gz"
    archive.write_bytes(b"wrong")
    (problem,) = store.verify(Packed(), tmp_path)
    assert problem.startswith(f"{archive} has sha256 ")
    assert problem == wording
