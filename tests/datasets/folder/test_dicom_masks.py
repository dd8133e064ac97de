"""Folders of DICOM images with masks of other formats, each a case; and what is said of those that are none."""

from __future__ import annotations

from pathlib import Path

import nibabel as nib
import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.registry import registry
from tests.datasets.convert.dicom_files import uid, write_ct, write_seg
from tests.datasets.folder.made import NO_FILES, found, image, labels, pair, same, save

pytestmark = pytest.mark.usefixtures("data")

AFFINE = np.diag([-1.0, -1.0, 2.0, 1.0])
"""Of the series."""
LIVER, TUMOUR = (np.equal(labels(), value).astype(np.uint8) for value in (1, 2))


def series(folder: Path, patient: str = "") -> list[Path]:
    """A CT in a folder."""
    return write_ct(folder, (image().T + 1000).astype(np.uint16), PatientID=patient)


def test_masks_beside_a_series_and_above_it_are_structures(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root = tmp_path / "study"
    series(root / "P01" / "dicom" / "thin", "Anna")
    save(root / "P01" / "P01_liver.nii.gz", LIVER, AFFINE)
    turned = nib.as_closest_canonical(nib.Nifti1Image(TUMOUR, AFFINE))  # as other programs convert the series
    nib.save(turned, root / "P01" / "tumour.nii.gz")
    series(root / "P02")
    save(root / "P02" / "liver.nii.gz", LIVER, AFFINE)
    write_ct(root / "P02" / "scout", LIVER.T.astype(np.uint16), ImageType=["ORIGINAL", "PRIMARY", "LOCALIZER"])
    series(root / "P03")
    save(root / "P04" / "liver.nii.gz", LIVER, AFFINE)
    (root / "P04" / "1.dcm").write_bytes(series(root / "P03")[0].read_bytes()[:300])
    dataset = registry.make("datasets", str(root))
    assert (dataset.cases(), dataset.version, dataset.card.modality) == (("P01", "P02"), "6", "CT")
    assert [dataset.patient(case) for case in dataset.cases()] == ["Anna", "P02"]
    assert dataset.card.caveats == wording
    assert dataset.promised() == ("liver", "tumour")
    assert same(found(root, "P01", AFFINE), {"liver.1": LIVER, "tumour.1": TUMOUR})
    assert same(found(root, "P02", AFFINE), {"liver.1": LIVER})
    volume, _ = dataset.load("P01", NO_FILES)
    assert np.array_equal(volume.grid.from_canonical(volume.array), image())


def test_one_mask_is_a_label_map(tmp_path: Path) -> None:
    root = tmp_path / "P01"
    series(root)
    save(root / "mask.nii.gz", labels(), AFFINE)
    assert registry.make("datasets", str(root)).cases() == ("P01",)
    expected = {f"label_{value}.1": np.equal(labels(), value) for value in (1, 2, 5)}
    assert same(found(root, "P01", AFFINE), expected)


def test_masks_that_are_of_no_series(tmp_path: Path, wording: SnapshotAssertion) -> None:
    """On another grid, or beside two series; a SEG counts before them."""
    root = tmp_path / "study"
    series(root / "P01")
    save(root / "P01" / "liver.nii.gz", LIVER)
    for number in (1, 2):
        series(root / "P02" / str(number))
    save(root / "P02" / "liver.nii.gz", LIVER, AFFINE)
    dataset = registry.make("datasets", str(root))
    for case in ("P01", "P02"):
        with pytest.raises(IntraBenchError) as caught:
            dataset.load(case, NO_FILES)
        assert caught == wording
    images = write_ct(root / "P03", (image().T + 1000).astype(np.uint16), FrameOfReferenceUID=uid("another"))
    write_seg(root / "P03" / "seg.dcm", images, {"Liver": LIVER.T})
    save(root / "P03" / "liver.nii.gz", LIVER, AFFINE)
    with pytest.raises(IntraBenchError) as caught:
        registry.make("datasets", str(root))
    assert caught == wording
    (root / "P01" / "liver.nii.gz").unlink()
    dataset = registry.make("datasets", str(root))
    assert len(dataset.cases()) == 1
    assert dataset.card.caveats == wording


def test_masks_with_a_slice_for_each_of_an_uneven_series(tmp_path: Path, wording: SnapshotAssertion) -> None:
    """As programs write them that take the steps for equal: the slices count, not where such a file has them."""
    root = tmp_path / "P01"
    paths = series(root)
    paths[6].unlink()
    there = np.delete(np.arange(len(paths)), 6)
    drawn = LIVER | np.roll(LIVER, 4, axis=2)  # slices 1 to 8
    save(root / "mask.nii.gz", drawn[:, :, there], np.diag([-1, -1, 2 * 9 / 8, 1]))
    (root / "dataset.toml").write_text('gaps = "longest"')
    assert same(found(root, "P01", AFFINE), {"label_1.1": drawn[:, :, :6]})
    volume, _ = registry.make("datasets", str(root)).load("P01", NO_FILES)
    assert volume.notes[1:2] == wording
    (root / "dataset.toml").write_text('gaps = "resample"\nresample = true')
    assert same(found(root, "P01", AFFINE), {"label_1.1": drawn})  # the slice between has that of a neighbour


def test_scans_beside_their_series_are_no_masks(tmp_path: Path, wording: SnapshotAssertion) -> None:
    """As converters write them: with masks of their own, or alone, and as Slicer calls both."""
    root = tmp_path / "study"
    series(root / "P01" / "dicom")
    save(root / "P01" / "2 CT.nii.gz", image(), AFFINE)
    save(root / "P01" / "Segmentation.nii.gz", labels(), AFFINE)
    dataset = registry.make("datasets", str(root))
    assert (dataset.cases(), dataset.layout.kind) == (("P01",), "a folder for each case")
    (root / "P01" / "Segmentation.nii.gz").rename(root / "P01" / "liver.nii.gz")
    with pytest.raises(IntraBenchError) as caught:
        registry.make("datasets", str(root))
    assert caught == wording
    (root / "P01" / "liver.nii.gz").unlink()
    (root / "P01" / "2 CT.nii.gz").rename(root / "P01" / "export.nii.gz")
    with pytest.raises(IntraBenchError) as caught:
        registry.make("datasets", str(root)).load("P01", NO_FILES)
    assert caught == wording


def test_a_folder_of_other_scans_is_none(tmp_path: Path) -> None:
    """Although there is one series somewhere below."""
    root = pair(tmp_path / "lab")
    series(root / "raw" / "P01")
    dataset = registry.make("datasets", str(root))
    assert dataset.cases() == ("c1",)
    (told,) = dataset.card.caveats
    assert "1 DICOM image series" in told
