"""Adrenal tumours: the right one of several scans, labels on grids of their own, pieces that belong together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pydicom
import pytest
from syrupy.assertion import SnapshotAssertion

from tests.conftest import Said
from tests.datasets.convert.dicom_files import uid, write_seg
from tests.datasets.paper.conftest import Commons, Count
from tests.datasets.paper.miniatures import (
    ORIGIN,
    box,
    check,
    ct_series,
    cut_short,
    hounsfield,
    made,
    noise,
    turned,
)
from tests.server import Server
from tests.wording import line_with, sentence_with, without_reasons

COLLECTION = "adrenal_acc_ki67_seg"
SHAPE = (12, 22, 24)
SPACING = (3.0, 1.5, 1.5)
LEFT, RIGHT = box(SHAPE, (2, 6), (4, 8), (4, 7)), box(SHAPE, (2, 5), (4, 7), (9, 13))  # two voxels between them
APART = box(SHAPE, (2, 6), (4, 9), (16, 18))  # three voxels further
ENOUGH, FEW = box(SHAPE, (9, 11), (15, 18), (4, 9)), box(SHAPE, (9, 11), (15, 18), (13, 18))
FEW[9, 15, 13] = False
Say = Callable[..., Said]
Scans = Callable[[str, int], list[list[Path]]]


@pytest.fixture
def scans(commons: Commons, tmp_path: Path) -> Scans:
    """``scans(patient, number)``: so many CTs of one study, all on one grid, in the commons."""

    def call(patient: str, number: int) -> list[list[Path]]:
        found = []
        for n in range(number):
            scan = noise(SHAPE, n, "uint16")
            about = ("Pre Abd 5.0 B40f", "Abd Venous 5.0 B40f", "Delayed")[n]
            found.append(ct_series(tmp_path / patient / str(n), patient, scan, SPACING, SeriesDescription=about))
            commons.add(COLLECTION, found[-1])
        return found

    return call


def test_the_labels_name_their_scan_and_are_moved_to_its_grid(
    say: Say, commons: Commons, scans: Scans, count: Count, server: Server, tmp_path: Path
) -> None:
    patient = "Adrenal_Ki67_Seg_001"
    series = [pydicom.dcmread(paths[0]).SeriesInstanceUID for paths in scans(patient, 3)]
    tumour = LEFT | RIGHT | APART | ENOUGH | FEW
    # three voxels for each of the scan's, of which the one in the middle counts; from its second slice, fourth row and
    # third column on, so that the first of them lies a third of a voxel before
    fine = tumour[1:, 3:, 2:].repeat(3, 0).repeat(3, 1).repeat(3, 2)
    middle = np.zeros(fine.shape, bool)
    middle[1::3, 1::3, 1::3] = True
    flipped = np.random.default_rng(0).random(fine.shape) < 0.3
    drawn = (fine ^ (flipped & ~middle)) & (fine.any(axis=(1, 2), keepdims=True))  # and slices without any frame
    origin = (ORIGIN[0] + 2 * 1.5 - 0.5, ORIGIN[1] + 3 * 1.5 - 0.5, ORIGIN[2] + 3 - 1)
    tags = {"SeriesInstanceUID": series[1], "origin": origin}
    on = ct_series(tmp_path / "fine", patient, noise(fine.shape, 9, "uint16"), (1.0, 0.5, 0.5), **tags)
    labels = write_seg(tmp_path / "seg.dcm", on, {"Adrenal mass": drawn}, SeriesDescription="Segmentation")
    commons.add(COLLECTION, [labels])
    # another study of the patient, without labels
    commons.row(COLLECTION, "1.2.3", patient=patient, study="1.2", kind="CT", about="Abd")
    assert commons.pin("adrenal_acc")["kind"].to_list() == ["CT", "CT", "CT", "SEG"]
    count("adrenal_acc", 1, 3)
    said = say("data", "get", "adrenal_acc")
    assert (said.code, said.out) == (0, f"adrenal_acc, case {patient}: 3 targets\n")
    assert commons.fetched() == {series[1], uid(tmp_path / "seg.dcm")}
    found = {"tumour.1": turned(LEFT | RIGHT), "tumour.2": turned(APART), "tumour.3": turned(ENOUGH)}
    assert [np.count_nonzero(mask) for mask in (*found.values(), FEW)] == [84, 40, 30, 29]
    check("adrenal_acc", patient, hounsfield(noise(SHAPE, 1, "uint16")), found, SPACING)
    server.paths.clear()
    assert say("data", "get", "adrenal_acc").code == 0
    assert server.paths == []
    assert say("data", "verify", "adrenal_acc").code == 0


def test_frames_that_share_what_they_say_of_their_segment(
    say: Say, commons: Commons, scans: Scans, tmp_path: Path
) -> None:
    patient = "Adrenal_Ki67_Seg_002"
    images = scans(patient, 2)[0]
    labels = write_seg(tmp_path / "seg.dcm", images, {"": LEFT | FEW}, SeriesDescription="Segmentation")
    dataset = pydicom.dcmread(labels)
    assert "SegmentIdentificationSequence" in dataset.SharedFunctionalGroupsSequence[0]
    assert "SegmentIdentificationSequence" not in dataset.PerFrameFunctionalGroupsSequence[0]
    commons.add(COLLECTION, [labels])
    commons.pin("adrenal_acc")
    assert say("data", "get", "adrenal_acc").code == 0
    check("adrenal_acc", patient, hounsfield(noise(SHAPE, 0, "uint16")), {"tumour.1": turned(LEFT)}, SPACING)


def test_broken_cases_do_not_stop_the_others(
    say: Say, commons: Commons, scans: Scans, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    for number in (1, 2, 3):
        patient = f"Adrenal_Ki67_Seg_{number:03}"
        images = scans(patient, 2)[1]
        if number == 1:  # drawn on a scan that is not in the study
            images = ct_series(tmp_path / "gone", patient, noise(SHAPE, 5, "uint16"), SPACING)
        labels = write_seg(tmp_path / f"{number}.dcm", images, {"tumour": LEFT}, SeriesDescription="Segmentation")
        if number == 2:
            cut_short(labels)
        commons.add(COLLECTION, [labels])
    commons.pin("adrenal_acc")
    assert made("adrenal_acc").cases() == tuple(f"Adrenal_Ki67_Seg_00{number}" for number in (1, 2, 3))
    said = say("data", "get", "adrenal_acc")
    assert "case Adrenal_Ki67_Seg_003: 1 target" in said.out
    assert (said.code, said.out) == (1, wording)
    assert "0 of the 2" in said.err
    assert line_with(said.err, "study, expected") == wording
    assert without_reasons(sentence_with(said.err, "is truncated")) == wording
