"""Public data sets as published, two cases each, and folders with one folder for each case."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets.base import time_of
from intrabench.datasets.folder.folder import Folder
from intrabench.datasets.folder.published import PUBLISHED, Published
from intrabench.errors import IntraBenchError
from intrabench.registry import registry
from tests.datasets.folder.made import NO_FILES, found, image, labels, save

pytestmark = pytest.mark.usefixtures("data")


@dataclass(frozen=True)
class Tree:
    """Two cases, whose names stand for {} in paths of images and of labels with the values 1, 2 and `third`.

    targets: what is found in one; several: what cases, patients and time points are called, if the tree says it.
    """

    layout: str
    names: tuple[str, str]
    images: str
    drawn: str
    targets: str
    third: int = 3
    modality: str = "CT"
    called: tuple[tuple[str, str, str], ...] = ()

    def made(self, root: Path) -> Folder:
        """The data set of the files, each image another one."""
        for name in self.names:
            for number, one in enumerate(self.images.split()):
                save(root / one.replace("{}", name), image(number))
            for one in self.drawn.split():
                values = np.where(labels() == 5, self.third, labels()).astype(np.uint8)
                save(root / one.replace("{}", name), values)
        dataset = registry.make("datasets", str(root))
        assert isinstance(dataset, Folder)
        return dataset


SEGMENTATIONS = "{}/segmentations/aorta.nii.gz {}/segmentations/liver.nii.gz"
STRUCTURES = "aorta.1, aorta.2, aorta.3, liver.1, liver.2, liver.3"
BRATS = "{}/{}-t2f.nii.gz {}/{}-t1n.nii.gz {}/{}-t1c.nii.gz {}/{}-t2w.nii.gz"
TREES = [
    Tree("totalsegmentator", ("s0011", "s0058"), "{}/ct.nii.gz", SEGMENTATIONS, STRUCTURES),
    Tree("totalsegmentator_mr", ("s0001", "s0002"), "{}/mri.nii.gz", SEGMENTATIONS, STRUCTURES, modality="MR"),
    Tree(
        "totalsegmentator",
        ("BDMAP_00000001", "BDMAP_00000002"),
        "{}/ct.nii.gz",
        f"{SEGMENTATIONS} {{}}/combined_labels.nii.gz",
        STRUCTURES,
    ),
    Tree(
        "kits",
        ("case_00000", "case_00001"),
        "{}/imaging.nii.gz",
        "{}/segmentation.nii.gz {}/instances/kidney_instance-1_annotation-1.nii.gz",
        "kidney.1, tumor.1, cyst.1",
    ),
    Tree(
        "kits21",
        ("case_00000", "case_00001"),
        "{}/imaging.nii.gz",
        "{}/aggregated_AND_seg.nii.gz {}/aggregated_MAJ_seg.nii.gz {}/aggregated_OR_seg.nii.gz",
        "kidney.1, tumor.1, cyst.1",
    ),
    Tree("lits", ("0", "17"), "volume-{}.nii", "segmentation-{}.nii", "liver.1, tumor.1, label_3.1"),
    Tree(
        "brats2020",
        ("BraTS20_Training_001", "BraTS20_Training_002"),
        "{}/{}_flair.nii.gz {}/{}_t1.nii.gz {}/{}_t1ce.nii.gz {}/{}_t2.nii.gz",
        "{}/{}_seg.nii.gz",
        "necrotic and non-enhancing tumor core.1, edema.1, enhancing tumor.1",
        third=4,
        modality="FLAIR",
    ),
    Tree(
        "brats",
        ("BraTS-GLI-00000-000", "BraTS-GLI-00000-001"),
        BRATS,
        "{}/{}-seg.nii.gz",
        "non-enhancing tumor core.1, edema.1, enhancing tumor.1",
        modality="FLAIR",
        called=(
            ("BraTS-GLI-00000 000", "BraTS-GLI-00000", "000"),
            ("BraTS-GLI-00000 001", "BraTS-GLI-00000", "001"),
        ),
    ),
    Tree(
        "brats",
        ("BraTS-PED-00001-000", "BraTS-PED-00002-000"),
        BRATS,
        "{}/{}-seg.nii.gz",
        "label_1.1, label_2.1, label_3.1",
        modality="FLAIR",
        called=(
            ("BraTS-PED-00001 000", "BraTS-PED-00001", "000"),
            ("BraTS-PED-00002 000", "BraTS-PED-00002", "000"),
        ),
    ),
    Tree(
        "autopet",
        ("PETCT_0011f3deaf/03-23-2003-NA-PET-CT", "PETCT_0011f3deaf/12-01-2004-NA-PET-CT"),
        "{}/CTres.nii.gz {}/SUV.nii.gz {}/CT.nii.gz {}/PET.nii.gz",
        "{}/SEG.nii.gz",
        "lesion.1, label_2.1, label_3.1",
        called=(
            ("PETCT_0011f3deaf 03-23-2003-NA-PET-CT", "PETCT_0011f3deaf", "2003-03-23"),
            ("PETCT_0011f3deaf 12-01-2004-NA-PET-CT", "PETCT_0011f3deaf", "2004-12-01"),
        ),
    ),
    Tree(
        "flare21",
        ("train_000", "train_001"),
        "TrainingImg/{}_0000.nii.gz",
        "TrainingMask/{}.nii.gz",
        "liver.1, kidney.1, spleen.1",
    ),
    Tree(
        "flare22",
        ("FLARE22_Tr_0001", "FLARE22_Tr_0002"),
        "images/{}_0000.nii.gz",
        "labels/{}.nii.gz",
        "liver.1, right kidney.1, spleen.1",
    ),
    Tree(
        "case_folders",
        ("a", "b"),
        "{}/image.nii.gz",
        "{}/label.nii.gz",
        "label_1.1, label_2.1, label_3.1",
        modality="",
    ),
    *(
        Tree(
            "two_folders",
            names,
            f"{folder}/{{}}.nii.gz",
            "labels/{}.nii.gz",
            "label_1.1, label_2.1, label_3.1",
            modality="",
        )
        for folder, names in (("ct", ("a", "b")), ("images/ct", ("c", "d")))
    ),
]
FIRST = {tree.layout: tree for tree in reversed(TREES)}


@pytest.mark.parametrize("tree", TREES, ids=[f"{one.layout}-{one.names[0].split('/')[0]}" for one in TREES])
def test_trees_as_published(tree: Tree, tmp_path: Path, wording: SnapshotAssertion) -> None:
    dataset = tree.made(tmp_path / "set")
    cases = dataset.cases()
    called = tuple((case, dataset.patient(case), time_of(dataset, case)) for case in cases)
    assert called == (tree.called or tuple((name, name, "") for name in tree.names))
    assert ", ".join(found(tmp_path / "set", cases[1])) == tree.targets
    assert dataset.card.modality == tree.modality
    assert dataset.remarks() == wording
    (tmp_path / "set" / "dataset.toml").write_text(f'layout = "{tree.layout}"\n[labels]\n"*" = "mine"\n')
    assert registry.make("datasets", str(tmp_path / "set")).load(cases[0], NO_FILES)[1][0].label == "mine"


@pytest.mark.parametrize(
    ("layout", "places"),
    [
        ("kits", ["data"] * 2),
        ("brats2020", ["HGG", "LGG"]),
        ("lits", ["Batch 1", "Batch 2"]),
        ("flare22", ["a/b"] * 2),
    ],
)
def test_public_data_sets_in_folders_of_their_archives(layout: str, places: list[str], tmp_path: Path) -> None:
    """The cases of all of these folders, each a patient; their names are those of the cases alone."""
    tree = FIRST[layout]
    for name, place in zip(tree.names, places, strict=True):
        replace(tree, names=(name, name)).made(tmp_path / place)
    dataset = registry.make("datasets", str(tmp_path))
    assert [(case, dataset.patient(case)) for case in dataset.cases()] == [(name, name) for name in tree.names]
    assert ", ".join(found(tmp_path, tree.names[1])) == tree.targets
    assert dataset.card.modality == tree.modality


def test_of_a_large_folder_only_what_its_names_say_is_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    FIRST["kits"].made(tmp_path)
    looked_for = []
    monkeypatch.setattr(Published, "layout", lambda self, *_: looked_for.append(self.kind))
    assert Folder(tmp_path).layout.kind == "a folder for each case"
    assert looked_for == ["KiTS", "KiTS21"]


def test_every_public_data_set_is_tested() -> None:
    assert PUBLISHED.keys() <= {tree.layout for tree in TREES}
    assert {layout for layout, one in PUBLISHED.items() if len({*map(len, (one.image, one.channels))}) > 1} == set()


def test_channels_of_public_data_sets(tmp_path: Path) -> None:
    for tree, number, modality in ((FIRST["brats2020"], 2, "T1ce"), (FIRST["autopet"], 1, "PET")):
        tree.made(tmp_path / tree.layout)
        dataset = registry.make("datasets", f"{tmp_path / tree.layout}:channel={number}")
        volume, _ = dataset.load(dataset.cases()[0], NO_FILES)
        assert np.array_equal(volume.grid.from_canonical(volume.array), image(number))
        assert dataset.card.modality == modality


def test_what_does_not_belong_to_a_public_data_set(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root = tmp_path / "kits"
    FIRST["kits"].made(root)
    (root / "case_00000" / "segmentation.nii.gz").unlink()
    save(root / "mine" / "imaging.nii.gz", image())
    dataset = registry.make("datasets", str(root))
    assert dataset.cases() == ("case_00000", "case_00001")
    assert dataset.remarks() == wording
    with pytest.raises(IntraBenchError) as caught:
        dataset.load("case_00000", NO_FILES)
    assert caught == wording
    shutil.copy(root / "case_00001" / "segmentation.nii.gz", root / "mine")
    with pytest.raises(IntraBenchError) as caught:
        registry.make("datasets", str(root))
    assert caught == wording


@pytest.mark.parametrize("name", ["Segmentation.nrrd", "Segmentation-label.nrrd", "Segmentation_1.nii.gz"])
def test_slicer_calls_labels_segmentation(name: str, tmp_path: Path) -> None:
    """In a folder with one image, or in one of the folders of cases."""
    import SimpleITK as sitk

    for folder, seed in ((tmp_path / "case", 0), (tmp_path / "cases" / "a", 1), (tmp_path / "cases" / "b", 2)):
        for file, array in (("2 CT Chest.nrrd", image(seed)), (name, labels())):
            save(folder / "x.nii.gz", array)
            sitk.WriteImage(sitk.ReadImage(folder / "x.nii.gz"), folder / file)
            (folder / "x.nii.gz").unlink()
        (folder / f"{Path(name).stem.removesuffix('.nii')}_ColorTable.ctbl").write_text("1 bone 0 0 0 255\n")
    for root, cases in ((tmp_path / "case", ("2 CT Chest",)), (tmp_path / "cases", ("a", "b"))):
        assert registry.make("datasets", str(root)).cases() == cases
        assert list(found(root, cases[-1])) == ["bone.1", "label_2.1", "label_5.1"]
    (tmp_path / "case" / name).rename(tmp_path / "case" / f"x_seg{name[name.index('.') :]}")
    assert len(registry.make("datasets", str(tmp_path / "case")).cases()) == 2, "labels of another name"


def test_a_folder_of_a_case_has_one_image_and_one_label(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root = tmp_path / "set"
    FIRST["case_folders"].made(root)
    save(root / "b" / "other.nii.gz", image())
    dataset = registry.make("datasets", str(root))
    assert dataset.cases() == ("a", "b")
    assert list(found(root, "a")) == ["label_1.1", "label_2.1", "label_3.1"]
    with pytest.raises(IntraBenchError) as caught:
        dataset.load("b", NO_FILES)
    assert caught == wording


@pytest.mark.parametrize("layout", ["kits", "case_folders"])
def test_a_folder_that_cannot_be_read_hides_no_other(
    layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    tree = FIRST[layout]
    tree.made(tmp_path / "set")
    closed = tmp_path / "set" / tree.names[0]

    def refuse(path: Path) -> bool:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    def is_file(path: Path, found: Callable[[Path], bool] = Path.is_file) -> bool:
        return refuse(path) if path.parent == closed else found(path)

    for name in ("listdir", "scandir"):  # which one pathlib calls depends on the version of Python
        listed = getattr(os, name)
        monkeypatch.setattr(
            os, name, lambda path, listed=listed: refuse(path) if Path(path) == closed else listed(path)
        )
    monkeypatch.setattr(Path, "is_file", is_file)
    dataset = registry.make("datasets", str(tmp_path / "set"))
    assert dataset.cases() == tree.names
    assert len(dataset.load(dataset.cases()[1], NO_FILES)[1]) == 3
    with pytest.raises(IntraBenchError) as caught:
        dataset.load(dataset.cases()[0], NO_FILES)
    assert caught == wording
