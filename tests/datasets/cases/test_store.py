"""The canonical store: what goes in comes out, once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets.cases import store
from intrabench.datasets.cases.stored_case import Siblings
from intrabench.datasets.phantom import Phantom
from intrabench.errors import IntraBenchError
from intrabench.mask import Mask
from intrabench.target import Target, TargetInfo
from intrabench.volume import Volume
from intrabench.workspace import data_root
from tests.datasets.cases.made import AFFINE, given, left_over, put, some_image, some_labels, times


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
    np.testing.assert_allclose(scene.volume.grid.affine, reference.grid.affine, atol=1e-6)
    assert made.shape == scene.volume.shape == (9, 8, 10)
    assert made.spacing_mm == scene.volume.spacing_mm == (0.6013, 0.5, 1.2027)
    canonical = reference.grid.to_canonical(labels)
    for target, value in zip(scene.targets(), (1, 3, 7), strict=True):
        np.testing.assert_array_equal(target.mask.to_array(made.shape), canonical == value)
        assert isinstance(target.siblings, Siblings)
        assert tuple(target.siblings) == tuple(info for info in made.targets if info.id != target.id)
        assert (target.case, target.shape, target.spacing_mm) == ("p1", made.shape, made.spacing_mm)
    assert store.verify(dataset, root) == []


def test_what_the_other_targets_are_takes_no_list_for_each_target() -> None:
    infos = tuple(TargetInfo("nodule", number, (0, 0, 0, 1, 1, 1), 1, 1, "") for number in range(4))
    for number in range(4):
        expected = infos[:number] + infos[number + 1 :]
        others = Siblings(infos, number)
        assert others.every is infos
        assert tuple(others) == tuple(others[n] for n in (-3, -2, -1)) == others[:] == expected
        assert len(others) == 3
    with pytest.raises(IndexError):
        Siblings(infos, 0)[3]


def test_only_the_targets_asked_for_and_without_the_label_map(tmp_path: Path, wording: SnapshotAssertion) -> None:
    dataset = put(tmp_path / "mine", "p1", some_image(), some_labels())
    store.prepare(dataset, "p1", tmp_path)
    (tmp_path / "mine" / "p1" / "labels.nii.gz").unlink()  # a prepared case no longer needs it
    scene = store.open_case(dataset, "p1", tmp_path)
    assert [target.id for target in scene.targets(["tumour.2"])] == ["tumour.2"]
    assert scene.targets([]) == []
    with pytest.raises(IntraBenchError) as caught:
        scene.targets(["tumor.2"])
    assert caught == wording


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


def test_names_of_cases_stay_inside_the_store(tmp_path: Path, wording: SnapshotAssertion) -> None:
    dataset = given(Volume.from_canonical(some_image()))
    for case in dataset.cases():
        assert store.prepare(dataset, case, tmp_path / "root").case == case
    folders = sorted(path.name for path in (tmp_path / "root" / "cases" / "given-1").iterdir() if path.is_dir())
    assert folders == ["%2E%2E", "%2Ehidden", "a%2Fb", "one", "scan 2"]
    assert {path.name for path in tmp_path.iterdir()} <= {"root", "cwd"}
    with pytest.raises(IntraBenchError) as caught:
        store.prepare(dataset, "onee", tmp_path)
    assert caught == wording


def test_cases_are_listed_once_and_again_for_an_unknown_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset, listed, real = Phantom((4, 8, 8), instances=1, scans=3, seed=5), list[int](), Phantom.cases
    monkeypatch.setattr(Phantom, "cases", lambda self: listed.append(1) or real(self))
    for case in dataset.cases():
        store.prepare(dataset, case, tmp_path)
    assert len(listed) == 2  # one is of this test
    with pytest.raises(IntraBenchError, match="has no case 'case-4'"):
        store.prepare(dataset, "case-4", tmp_path)
    assert len(listed) == 3


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


def test_the_index_needs_no_image_and_no_torch(tmp_path: Path) -> None:
    store.prepare(Phantom((6, 12, 12)), "case-1", tmp_path)
    next(tmp_path.glob("cases/*/case-1/image.nii.zst")).unlink()
    code = (
        "import sys; from intrabench.datasets.cases import store; from intrabench.datasets import "
        "phantom, spine_samples, brain_mni, tumour_samples; "
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
    said = {process.communicate(timeout=180)[0] for process in running}
    assert [process.returncode for process in running] == [0, 0, 0]
    assert len(said) == 1
    assert store.verify(Phantom((30, 128, 128)), tmp_path) == []
    assert left_over(tmp_path) == []


def test_grid_of_the_index(tmp_path: Path) -> None:
    volume = Volume.from_file_order(some_image(), AFFINE)
    grid = store.prepare(given(volume), "one", tmp_path).grid
    assert grid.shape == (8, 9, 10)
    np.testing.assert_allclose(grid.affine, AFFINE, atol=1e-6)
    np.testing.assert_array_equal(grid.canonical_affine, volume.affine)


def test_cases_stored_without_a_modality_have_that_of_the_card(data: Path) -> None:
    dataset = Phantom(shape=(16, 32, 32))
    store.prepare(dataset, "case-1")
    (path,) = data.glob("cases/*/*/case.json")
    stored = json.loads(path.read_text())
    assert stored.pop("modality") == Phantom.card.modality
    path.write_text(json.dumps(stored))
    assert store.open_case(dataset, "case-1").volume.modality == Phantom.card.modality
