"""Folders that hold files of several layouts: what counts, and what is said of the rest."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets.convert import dicom_series
from intrabench.datasets.folder.folder import Folder
from intrabench.errors import IntraBenchError
from intrabench.registry import registry
from tests.datasets.convert.dicom_files import write_ct, write_seg
from tests.datasets.folder import test_photos as photos
from tests.datasets.folder.made import NO_FILES, image, labels, nnunet, pair, save
from tests.datasets.folder.test_videos import videos

pytestmark = pytest.mark.usefixtures("data")


def dicom(root: Path, number: int = 1, drawn: bool = True) -> Path:
    """A CT series, with a SEG."""
    images = write_ct(root / f"ct{number}", image().T + 1000, PatientID=f"p{number}", SeriesInstanceUID=f"1.2.{number}")
    if drawn:
        write_seg(root / f"seg{number}.dcm", images, {"Liver": labels().T == 1})
    return root


def beside(root: Path) -> Path:
    """Two NIfTI images beside their labels."""
    for case in "xy":
        save(root / f"{case}.nii.gz", image())
        save(root / f"{case}_seg.nii.gz", labels())
    return root


def one_beside(root: Path) -> Path:
    save(root / "x.nii.gz", image())
    save(root / "x_seg.nii.gz", labels())
    return root


def one_of_nnunet(root: Path) -> Path:
    return nnunet(root, cases=1)


def three_pairs(root: Path) -> Path:
    return pair(pair(pair(root, "c1"), "c2"), "c3")


def case_folder(root: Path) -> Path:
    save(root / "trial" / "image.nii.gz", image())
    save(root / "trial" / "label.nii.gz", labels())
    return root


def photographs(root: Path) -> Path:
    return photos.pair(root, photos.drawn(1), folders=". .")


def npz(root: Path, **arrays: np.ndarray) -> Path:
    root.mkdir(exist_ok=True)
    np.savez(root / "n.npz", **arrays or {"imgs": image().T, "gts": labels().T, "spacing": np.ones(3)})
    return root


def opened(root: Path, **rules: str) -> Folder:
    """The folder, with a ``dataset.toml``."""
    (root / "dataset.toml").write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in rules.items()))
    dataset = registry.make("datasets", str(root))
    assert isinstance(dataset, Folder)
    return dataset


def series_in_images(root: Path) -> Path:
    dicom(root / "images")
    return root


def videos_in_images(root: Path) -> Path:
    return videos(root, "images", "masks")


def pictures_in_images(root: Path) -> Path:
    return photos.pair(root, photos.drawn(1))


def stray_mask(root: Path) -> None:
    (root / "x_seg.nrrd").touch()


def stray_picture(root: Path) -> None:
    photos.mask(root / "x_mask.png", photos.drawn(1))


def empty_labels(root: Path) -> None:
    for folder in ("images", "labels"):
        (root / folder).mkdir(exist_ok=True)


def labels_without_images(root: Path) -> None:
    empty_labels(root)
    for name in ("a", "b"):
        save(root / "labels" / f"{name}.nii.gz", labels())


def features(root: Path) -> None:
    npz(root, weights=np.ones(3))


def series_without_seg(root: Path) -> None:
    dicom(root, drawn=False)


def annotations_without_photograph(root: Path) -> None:
    photos.people(root, "z", segmentations=photos.PEOPLE)


@pytest.mark.parametrize(
    ("made", "stray", "cases"),
    [
        (dicom, stray_mask, ["p1 1.2.1"]),
        (dicom, labels_without_images, ["p1 1.2.1"]),
        (dicom, features, ["p1 1.2.1"]),
        (dicom, annotations_without_photograph, ["p1 1.2.1"]),
        (beside, features, ["x", "y"]),
        (beside, series_without_seg, ["x", "y"]),
        (videos, labels_without_images, ["cars"]),
        (photographs, stray_mask, ["a"]),
        (photographs, stray_picture, ["a"]),
        (npz, stray_mask, ["n"]),
    ],
)
def test_strays_hide_no_case_and_are_named(
    made: Callable[[Path], Path],
    stray: Callable[[Path], Any],
    cases: list[str],
    tmp_path: Path,
    wording: SnapshotAssertion,
) -> None:
    root = made(tmp_path / "set")
    stray(root)
    dataset = opened(root)
    assert list(dataset.cases()) == cases
    assert len(dataset.load(cases[0], NO_FILES)[1]) > 0
    assert dataset.remarks() == wording


@pytest.mark.parametrize(
    ("made", "count"),
    [(dicom, 1), (series_in_images, 1), (nnunet, 2), (videos, 1), (photographs, 1), (npz, 1), (beside, 2)],
)
def test_empty_folders_change_nothing(made: Callable[[Path], Path], count: int, tmp_path: Path) -> None:
    root = made(tmp_path / "set")
    empty_labels(root)
    assert (len(opened(root).cases()), opened(root).remarks()) == (count, ())


@pytest.mark.parametrize(
    ("first", "second", "counts"),
    [
        (dicom, one_beside, {"images_beside_labels": 1, "dicom": 1}),
        (one_of_nnunet, dicom, {"nnunet": 1, "dicom": 1}),
        (nnunet, three_pairs, {"nnunet": 2, "two_folders": 3}),
        (photographs, one_beside, {"images_beside_labels": 1, "photos_beside_masks": 1}),
        (npz, one_beside, {"npz": 1, "images_beside_labels": 1}),
        (videos, photographs, {"videos": 1, "photos_beside_masks": 1}),
        (videos_in_images, pictures_in_images, {"videos": 1, "two_folders": 1}),
    ],
)
def test_two_layouts_with_cases_are_refused_until_one_is_chosen(
    first: Callable[[Path], Path],
    second: Callable[[Path], Path],
    counts: dict[str, int],
    tmp_path: Path,
    wording: SnapshotAssertion,
) -> None:
    root = second(first(tmp_path / "set"))
    with pytest.raises(IntraBenchError) as caught:
        opened(root)
    assert caught == wording
    for name, count in counts.items():
        dataset = opened(root, layout=name)
        assert len(dataset.cases()) == count
        for case in dataset.cases():
            assert len(dataset.load(case, NO_FILES)[1]) > 0
        assert dataset.remarks() == wording


@pytest.mark.parametrize(
    ("several", "one"),
    [(nnunet, case_folder), (nnunet, dicom), (beside, photographs), (beside, npz), (three_pairs, one_of_nnunet)],
)
def test_one_case_beside_several_is_a_stray(
    several: Callable[[Path], Path], one: Callable[[Path], Path], tmp_path: Path, wording: SnapshotAssertion
) -> None:
    alone, root = opened(several(tmp_path / "alone")), one(several(tmp_path / "set"))
    dataset = opened(root)
    assert (dataset.cases(), dataset.layout.kind) == (alone.cases(), alone.layout.kind)
    assert [note for note in dataset.remarks() if note not in alone.remarks()] == wording


def test_one_layout_that_reads_all_files_of_another_is_no_second(tmp_path: Path, wording: SnapshotAssertion) -> None:
    """`dataset.json` may list the files of images/ and labels/."""
    root = pair(tmp_path / "set")
    listed = {"one": {"images": ["images/c1.nii.gz"], "label": "labels/c1.nii.gz"}}
    (root / "dataset.json").write_text(json.dumps({"labels": {"liver": 1}, "dataset": listed}))
    dataset = opened(root)
    assert (dataset.cases(), dataset.remarks()) == (("one",), ())
    pair(root, "c2")
    with pytest.raises(IntraBenchError) as caught:
        opened(root)
    assert caught == wording


def test_a_folder_with_nothing_complete_says_what_is_missing(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root = dicom(tmp_path / "set", drawn=False)
    empty_labels(root)
    with pytest.raises(IntraBenchError) as caught:
        opened(root)
    assert caught == wording
    stray_picture(root)
    dataset = opened(root)
    assert dataset.cases() == ("x",)
    assert dataset.remarks() == wording


def test_a_layout_that_is_chosen_has_to_be_there(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root = beside(nnunet(tmp_path / "set"))
    for name in ("dicom", "dcm", "nnunett"):
        with pytest.raises(IntraBenchError) as caught:
            opened(root, layout=name)
        assert caught == wording
    (root / "dataset.json").write_text("{}")
    with pytest.raises(IntraBenchError, match="repair it"):
        opened(root)
    dataset = opened(root, layout="images_beside_labels")
    assert dataset.cases() == ("x", "y")
    assert dataset.remarks() == wording


def test_folders_read_alike_are_named_if_not_used(tmp_path: Path, wording: SnapshotAssertion) -> None:
    """Of images with labels/ or masks/ those count that fit; of places of videos and annotations the first."""
    root = pair(tmp_path / "pairs")
    (root / "labels").rename(root / "masks")
    save(root / "labels" / "z.nii.gz", labels())
    assert (opened(root).cases(), opened(root).remarks()) == (("c1",), wording)
    root = videos(videos(tmp_path / "videos"), "images", "masks")
    assert opened(root).remarks() == wording
    root = tmp_path / "people"
    photos.photo(root / "a.jpg")
    for folder in ("annotations", "groundTruth"):
        photos.people(root / folder, "a", segmentations=photos.PEOPLE)
    assert opened(root).remarks() == wording


def test_headers_are_read_only_if_there_is_a_dicom_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = list[Path]()

    def counted(files: list[Path]) -> tuple[list[Any], dict[Path, str]]:
        read.extend(files)
        return [], {}

    monkeypatch.setattr(dicom_series, "_read_headers", counted)
    root = pair(nnunet(tmp_path / "set", cases=0))
    (root / ".cache").mkdir()
    (root / ".cache" / "IM0001").write_bytes(bytes(128) + b"DICM")
    (root / "IM0002.png").write_bytes(bytes(128) + b"DICM")
    opened(root)
    assert not read
    (root / "IM0001").write_bytes(bytes(128) + b"DICM")
    opened(root)
    assert root / "IM0001" in read


def test_beside_dicom_files_of_unknown_kind_are_named_too(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root = dicom(nnunet(tmp_path / "set"))
    for name in ("features.h5", "more/features.h5", "broken.dcm"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(b"of some program")
    assert opened(root).remarks() == wording
