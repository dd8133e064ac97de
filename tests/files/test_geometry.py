"""What headers say about their grid twice, in other units or not at all is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.files.geometry import geometry_notes
from intrabench.volume import read_image

ARRAY = np.random.default_rng(0).integers(0, 99, (4, 5, 6)).astype(np.int16)
AFFINE = np.diag([-1.0, -1.0, 2.5, 1.0])


def moved(*shift: float) -> np.ndarray:
    affine = AFFINE.copy()
    affine[:3, 3] += shift
    return affine


def turned() -> np.ndarray:
    """By 90 degrees about z."""
    return np.array([[0, -1, 0, 0], [1, 0, 0, 0], [0, 0, 2.5, 0], [0, 0, 0, 1]], dtype=float)


NIFTI: dict[str, Callable[[nib.Nifti1Image], object]] = {
    "equal": lambda scan: scan.set_qform(AFFINE, 1),
    "nearly equal": lambda scan: scan.set_qform(moved(0, 0, 0.09), 1),
    "moved": lambda scan: scan.set_qform(moved(3, 0, 4), 1),
    "turned": lambda scan: scan.set_qform(turned(), 1),
    "other voxels": lambda scan: scan.set_qform(np.diag([2.0, 2, 2, 1]), 1),
    "damaged": lambda scan: (scan.set_qform(AFFINE, 1), scan.header.__setitem__("quatern_b", 3)),
    "micrometres": lambda scan: scan.header.set_xyzt_units("micron"),
    "millimetres": lambda scan: scan.header.set_xyzt_units("mm"),
    "no orientation": lambda scan: scan.header.__setitem__("sform_code", 0),
}


@pytest.mark.parametrize("kind", NIFTI)
@pytest.mark.parametrize("ending", ["nii.gz", "hdr"])
def test_nifti(tmp_path: Path, kind: str, ending: str, wording: SnapshotAssertion) -> None:
    scan = (nib.Nifti1Pair if ending == "hdr" else nib.Nifti1Image)(ARRAY, AFFINE)
    NIFTI[kind](scan)
    # nibabel would write an affine of its own that differs from the header's
    scan._affine = None if kind == "no orientation" else scan._affine
    path = tmp_path / f"a.{ending}"
    nib.save(scan, path)
    notes = read_image(path).notes
    assert notes == wording
    assert bool(notes) == (kind not in ("equal", "nearly equal", "millimetres"))


def test_a_qform_of_few_digits_is_not_noted(tmp_path: Path) -> None:
    """Near half a turn, numbers of 4 bytes move the far end of a large scan by a fifth of a voxel."""
    angle = np.pi - 1e-4
    affine = np.diag([0.7, 0.7, 1, 1])
    affine[:2, :2] = 0.7 * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    scan = nib.Nifti1Image(np.random.default_rng(0).integers(0, 9, (2, 2000, 2)).astype(np.uint8), affine)
    scan.set_sform(affine, 1)
    scan.set_qform(affine, 1)
    off = np.abs(np.linalg.inv(affine) @ scan.get_qform() @ [1, 1999, 1, 1] - [1, 1999, 1, 1]).max()
    assert 0.1 < off < 1
    nib.save(scan, tmp_path / "a.nii")
    assert geometry_notes(tmp_path / "a.nii") == ()


def test_analyze_states_no_orientation(tmp_path: Path, wording: SnapshotAssertion) -> None:
    nib.save(nib.AnalyzeImage(ARRAY, None), tmp_path / "a.hdr")
    assert read_image(tmp_path / "a.hdr").notes == wording


NRRD = "NRRD0004\ntype: short\ndimension: 3\nsizes: 4 5 6\nencoding: raw\nendian: little\n"
HEADERS = {
    "a.nrrd": f"{NRRD}\n",
    "spacings.nrrd": f"{NRRD}spacings: 1 2 3\n\n",
    "units.nrrd": f"{NRRD}space: right-anterior-superior\nspace directions: (1,0,0) (0,2,0) (0,0,3)\n"
    'space units: "um" "um" "um"\n\n',
    "a.mha": "ObjectType = Image\nNDims = 3\nDimSize = 4 5 6\nElementType = MET_SHORT\nElementDataFile = LOCAL\n",
}


@pytest.mark.parametrize("name", HEADERS)
def test_nrrd_and_metaimage(tmp_path: Path, name: str, wording: SnapshotAssertion) -> None:
    (tmp_path / name).write_bytes(HEADERS[name].encode() + ARRAY.tobytes(order="F"))
    assert read_image(tmp_path / name).notes == wording


@pytest.mark.parametrize("name", ["a.nrrd", "a.mha", "a.mhd", "a.nhdr"])
def test_what_is_stated_is_not_noted(tmp_path: Path, name: str) -> None:
    import SimpleITK as sitk

    sitk.WriteImage(sitk.GetImageFromArray(ARRAY), tmp_path / name)
    assert geometry_notes(tmp_path / name) == ()
    assert geometry_notes(tmp_path / "a.png") == ()
