"""Liver metastases: numbered by the source, within the liver and each other, on series that hold more than one scan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pydicom
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.mask import Array
from tests.conftest import Said
from tests.datasets.convert.dicom_files import change, write_seg
from tests.datasets.paper.conftest import Commons, Count
from tests.datasets.paper.miniatures import (
    ORIGIN,
    box,
    check,
    check_file,
    ct_series,
    cut_short,
    hounsfield,
    made,
    noise,
    turned,
)
from tests.server import Server
from tests.wording import sentence_with, without_reasons

COLLECTION = "colorectal_liver_metastases"
SHAPE = (8, 18, 20)
SPACING = (2.5, 0.8, 0.75)
SCAN, OTHER = noise(SHAPE, 0, "uint16"), noise(SHAPE, 1, "uint16")
FIRST, SECOND = box(SHAPE, (1, 4), (4, 8), (5, 9)), box(SHAPE, (3, 6), (6, 10), (8, 12))
TENTH = box(SHAPE, (6, 8), (2, 4), (15, 18))
ORGANS = {
    "Liver": box(SHAPE, (0, 8), (2, 14), (3, 17)),
    "Liver Remnant": box(SHAPE, (0, 8), (2, 14), (10, 17)),
    "Hepatic": box(SHAPE, (2, 5), (7, 8), (3, 16)),
    "Portal": box(SHAPE, (4, 5), (5, 6), (3, 16)),
}
MAPS = ORGANS | {"Tumor_1": FIRST, "Tumor_2": SECOND}
Say = Callable[..., Said]
Put = Callable[..., Path]


@pytest.fixture
def put(commons: Commons) -> Put:
    """``put(files of the CT, segments, images that they were drawn on)`` into the commons; gives the file of labels."""

    def call(images: list[Path], segments: Mapping[str, Array], on: list[Path]) -> Path:
        seg = write_seg(images[0].parent / "seg.dcm", on, segments, SeriesDescription="Segmentation")
        commons.add(COLLECTION, images)
        commons.add(COLLECTION, [seg])
        return seg

    return call


def test_metastases_keep_the_numbers_in_their_names(
    say: Say, put: Put, commons: Commons, count: Count, server: Server, tmp_path: Path
) -> None:
    patient, other, left_out = "CRLM-CT-1001", "CRLM-CT-1012", "CRLM-CT-1183"
    images = ct_series(tmp_path / patient, patient, SCAN, SPACING)
    put(images, MAPS, images)
    images = ct_series(tmp_path / other, other, OTHER, SPACING)
    gap = np.zeros(SHAPE, bool)  # the source left this number empty, and lists another first
    put(images, ORGANS | {"Tumor_10": TENTH, "Tumor_2": gap, "Tumor_1": FIRST}, images)
    images = ct_series(tmp_path / left_out, left_out, SCAN, SPACING)
    put(images, MAPS, images)
    commons.row(
        COLLECTION, "1.2.3", patient=patient, study="1", kind="SEG", analysis="bamf_aimi_annotations", about="AIMI"
    )
    assert commons.pin("colorectal_livermets")["kind"].to_list() == ["CT", "SEG"] * 3
    count("colorectal_livermets", 2, 4)
    assert made("colorectal_livermets").cases() == (patient, other)
    assert made("colorectal_livermets:cohort=all").cases() == (patient, other, left_out)
    said = say("data", "get", "colorectal_livermets")
    assert said.code == 0
    found = {"metastasis.1": turned(FIRST), "metastasis.2": turned(SECOND)}
    assert [np.count_nonzero(mask) for mask in (FIRST, SECOND, FIRST & SECOND, TENTH)] == [48, 48, 2, 12]
    check("colorectal_livermets", patient, hounsfield(SCAN), found, SPACING)
    found = {"metastasis.1": turned(FIRST), "metastasis.10": turned(TENTH)}
    check("colorectal_livermets", other, hounsfield(OTHER), found, SPACING)
    server.paths.clear()
    assert say("data", "get", "colorectal_livermets").code == 0
    assert server.paths == []
    assert say("data", "verify", "colorectal_livermets").code == 0
    said = say("data", "get", "colorectal_livermets:cohort=all", "--cases", left_out)
    assert (said.code, said.out) == (0, f"colorectal_livermets:cohort=all, case {left_out}: 2 targets\n")
    assert say("data", "get", "colorectal_livermets", "--cases", left_out).code == 2


def test_of_two_acquisitions_at_equal_positions_the_labels_name_one(
    say: Say, put: Put, commons: Commons, tmp_path: Path
) -> None:
    patient = "CRLM-CT-1100"
    first = ct_series(tmp_path / "1", patient, OTHER, SPACING, AcquisitionNumber=1, SeriesInstanceUID="1.2.3")
    second = ct_series(tmp_path / "2", patient, SCAN, SPACING, AcquisitionNumber=2, SeriesInstanceUID="1.2.4")
    for path in second:
        change(path, SeriesInstanceUID="1.2.3")
    put([*first, *second], MAPS, second)
    assert commons.pin("colorectal_livermets")["files"].to_list() == [16, 1]
    assert say("data", "get", "colorectal_livermets").code == 0
    found = {"metastasis.1": turned(FIRST), "metastasis.2": turned(SECOND)}
    check("colorectal_livermets", patient, hounsfield(SCAN), found, SPACING)


def test_labels_that_are_flipped_against_their_scan_and_reach_beyond_it(
    say: Say, put: Put, commons: Commons, tmp_path: Path
) -> None:
    patient = "CRLM-CT-1105"
    # rows run to the front; slices to the head still
    back = (ORIGIN[0], ORIGIN[1] + 17 * SPACING[1], ORIGIN[2])
    tags = {"SeriesInstanceUID": "1.2.3.4"}
    up = {"orientation": (1, 0, 0, 0, -1, 0), "step": (0, 0, 2.5), "origin": back}
    images = ct_series(tmp_path / "ct", patient, SCAN[:, ::-1], SPACING, **tags, **up)
    # the same voxels, rows to the back, as the labels have them, and two more slices
    on = ct_series(tmp_path / "seg", patient, np.concatenate([SCAN, SCAN[:2]]), SPACING, **tags)
    long = np.concatenate([TENTH, np.ones((2, 18, 20), bool)])
    beyond = np.concatenate([np.zeros(SHAPE, bool), long[8:]])
    first = np.concatenate([FIRST, FIRST[:2]])
    put(images, {"Liver": long, "Tumor_1": first, "Tumor_2": long, "Tumor_3": beyond}, on)
    commons.pin("colorectal_livermets")
    assert say("data", "get", "colorectal_livermets").code == 0
    found = {"metastasis.1": turned(FIRST), "metastasis.2": turned(TENTH)}
    check("colorectal_livermets", patient, hounsfield(SCAN), found, SPACING)
    # as read, slices follow the normal of the files, downwards here
    stored = SCAN[::-1, ::-1].transpose(2, 1, 0).astype(np.int16) - np.int16(1000)
    affine = np.array([[-0.75, 0, 0, 90.5], [0, 0.8, 0, 110.25 - 13.6], [0, 0, -2.5, -315.5], [0, 0, 0, 1]])
    check_file("colorectal_livermets", patient, stored, affine)


def test_broken_cases_do_not_stop_the_others(
    say: Say, put: Put, commons: Commons, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    for patient in ("CRLM-CT-1001", "CRLM-CT-1002", "CRLM-CT-1003"):
        images = ct_series(tmp_path / patient, patient, SCAN, SPACING, AcquisitionNumber=1)
        on = images
        if patient.endswith("1"):
            cut_short(images[-1])
        if patient.endswith("2"):  # a second acquisition, and labels that name neither
            series = str(pydicom.dcmread(images[0]).SeriesInstanceUID)
            more = ct_series(tmp_path / "more", patient, OTHER, SPACING, AcquisitionNumber=2)
            images += [change(path, SeriesInstanceUID=series) for path in more]
            on = ct_series(tmp_path / "on", patient, SCAN, SPACING)
        put(images, {"Tumor_1": FIRST}, on)
    commons.pin("colorectal_livermets")
    said = say("data", "get", "colorectal_livermets")
    assert "case CRLM-CT-1003: 1 target" in said.out
    assert (said.code, said.out) == (1, wording)
    assert "colorectal_livermets, case CRLM-CT-1001: " in said.err
    assert without_reasons(sentence_with(said.err, "is truncated")) == wording
    assert sentence_with(said.err, "told apart by") == wording
