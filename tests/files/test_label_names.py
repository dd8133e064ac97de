"""What values are called: tables in headers of NIfTI, of 3D Slicer and of ITK-SNAP."""

from __future__ import annotations

from pathlib import Path

import nibabel as nib
import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.files.label_names import label_names, table_beside

ZEROS, IDENTITY = np.zeros((2, 2, 2), np.uint8), np.eye(4)
SLICER = "# Color table file /tmp/x.ctbl\n# 4 values\n0 Background 0 0 0 0\n1 artery 216 101 79 255\n"
ROW = "1 10 20 30 40 50\n"
SNAP = (
    '# IDX R G B A VIS MSH LABEL\n0 0 0 0 0 0 0 "Clear Label"\n2 255 0 0 1 1 1 "left lung"\n 4 0 255 0 0.5 1 0 "rib"\n'
)


def entry(value: int, name: str) -> str:
    return f'<Label Key="{value}" Red="1.0" Green="0.0" Blue="0.0" Alpha="1"><![CDATA[{name}]]></Label>\n'


def labelled(
    path: Path,
    text: str,
    kind: type[nib.Nifti1Image] = nib.Nifti1Image,
    code: int = 0,
    array: np.ndarray = ZEROS,
    affine: np.ndarray = IDENTITY,
) -> Path:
    """A NIfTI file with a table of labels in its header, as TotalSegmentator writes it."""
    stored = kind(array, affine)
    pre, post = '<?xml version="1.0"?> <CaretExtension> <VolumeInformation Index="0"> <LabelTable>', "</LabelTable>"
    content = f"{pre}\n{text}{post}</VolumeInformation></CaretExtension>\n   "
    stored.header.extensions.append(nib.nifti1.Nifti1Extension(code, content.encode()))
    nib.save(stored, path)
    return path


@pytest.mark.parametrize("kind", [nib.Nifti1Image, nib.Nifti2Image])
@pytest.mark.parametrize(("ending", "code"), [(".nii.gz", 0), (".nii", 30)])
def test_a_table_in_the_header(tmp_path: Path, kind: type[nib.Nifti1Image], ending: str, code: int) -> None:
    text = entry(0, "???") + entry(1, "spleen") + entry(117, "costal_cartilages") + '<Label Key="5">a &amp; b</Label>'
    path = labelled(tmp_path / f"x{ending}", text, kind, code)
    assert label_names(path) == {1: "spleen", 117: "costal_cartilages", 5: "a & b"}


@pytest.mark.parametrize(
    ("beside", "text", "names"),
    [
        ("x-label_ColorTable.ctbl", SLICER, {1: "artery"}),
        ("x_ColorTable.txt", SLICER + "3 (none) 0 0 0 0\n", {1: "artery"}),
        ("x.csv", "LabelValue,Name,Color_R\n3,left kidney,1\n5,,2\n", {3: "left kidney"}),
        ("x-label.txt", SNAP, {2: "left lung", 4: "rib"}),
        ("x.txt", "read me\n", {}),
        ("x.txt", ROW, {}),
        ("y.txt", SNAP, {}),
    ],
)
def test_a_table_beside(tmp_path: Path, beside: str, text: str, names: dict[int, str]) -> None:
    (tmp_path / beside).write_text(text)
    path = tmp_path / "x-label.nrrd"
    assert (label_names(path), table_beside(path)) == (names, tmp_path / beside if names else None)


def test_a_value_has_one_name(tmp_path: Path, wording: SnapshotAssertion) -> None:
    path = labelled(tmp_path / "x.nii.gz", entry(1, "liver") + entry(1, "spleen"))
    with pytest.raises(IntraBenchError) as caught:
        label_names(path)
    assert caught == wording


def test_a_plain_header_says_nothing(tmp_path: Path) -> None:
    nib.save(nib.Nifti1Image(np.zeros((2, 2, 2), np.uint8), np.eye(4)), tmp_path / "x.nii.gz")
    assert label_names(tmp_path / "x.nii.gz") == {}


@pytest.mark.parametrize("part", ["<Label ", '<Label Key="1"><![CDATA[', "<Label Key=", '<Label Key="1">'])
def test_no_text_takes_long(part: str, tmp_path: Path) -> None:
    """Of a header or a table beside, of which there is a megabyte."""
    many = part * ((1 << 20) // len(part))
    assert label_names(labelled(tmp_path / "x.nii.gz", many)) == {}
    (tmp_path / "y.txt").write_text(f"1 {many.replace(' ', '_')}\n")
    assert label_names(tmp_path / "y.nrrd") == {}
