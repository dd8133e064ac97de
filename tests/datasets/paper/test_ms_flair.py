"""Lesions in FLAIR scans: two orders of axes, the table that corrects their spacing, what archives have around them."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import openpyxl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets import ms_flair
from intrabench.mask import Array
from tests.conftest import Said
from tests.datasets.paper.conftest import Publish
from tests.datasets.paper.miniatures import box, check, check_file, laid_out, nifti, noise, packed
from tests.server import Server
from tests.wording import line_with, sentence_with

FOLDER = (
    "Brain MRI Dataset of Multiple Sclerosis with Consensus Manual Lesion Segmentation and Patient Meta Information/"
)
SHAPE = (7, 20, 18)
HEADER = (1.0, 0.5, 0.5)  # the z spacing is wrong in every file
Say = Callable[..., Said]


def table(spacing: Mapping[int, object]) -> bytes:
    """The publishers' table of sequences: two rows of headings, the first over several columns each."""
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    parameters = ["Repetition Time", "Slice Thickness", "Spacing Between Slices", "Number of Slices"]
    sheet.append([None, None, "T1", None, None, None, "T2", None, None, None, "FLAIR", None, None, None, "Notes"])
    sheet.append(["ID", "Center ", *parameters, *parameters, *parameters, None])
    for number, value in spacing.items():
        sheet.append([number, "A", 500, 5, 11.5, 20, 4000, 5, 12.5, 21, 8000, 5, value, 22, f"no {number}"])
    for cells in ("C1:F1", "G1:J1", "K1:N1"):
        sheet.merge_cells(cells)
    book.create_sheet("Sheet2").append(["ID"])
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def lesions() -> Array:
    """Two lesions, the smaller of which is two pieces that meet at a corner."""
    inside = box(SHAPE, (3, 5), (4, 8), (2, 6))
    inside[1, 10:12, 10] = True
    inside[2, 12, 11] = True
    return inside


def patient(number: int, image: Array, mask: Array, codes: str) -> dict[str, bytes]:
    folder = f"Patient-{number}"
    stored, affine = laid_out(image, codes, HEADER)
    drawn, _ = laid_out(mask.astype(np.uint8), codes, HEADER)
    other, elsewhere = laid_out(noise((3, 4, 5)), "LPS", HEADER)
    members = {f"{folder}/{number}-Flair.nii": nifti(stored, affine, packed=False)}
    members[f"{folder}/{number}-LesionSeg-Flair.nii"] = nifti(drawn, affine, packed=False)
    for name in ("T1", "T2", "LesionSeg-T1", "LesionSeg-T2"):
        members[f"{folder}/{number}-{name}.nii"] = nifti(other, elsewhere, packed=False)
    return members


def archive(members: Mapping[str, bytes], spacing: Mapping[int, object], folder: str = "") -> bytes:
    return packed(
        {
            **{folder + name: body for name, body in members.items()},
            folder + ms_flair.SEQUENCES: table(spacing),
            folder + "Supplementary Table 1 for patient info .xlsx": b"not to be opened",
        }
    )


@pytest.mark.parametrize("folder", ["", FOLDER])
def test_scans_get_the_spacing_of_the_table_and_each_lesion_is_a_target(
    say: Say, publish: Publish, server: Server, data: Path, folder: str, wording: SnapshotAssertion
) -> None:
    axial, sagittal = noise(SHAPE), noise(SHAPE, 1, "uint16")
    members = {**patient(1, axial, lesions(), "LPS"), **patient(11, sagittal, lesions()[::-1], "PSR")}
    body = archive(members, {1: 6.5, 2: 7, 11: 3.0}, folder)
    publish(ms_flair, "ARCHIVE", body)
    said = say("data", "get", "ms_flair", "--cases", "1", "--cases", "11")
    assert said.code == 0
    assert "case 11: 2 targets" in said.out
    assert "case 1: 2 targets" in said.out
    assert sorted(said.out.splitlines()) == wording
    large, small = box(SHAPE, (3, 5), (4, 8), (2, 6)), lesions()
    small[3:5, 4:8, 2:6] = False
    assert (np.count_nonzero(large), np.count_nonzero(small)) == (32, 3)
    check("ms_flair", "1", axial, {"lesion.1": large, "lesion.2": small}, (6.5, 0.5, 0.5))
    # the third axis of the file runs to the right: that is where its slices lie
    check("ms_flair", "11", sagittal, {"lesion.1": large[::-1], "lesion.2": small[::-1]}, (1.0, 0.5, 3.0))
    check_file(
        "ms_flair",
        "1",
        axial[:, ::-1, ::-1].transpose(2, 1, 0),
        np.array([[-0.5, 0, 0, 7], [0, -0.5, 0, -11], [0, 0, 6.5, 13], [0, 0, 0, 1]]),
    )
    check_file(
        "ms_flair",
        "11",
        sagittal.transpose(1, 0, 2)[::-1],
        np.array([[0, 0, 3, 7], [-0.5, 0, 0, -11], [0, 1, 0, 13], [0, 0, 0, 1]]),
    )
    assert {path.name for path in (data / "downloads").iterdir()} >= {"ms_flair.zip", "ms_flair.zip.json"}
    assert (data / "downloads" / "ms_flair.zip").read_bytes() == body
    assert {path.name for path in (data / "cases" / "ms_flair-1").iterdir() if path.is_dir()} == {"1", "11"}
    server.paths.clear()
    assert say("data", "get", "ms_flair", "--cases", "11").code == 0
    assert server.paths == []
    said = say("data", "verify", "ms_flair")
    assert (said.code, said.out) == (0, wording)


def test_files_of_a_mac_beside_the_scans_are_no_scans(say: Say, publish: Publish) -> None:
    members = patient(3, noise(SHAPE), lesions(), "LAS")
    for name in list(members):
        members[f"__MACOSX/{name}"] = b"no scan"
        members[f"__MACOSX/{name.replace('/', '/._')}"] = b"no scan"
    publish(ms_flair, "ARCHIVE", archive(members, {3: "5"}))
    assert say("data", "get", "ms_flair", "--cases", "3").code == 0


@pytest.mark.parametrize(
    "spacing",
    [
        {1: 6.5},
        {2: "unknown"},
        {2: None},
    ],
    ids=str,
)
def test_without_a_spacing_in_the_table_a_case_is_refused(
    say: Say, publish: Publish, spacing: Mapping[int, object], wording: SnapshotAssertion
) -> None:
    publish(ms_flair, "ARCHIVE", archive(patient(2, noise(SHAPE), lesions(), "LPS"), spacing))
    said = say("data", "get", "ms_flair", "--cases", "2")
    assert said.code == 1
    assert said.err == wording


def test_a_broken_patient_does_not_stop_the_others(say: Say, publish: Publish, wording: SnapshotAssertion) -> None:
    members = {**patient(4, noise(SHAPE), lesions(), "LPS"), **patient(5, noise(SHAPE, 1), lesions(), "LPS")}
    other, affine = laid_out(lesions()[1:].astype(np.uint8), "LPS", HEADER)
    members |= patient(6, noise(SHAPE), lesions(), "LPS")
    members["Patient-6/6-LesionSeg-Flair.nii"] = nifti(other, affine, packed=False)
    members["Patient-4/4-Flair.nii"] = members["Patient-4/4-Flair.nii"][:600]
    publish(ms_flair, "ARCHIVE", archive(members, {4: 6, 5: 6, 6: 6}))
    said = say("data", "get", "ms_flair", "--cases", "[4-7]")
    assert said.code == 1
    assert "case 5: 2 targets" in said.out
    assert said.out == wording
    assert sentence_with(said.err, "header announces") == wording
    assert line_with(said.err, "has shape") == wording
    assert line_with(said.err, "expected one") == wording
