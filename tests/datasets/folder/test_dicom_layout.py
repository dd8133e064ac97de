"""Folders of DICOM series, down to the voxels and labels of the store; and what is said of files that do not fit."""

from __future__ import annotations

import errno
import io
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets.cases import store
from intrabench.errors import IntraBenchError
from intrabench.registry import registry
from tests.datasets.convert.dicom_files import change, uid, write_ct, write_rtstruct, write_seg
from tests.datasets.folder.made import NO_FILES, SHAPE, found, image, labels, load, same
from tests.wording import without_reasons

pytestmark = pytest.mark.usefixtures("data")

DRAWN = labels()


def dicom_folder(root: Path) -> Path:
    """Two patients: the first with two series and all kinds of drawings, the second with one series and one drawing."""
    scan = (image().T + 1000).astype(np.uint16)
    thin = write_ct(root / "p1" / "thin", scan, PatientID="p1", SeriesDescription="thin")
    thick = write_ct(root / "p1" / "thick", scan[::2], PatientID="p1", SeriesDescription="thick", spacing=(5, 1, 1))
    other = write_ct(root / "p2", scan[::-1], PatientID="p2", FrameOfReferenceUID=uid("other"))
    write_ct(root / "p3", scan, PatientID="p3", FrameOfReferenceUID=uid("nothing drawn"))
    drawn = DRAWN.T
    write_seg(root / "p1" / "seg.dcm", thin, {"Liver": drawn == 1, "Tumour": drawn == 2})
    corners = np.array([[4.5, 4.5], [4.5, 9.5], [8.5, 9.5], [8.5, 4.5]])
    contours = [np.column_stack([corners, np.full(4, 2.0 * z)]) for z in (2, 3)]
    write_rtstruct(root / "p1" / "rt.dcm", thin, {"GTV": contours})
    write_seg(root / "p1" / "thick.dcm", thick, {"Liver": (drawn == 1)[::2]})
    write_seg(root / "p2" / "seg.dcm", other, {"Liver": (drawn == 1)[::-1]})
    return root


def test_dicom(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root = dicom_folder(tmp_path / "study")
    dataset = registry.make("datasets", str(root))
    assert dataset.cases() == ("p1 thick", "p1 thin", "p2")
    assert [dataset.patient(case) for case in dataset.cases()] == ["p1", "p1", "p2"]
    assert dataset.card.modality == "CT"
    assert dataset.card.caveats == wording
    affine = np.diag([-1.0, -1.0, 2.0, 1.0])
    inside = np.zeros(SHAPE, dtype=bool)
    inside[5:9, 5:10, 2:4] = True
    targets = found(root, "p1 thin", affine)
    assert {key: targets[key].sum() for key in targets} == {"GTV.1": 40, "Liver.1": 144, "Tumour.1": 49}
    assert np.array_equal(targets["Liver.1"], DRAWN == 1)
    assert np.array_equal(targets["Tumour.1"], DRAWN == 2)
    assert np.array_equal(targets["GTV.1"], inside)
    affine[2, 2] = 5
    assert same(found(root, "p1 thick", affine), {"Liver.1": (DRAWN == 1)[:, :, ::2]})
    scan = store.open_case(dataset, "p1 thin").volume
    assert np.array_equal(scan.grid.from_canonical(scan.array), image())


def test_the_acquisition_that_is_left_out_is_told(tmp_path: Path, wording: SnapshotAssertion) -> None:
    scan = (image().T + 1000).astype(np.uint16)
    first, second = (
        write_ct(
            tmp_path / "ct" / str(number), scan + number, SeriesInstanceUID=f"1.2.{number}", AcquisitionNumber=number
        )
        for number in (1, 2)
    )
    for path in (*first, *second):
        change(path, SeriesInstanceUID="1.2.9")
    write_seg(tmp_path / "ct" / "seg.dcm", second, {"Liver": (DRAWN == 1).T})
    volume, (liver,) = registry.make("datasets", str(tmp_path / "ct")).load("patient", NO_FILES)
    assert volume.notes == wording
    assert np.array_equal(volume.grid.from_canonical(volume.array), image() + 2)
    assert liver.mask.voxels == 144


def test_series_of_several_modalities_keep_their_own(tmp_path: Path) -> None:
    root = dicom_folder(tmp_path / "study")
    for path in (root / "p2").iterdir():
        tags = pydicom.dcmread(path)
        if tags.Modality == "CT":
            tags.Modality = "MR"
            tags.save_as(path)
    dataset = registry.make("datasets", str(root))
    assert dataset.card.modality == ""
    for case, modality in (("p1 thin", "CT"), ("p2", "MR")):
        store.prepare(dataset, case)
        assert store.open_case(dataset, case).volume.modality == modality


def test_a_slice_that_is_truncated_is_told_of_its_case_alone(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root = dicom_folder(tmp_path / "study")
    path = min(path for path in (root / "p2").iterdir() if path.name != "seg.dcm")
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(IntraBenchError) as caught:
        load(root, "p2")
    assert caught == wording
    assert list(found(root, "p1 thick", np.diag([-1.0, -1.0, 5.0, 1.0]))) == ["Liver.1"]


def test_a_file_that_may_not_be_read_is_named_and_the_others_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    root = dicom_folder(tmp_path / "study")
    opened = io.open

    def refusing(file: Any, *args: Any, **options: Any) -> Any:
        if str(file).endswith("secret"):
            raise PermissionError(errno.EACCES, "Permission denied", str(file))
        return opened(file, *args, **options)

    (root / "p1" / "0secret").write_bytes(b"")
    (tmp_path / "alone").mkdir()
    (tmp_path / "alone" / "secret").write_bytes(b"")
    monkeypatch.setattr("io.open", refusing)
    monkeypatch.setattr("builtins.open", refusing)
    dataset = registry.make("datasets", str(root))
    assert dataset.cases() == ("p1 thick", "p1 thin", "p2")
    (told,) = [note for note in dataset.card.caveats if "secret" in note]
    assert "0secret cannot be read" in told
    assert told.endswith("it is left out")
    with pytest.raises(IntraBenchError) as caught:
        registry.make("datasets", str(tmp_path / "alone"))
    assert without_reasons(str(caught.value)) == wording


def test_dicom_without_drawings_or_of_other_patients(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root = dicom_folder(tmp_path / "study")
    (root / "p2" / "seg.dcm").unlink()
    only = tmp_path / "only"
    (root / "p2").rename(only)
    with pytest.raises(IntraBenchError) as caught:
        registry.make("datasets", str(only))
    assert caught == wording
    (root / "p1" / "seg.dcm").rename(only / "seg.dcm")
    with pytest.raises(IntraBenchError) as caught:
        registry.make("datasets", str(only))
    assert caught == wording


def test_dicom_without_descriptions_or_ids(tmp_path: Path) -> None:
    root, scan = tmp_path / "anonymous", (image().T + 1000).astype(np.uint16)
    for number, patient in enumerate(("x", "x", "")):
        series = write_ct(root / str(number), scan, PatientID=patient, SeriesInstanceUID=f"1.2.3456789012345{number}")
        write_seg(root / f"seg{number}", series, {"Liver": DRAWN.T == 1})
    dataset = registry.make("datasets", str(root))
    assert dataset.cases() == ("567890123452", "x 1", "x 2")
    assert [dataset.patient(case) for case in dataset.cases()] == ["567890123452", "x", "x"]
