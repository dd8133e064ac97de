"""Lung tumours scanned twice: two scans and two structure sets in one study, contours by hand and by a program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.mask import Array
from intrabench.registry import registry
from tests.conftest import Said
from tests.datasets.convert.dicom_files import uid, write_rtstruct
from tests.datasets.paper.conftest import Commons, Count
from tests.datasets.paper.miniatures import ORIGIN, check, check_file, ct_series, cut_short, hounsfield, noise, turned
from tests.server import Server
from tests.wording import line_with, sentence_with, without_reasons

COLLECTION, ANALYSIS = "rider_lung_ct", "rider_lungct_seg"
PATIENT = "RIDER-2541949645"
SHAPE = (8, 18, 20)
SPACING = (1.25, 0.6, 0.7)
TEST, RETEST = noise(SHAPE, 0, "uint16"), noise(SHAPE, 1, "uint16")
Square = tuple[int, int, int, int, int]
"""Slice; first and last row; first and last column."""
BY_HAND: tuple[Square, ...] = ((2, 4, 8, 5, 11), (3, 4, 9, 5, 11), (6, 12, 13, 2, 3))
HOLE: tuple[Square, ...] = (*BY_HAND, (3, 6, 7, 7, 8))
BY_PROGRAM: tuple[Square, ...] = ((1, 3, 10, 4, 12), (2, 3, 10, 4, 12))
Say = Callable[..., Said]


def drawn(squares: Iterable[Square]) -> list[Array]:
    """A contour around each square of voxels, half a voxel beyond their centres, in LPS mm."""
    contours = []
    for z, top, bottom, left, right in squares:
        corners = [(left, top), (right, top), (right, bottom), (left, bottom)]
        out = [(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)]
        contours.append(
            np.array(
                [
                    (ORIGIN[0] + (x + dx) * 0.7, ORIGIN[1] + (y + dy) * 0.6, ORIGIN[2] + z * 1.25)
                    for (x, y), (dx, dy) in zip(corners, out, strict=True)
                ]
            )
        )
    return contours


def filled(squares: Iterable[Square]) -> Array:
    inside = np.zeros(SHAPE, dtype=bool)
    for z, top, bottom, left, right in squares:
        inside[z, top : bottom + 1, left : right + 1] ^= True
    return inside


@pytest.fixture
def put(commons: Commons, tmp_path: Path) -> Callable[..., Path]:
    """``put(patient, "TEST", images, by name: squares)``: a structure set in the commons; gives its file."""

    def call(
        patient: str,
        about: str,
        images: list[Path],
        regions: Mapping[str, tuple[Square, ...]],
        breaks: Callable[[Path], object] | None = None,
    ) -> Path:
        path = tmp_path / f"{patient}_{about}.dcm"
        contours = {name: drawn(squares) for name, squares in regions.items()}
        write_rtstruct(path, images, contours, SeriesDescription=about)
        if breaks:
            breaks(path)
        commons.add(COLLECTION, [path], ANALYSIS)
        return path

    return call


Put = Callable[..., Path]


def test_test_and_retest_of_one_study_each_have_their_scan_and_only_contours_by_hand(
    say: Say, commons: Commons, put: Put, count: Count, server: Server, tmp_path: Path
) -> None:
    scans = {
        name: ct_series(tmp_path / name, PATIENT, scan, SPACING, FrameOfReferenceUID=uid(name))
        for name, scan in {"retest": RETEST, "test": TEST}.items()
    }
    series = {name: commons.add(COLLECTION, paths) for name, paths in scans.items()}
    put(PATIENT, "TEST", scans["test"], {"GTVp_test_auto": BY_PROGRAM, "GTVp_test_man": HOLE})
    put(PATIENT, "RETEST", scans["retest"], {"GTVp_retest_man": BY_HAND[:2]})
    study = uid(PATIENT)
    for about, analysis, kind in (
        (f"{PATIENT}_20190220_TEST", ANALYSIS, "SEG"),
        (None, "qiba_volct_1b", "SEG"),
        ("Tumor Segmentation", None, "SEG"),
        ("Lesion Designator", "qiba_volct_1b", "SR"),
        ("other", "qiba_volct_1b", "RTSTRUCT"),
    ):
        commons.row(
            COLLECTION,
            f"1.2.{len(commons.rows)}",
            patient=PATIENT,
            study=study,
            kind=kind,
            about=about,
            analysis=analysis,
        )
    names = (f"{PATIENT}_retest", f"{PATIENT}_test")
    assert commons.pin("rider_lung").select("case", "kind", "about").rows() == [
        (name, kind, about)
        for name in names
        for kind, about in (("CT", ""), ("CT", ""), ("RTSTRUCT", name.rpartition("_")[2].upper()))
    ]
    count("rider_lung", 2, 3)
    said = say("data", "get", "rider_lung", "--cases", "*_test")
    assert (said.code, said.out) == (0, f"rider_lung, case {PATIENT}_test: 2 targets\n")
    assert series["retest"] not in commons.fetched()
    assert say("data", "get", "rider_lung").code == 0
    large, small = filled((*HOLE[:2], HOLE[3])), filled(HOLE[2:3])
    assert [np.count_nonzero(mask) for mask in (large, small, filled(BY_HAND[:2]))] == [73, 4, 77]
    found = {"tumour.1": turned(large), "tumour.2": turned(small)}
    check("rider_lung", f"{PATIENT}_test", hounsfield(TEST), found, SPACING)
    check("rider_lung", f"{PATIENT}_retest", hounsfield(RETEST), {"tumour.1": turned(filled(BY_HAND[:2]))}, SPACING)
    stored = RETEST.transpose(2, 1, 0).astype(np.int16) - np.int16(1000)
    affine = np.array([[-0.7, 0, 0, 90.5], [0, -0.6, 0, 110.25], [0, 0, 1.25, -333], [0, 0, 0, 1]])
    check_file("rider_lung", f"{PATIENT}_retest", stored, affine)
    server.paths.clear()
    assert say("data", "get", "rider_lung").code == 0
    assert server.paths == []
    assert say("data", "verify", "rider_lung").code == 0


def test_59_scans_of_31_patients() -> None:
    dataset = registry.make("datasets", "rider_lung")
    patients = [dataset.patient(case) for case in dataset.cases()]
    assert (len(patients), len(set(patients))) == (59, 31)
    assert dataset.patient(f"{PATIENT}_test") == dataset.patient(f"{PATIENT}_retest") == PATIENT
    assert sorted(patients.count(patient) for patient in set(patients)) == [1] * 3 + [2] * 28


def test_broken_cases_do_not_stop_the_others(
    say: Say, commons: Commons, put: Put, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    scans = [
        ct_series(
            tmp_path / str(n), PATIENT, TEST, SPACING, FrameOfReferenceUID=uid(n), origin=(*ORIGIN[:2], -333 + at)
        )
        for n, at in enumerate((0, 100, 200))
    ]
    for paths in scans[:2]:
        commons.add(COLLECTION, paths)
    put(PATIENT, "TEST", scans[0], {"GTVp_test_man": BY_HAND})
    put(PATIENT, "RETEST", scans[2], {"GTVp_retest_man": BY_HAND})  # a scan that is not there
    other = ct_series(tmp_path / "other", "RIDER-1", TEST, SPACING)
    commons.add(COLLECTION, other)
    put("RIDER-1", "TEST", other, {"GTVp_test_man": BY_HAND}, cut_short)
    third = ct_series(tmp_path / "third", "RIDER-2", TEST, SPACING, origin=(0, 0, 0))
    commons.add(COLLECTION, third)
    put("RIDER-2", "TEST", third, {"GTVp_test_man": BY_HAND})
    commons.pin("rider_lung")
    said = say("data", "get", "rider_lung")
    assert (said.code, said.out) == (1, f"rider_lung, case {PATIENT}_test: 2 targets\n")
    assert "_RETEST" not in said.out
    assert "0 of the 2" in said.err
    assert line_with(said.err, "study, expected") == wording
    assert without_reasons(sentence_with(said.err, "is truncated")) == wording
    assert "rider_lung, case RIDER-1_test: " in said.err
    assert "the region GTVp_test_man" in said.err
