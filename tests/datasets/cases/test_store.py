"""The canonical store: what goes in comes out, once, whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest

from intrabench.datasets.base import Dataset, DatasetCard, Files
from intrabench.datasets.cases import store, stored_case
from intrabench.datasets.phantom import Phantom
from intrabench.errors import IntraBenchError
from intrabench.fetch.package import PackageSource
from intrabench.mask import Mask
from intrabench.target import Target, targets_of
from intrabench.volume import Array, Grid, Volume, read_image, read_labels
from intrabench.workspace import data_root

AFFINE = np.array([[0, 0.04, -1.2, 40], [-0.5, 0, 0, 12.3], [0, 0.6, 0.08, -9], [0, 0, 0, 1.0]])


@dataclass(frozen=True)
class Folder(Dataset):
    """A user's data set of his own: a folder per case."""

    name = "folder"
    version = "1"
    card = DatasetCard("Two labels in a folder", "CT")
    root: Path = Path("data")

    def cases(self) -> tuple[str, ...]:
        return tuple(sorted(path.name for path in self.root.iterdir()))

    def local_files(self, case: str) -> tuple[Path, ...]:
        return self.root / case / "image.nii.gz", self.root / case / "labels.nii.gz"

    def load(self, case: str, files: Files) -> tuple[Volume, list[Target]]:
        image, labels = self.local_files(case)
        volume = read_image(image)
        names = {1: ("liver", 1), 3: ("tumour", 1), 7: ("tumour", 2)}  # with holes in the numbering
        return volume, targets_of(read_labels(labels, volume.grid), names, case, volume.spacing_mm)


class Given(Dataset):
    """A data set without parameters around what a test hands it; it counts how often it is loaded."""

    name = "given"
    version = "1"
    card = DatasetCard("As given", "none")
    loads = 0
    make: Callable[[], tuple[Volume, Sequence[Target]]]

    def cases(self) -> tuple[str, ...]:
        return "one", "a/b", "..", ".hidden", "scan 2"

    def load(self, case: str, files: Files) -> tuple[Volume, Sequence[Target]]:
        type(self).loads += 1
        return type(self).make()


def given(volume: Volume, *targets: Target) -> Given:
    kind = type("Given", (Given,), {"make": staticmethod(lambda: (volume, targets)), "loads": 0})
    return kind()


def some_image(dtype: str = "int16", shape: tuple[int, ...] = (8, 9, 10)) -> Array:
    return np.random.default_rng(0).integers(0, 100, shape).astype(dtype)


def some_labels() -> Array:
    labels = np.zeros((8, 9, 10), dtype=np.uint8)
    labels[1:3, 2:5, 3:7], labels[5, 6, 7], labels[6:8, 0:2, 0:3], labels[0, 0, 0] = 1, 3, 7, 5
    return labels


def put(root: Path, case: str, image: Array, labels: Array, labels_affine: Array = AFFINE) -> Folder:
    (root / case).mkdir(parents=True, exist_ok=True)
    nib.save(nib.Nifti1Image(image, AFFINE), root / case / "image.nii.gz")
    nib.save(nib.Nifti1Image(labels, labels_affine), root / case / "labels.nii.gz")
    return Folder(root)


def times(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in folder.rglob("*") if not path.name.endswith(".lock")}


def left_over(root: Path) -> list[str]:
    """Everything in the store but archives, locks and the cases themselves."""
    return [path.name for path in root.glob("cases/*/*") if path.name.startswith(".") and path.suffix != ".lock"]


def test_a_users_folder(tmp_path: Path) -> None:
    image, labels = some_image(), some_labels()
    dataset = put(tmp_path / "mine", "p1", image, labels)
    root = tmp_path / "store"
    assert store.index(dataset, "p1", root) is None
    made = store.prepare(dataset, "p1", root)
    assert store.index(dataset, "p1", root) == made
    assert [(info.id, info.voxels, info.slices) for info in made.targets] == [
        ("liver.1", 24, 3),
        ("tumour.1", 1, 1),
        ("tumour.2", 12, 2),
    ]
    scene = store.open_case(dataset, "p1", root)
    reference = Volume.from_file_order(image, AFFINE.astype(np.float32))
    np.testing.assert_array_equal(scene.volume.array, reference.array)
    assert scene.volume.array.dtype == np.int16
    assert scene.volume.array.flags.c_contiguous
    assert scene.volume.grid.same_as(reference.grid)
    assert made.shape == scene.volume.shape == (9, 8, 10)
    assert made.spacing_mm == scene.volume.spacing_mm == (0.6013, 0.5, 1.2027)
    canonical = reference.grid.to_canonical(labels)
    for target, value in zip(scene.targets(), (1, 3, 7), strict=True):
        np.testing.assert_array_equal(target.mask.to_array(made.shape), canonical == value)
        assert target.siblings == tuple(info for info in made.targets if info.id != target.id)
        assert (target.case, target.shape, target.spacing_mm) == ("p1", made.shape, made.spacing_mm)
    assert store.verify(dataset, root) == []


def test_only_the_targets_asked_for_and_without_the_label_map(tmp_path: Path) -> None:
    dataset = put(tmp_path / "mine", "p1", some_image(), some_labels())
    store.prepare(dataset, "p1", tmp_path)
    (tmp_path / "mine" / "p1" / "labels.nii.gz").unlink()  # a prepared case no longer needs it
    scene = store.open_case(dataset, "p1", tmp_path)
    assert [target.id for target in scene.targets(["tumour.2"])] == ["tumour.2"]
    assert scene.targets([]) == []
    with pytest.raises(IntraBenchError, match=r"no target 'tumor\.2', did you mean 'tumour\.2'"):
        scene.targets(["tumor.2"])


@pytest.mark.parametrize(
    ("dtype", "stored"),
    [
        ("uint8", "uint8"),
        ("int8", "int8"),
        (">i2", "int16"),
        ("uint16", "uint16"),
        ("int32", "int32"),
        ("int64", "int32"),
        ("float16", "float32"),
        ("float32", "float32"),
        ("float64", "float32"),
        ("bool", "uint8"),
    ],
)
def test_types_are_kept(tmp_path: Path, dtype: str, stored: str) -> None:
    image = some_image(dtype)
    volume = Volume.from_file_order(image, AFFINE)
    dataset = given(volume)
    store.prepare(dataset, "one", tmp_path)
    opened = store.open_case(dataset, "one", tmp_path).volume
    assert opened.array.dtype == np.dtype(stored)
    np.testing.assert_array_equal(opened.array, volume.array)
    np.testing.assert_array_equal(opened.grid.affine, AFFINE)  # all digits, which NIfTI would not keep
    np.testing.assert_array_equal(opened.grid.from_canonical(opened.array), image)
    assert store.verify(dataset, tmp_path) == []


def test_channels_and_one_slice(tmp_path: Path) -> None:
    picture = Volume.from_canonical(some_image("uint8", (1, 12, 14, 3)))
    dataset = given(picture)
    assert store.prepare(dataset, "one", tmp_path).shape == (1, 12, 14)
    np.testing.assert_array_equal(store.open_case(dataset, "one", tmp_path).volume.array, picture.array)


def test_what_is_ignored_is_kept(tmp_path: Path) -> None:
    volume = Volume.from_canonical(some_image())
    mask, ignore = Mask.of(np.ones((2, 3, 4)), (1, 2, 3)), Mask.of(np.ones((3, 1, 2)), (4, 4, 4))
    target = Target("one", "cell", 4, mask, volume.shape, volume.spacing_mm, ignore)
    plain = replace(target, instance=5, ignore=Mask.empty())
    dataset = given(volume, plain, target)
    store.prepare(dataset, "one", tmp_path)
    first, second = store.open_case(dataset, "one", tmp_path).targets()
    assert not first.ignore.any()
    assert second.ignore.box == ignore.box
    assert second.ignore.voxels == 6
    assert second.mask.box == mask.box


def test_no_targets_is_an_empty_list(tmp_path: Path) -> None:
    dataset = given(Volume.from_canonical(some_image()))
    assert store.prepare(dataset, "one", tmp_path).targets == ()
    assert store.open_case(dataset, "one", tmp_path).targets() == []


def test_names_of_cases_stay_inside_the_store(tmp_path: Path) -> None:
    dataset = given(Volume.from_canonical(some_image()))
    for case in dataset.cases():
        assert store.prepare(dataset, case, tmp_path / "root").case == case
    folders = sorted(path.name for path in (tmp_path / "root" / "cases" / "given-1").iterdir() if path.is_dir())
    assert folders == ["%2E%2E", "%2Ehidden", "a%2Fb", "one", "scan 2"]
    assert {path.name for path in tmp_path.iterdir()} <= {"root", "cwd"}
    with pytest.raises(IntraBenchError, match="has no case 'onee', did you mean 'one'"):
        store.prepare(dataset, "onee", tmp_path)


def test_parameters_have_places_of_their_own(tmp_path: Path) -> None:
    for seed in (0, 1):
        store.prepare(Phantom((4, 8, 8), instances=1, seed=seed), "case-1", tmp_path)
    assert len(list((tmp_path / "cases").glob("phantom-1-*"))) == 2


def test_again_is_nothing(tmp_path: Path) -> None:
    dataset = given(Volume.from_canonical(some_image()))
    first = store.prepare(dataset, "one", tmp_path)
    before = times(tmp_path)
    assert store.prepare(dataset, "one", tmp_path) == first
    assert times(tmp_path) == before
    assert type(dataset).loads == 1


def test_changed_files_are_converted_again(tmp_path: Path) -> None:
    mine, root = tmp_path / "mine", tmp_path / "store"
    dataset = put(mine, "p1", some_image(), some_labels())
    first = store.prepare(dataset, "p1", root)
    labels = some_labels()
    labels[5, 5, 5] = 3
    put(mine, "p1", some_image(), labels)
    os.utime(mine / "p1" / "labels.nii.gz", ns=(1, 1))
    assert store.index(dataset, "p1", root) is None
    again = store.prepare(dataset, "p1", root)
    assert [info.voxels for info in again.targets] == [24, 2, 12]
    assert again.image_hash == first.image_hash
    assert left_over(root) == []


@pytest.mark.parametrize("orientation", ["RAS", "LPI", "SRP"])
def test_the_image_hash_does_not_see_the_order_of_axes(tmp_path: Path, orientation: str) -> None:
    reference = store.prepare(Phantom((6, 10, 8)), "case-1", tmp_path)
    made = store.prepare(Phantom((6, 10, 8), orientation=orientation), "case-1", tmp_path)
    assert made.image_hash == reference.image_hash
    assert made.targets == reference.targets


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
    assert [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".lock"] == []


@pytest.mark.parametrize("step", ["write_nifti", "check_intensities", "image_hash"])
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


def test_what_a_crash_left_is_cleared(tmp_path: Path) -> None:
    phantom = Phantom((4, 8, 8), instances=1)
    store.prepare(phantom, "case-1", tmp_path)
    (folder,) = tmp_path.glob("cases/*/case-1")
    folder.rename(folder.with_name(".case-1.part"))  # killed just before the end
    store.prepare(phantom, "case-1", tmp_path)
    assert store.verify(phantom, tmp_path) == []
    assert left_over(tmp_path) == []


def test_the_old_case_stays_until_the_new_one_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = put(tmp_path / "mine", "p1", some_image(), some_labels())
    old = store.prepare(dataset, "p1", tmp_path)
    (folder,) = tmp_path.glob("cases/*/p1")
    before = times(folder)
    monkeypatch.setattr(stored_case, "FORMAT", 2)  # a later version of this program
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

    monkeypatch.setattr(stored_case, "write_nifti", full)
    with pytest.raises(IntraBenchError, match="the disk is full"):
        store.prepare(Phantom((4, 8, 8)), "case-1", tmp_path)
    assert left_over(tmp_path) == []


def read_all(dataset: Dataset, root: Path) -> None:
    scene = store.open_case(dataset, "case-1", root)
    scene.targets()
    _ = scene.volume


@pytest.mark.parametrize("name", ["image.nii.gz", "targets.npz", "case.json"])
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


def test_verify_finds_changed_voxels_of_the_same_length(tmp_path: Path) -> None:
    phantom = Phantom((6, 12, 12), noise=0)
    assert store.verify(phantom, tmp_path) == [
        "nothing of phantom:shape=6x12x12,noise=0 is in the store; "
        "run `intrabench data get phantom:shape=6x12x12,noise=0` again"
    ]
    store.prepare(phantom, "case-1", tmp_path)
    (folder,) = tmp_path.glob("cases/*/case-1")
    stored = json.loads((folder / "case.json").read_text())
    stored["image_hash"] = "0" * 16
    stored["targets"][1]["content_hash"] = "0" * 16
    (folder / "case.json").write_text(json.dumps(stored))
    problems = store.verify(phantom, tmp_path)
    assert [name in problem for name, problem in zip(("image.nii.gz", "targets.npz"), problems, strict=True)] == [
        True
    ] * 2


def test_verify_finds_another_archive(tmp_path: Path) -> None:
    class Packed(Given):
        def sources(self) -> tuple[PackageSource, ...]:
            return (PackageSource("data", "1", "data-1.tar.gz", hashlib.sha256(b"right").hexdigest(), 5),)

    (tmp_path / "downloads").mkdir()
    archive = tmp_path / "downloads" / "data-1.tar.gz"
    archive.write_bytes(b"wrong")
    (problem,) = store.verify(Packed(), tmp_path)
    assert problem.startswith(f"{archive} has sha256 ")
    assert problem.endswith(" was expected: delete it and run again to download it again.")


def test_the_index_needs_no_image_and_no_torch(tmp_path: Path) -> None:
    store.prepare(Phantom((6, 12, 12)), "case-1", tmp_path)
    next(tmp_path.glob("cases/*/case-1/image.nii.gz")).unlink()
    code = (
        "import sys; from intrabench.datasets.cases import store; from intrabench.datasets import "
        "phantom, spine_ct, spine_mr, brain_mni, lung_tumour, brain_tumour; "
        "found = store.index(phantom.Phantom((6, 12, 12)), 'case-1'); print(found.shape, "
        "[name for name in ('torch', 'SimpleITK', 'scipy.ndimage', 'pydantic', 'httpx2', 'unearth') "
        "if name in sys.modules])"
    )
    environment = {**os.environ, "INTRABENCH_DATA": str(tmp_path), "PYTHONPATH": str(Path(store.__file__).parents[3])}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert run.stdout.strip() == "(6, 12, 12) []"


def test_data_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("INTRABENCH_DATA", str(tmp_path))
    assert data_root() == tmp_path
    monkeypatch.delenv("INTRABENCH_DATA")
    assert data_root().name.lower() == "intrabench" or "intrabench" in data_root().parts


def test_memory_follows_the_volume(tmp_path: Path) -> None:
    phantom = Phantom((60, 256, 256), instances=30, orientation="LPS")
    size = 2 * 60 * 256 * 256
    tracemalloc.start()
    store.prepare(phantom, "case-1", tmp_path)
    _, converting = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    scene = store.open_case(phantom, "case-1", tmp_path)
    _, _ = scene.volume, scene.targets()
    _, opening = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert converting < 3 * size
    assert opening < 3 * size


def test_loose_masks_become_tight(tmp_path: Path) -> None:
    volume = Volume.from_canonical(some_image())
    loose = np.zeros((4, 4, 4), dtype=bool)
    loose[1, 2, 3] = True
    target = Target("one", "cell", 1, Mask((2, 2, 2), loose), volume.shape, (9.0, 9.0, 9.0))
    assert store.prepare(given(volume, target), "one", tmp_path).targets[0].box == (3, 4, 5, 4, 5, 6)


def test_two_processes_at_once_convert_once(tmp_path: Path) -> None:
    code = (
        "from intrabench.datasets.cases import store; from intrabench.datasets.phantom import Phantom; "
        "from intrabench.workspace import data_root; "
        "store.prepare(Phantom((30, 128, 128)), 'case-1'); "
        "(made,) = data_root().glob('cases/*/case-1/case.json'); print(made.stat().st_mtime_ns)"
    )
    environment = {**os.environ, "INTRABENCH_DATA": str(tmp_path), "PYTHONPATH": str(Path(store.__file__).parents[3])}
    command = [sys.executable, "-c", code]
    running = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    said = {process.communicate(timeout=60)[0] for process in running}
    assert [process.returncode for process in running] == [0, 0, 0]
    assert len(said) == 1
    assert store.verify(Phantom((30, 128, 128)), tmp_path) == []
    assert left_over(tmp_path) == []


def test_grid_of_the_index(tmp_path: Path) -> None:
    volume = Volume.from_file_order(some_image(), AFFINE)
    grid = store.prepare(given(volume), "one", tmp_path).grid
    assert grid.same_as(Grid((8, 9, 10), AFFINE))
    np.testing.assert_array_equal(grid.canonical_affine, volume.affine)


def test_cases_stored_without_a_modality_have_that_of_the_card(data: Path) -> None:
    """As by earlier versions of IntraBench."""
    dataset = Phantom(shape=(16, 32, 32))
    store.prepare(dataset, "case-1")
    (path,) = data.glob("cases/*/*/case.json")
    stored = json.loads(path.read_text())
    assert stored.pop("modality") == Phantom.card.modality
    path.write_text(json.dumps(stored))
    assert store.open_case(dataset, "case-1").volume.modality == Phantom.card.modality
