"""Liver cancer: structures by name, what makes a liver and a tumour, components that touch only at a corner."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pydicom
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.mask import Array
from tests.conftest import Said
from tests.datasets.convert.dicom_files import change, save, uid, write_seg
from tests.datasets.paper.conftest import Commons, Count
from tests.datasets.paper.miniatures import box, check, ct_series, cut_short, hounsfield, made, noise, turned
from tests.server import Server
from tests.wording import line_with, sentence_with, without_reasons

COLLECTION = "hcc_tace_seg"
SHAPE = (8, 18, 20)
SPACING = (2.5, 0.9, 0.85)
SCAN = noise(SHAPE, 0, "uint16")
LIVER = box(SHAPE, (1, 7), (3, 14), (3, 17)) & ~box(SHAPE, (1, 7), (3, 14), (8, 11))
PORTAL = box(SHAPE, (2, 6), (8, 9), (8, 11))
AORTA = box(SHAPE, (0, 8), (15, 17), (9, 11))
MASS, NECROSIS = box(SHAPE, (2, 5), (4, 8), (4, 8)), box(SHAPE, (4, 6), (6, 9), (6, 10))
CORNER = box(SHAPE, (6, 7), (9, 10), (10, 12))  # meets the necrosis at a corner
ALONE = box(SHAPE, (1, 2), (14, 16), (1, 2))  # outside of the liver
ALONE[2, 16, 1] = True  # joined at an edge
MAPS = {
    "Liver": LIVER & ~MASS,
    "Mass": MASS | CORNER | ALONE,
    "Portal vein": PORTAL,
    "Abdominal aorta": AORTA,
    "Necrosis": NECROSIS,
}
WHOLE = LIVER | PORTAL | MASS | NECROSIS | CORNER | ALONE
Say = Callable[..., Said]
Patient = Callable[..., None]


@pytest.fixture
def patient(commons: Commons, tmp_path: Path) -> Patient:
    """``patient(name, segments)`` is in the commons, with the first reconstruction and a model's answer beside."""

    def call(
        name: str, segments: Mapping[str, Array], breaks: Callable[[list[Path], Path], object] | None = None
    ) -> None:
        study, folder = uid(name), tmp_path / name
        images = ct_series(folder, name, SCAN, SPACING, SeriesDescription="Recon 3: LIVER 3 PHASE (AP)")
        seg = write_seg(folder / "seg.dcm", images, segments, SeriesDescription="Segmentation")
        if breaks:
            breaks(images, seg)
        commons.add(COLLECTION, images)
        commons.add(COLLECTION, [seg])
        commons.row(COLLECTION, f"{study}.1", patient=name, study=study, kind="CT", about="Recon 2: LIVER 3 PHASE")
        commons.row(COLLECTION, f"{study}.2", patient=name, study=study, kind="SEG", about="AIMI liver-tumor AI")

    return call


def test_liver_and_tumours_are_made_of_structures_by_their_names(
    say: Say, commons: Commons, patient: Patient, count: Count, server: Server, wording: SnapshotAssertion
) -> None:
    patient("HCC_012", MAPS)
    patient("HCC_085", MAPS)
    assert commons.pin("hcc_tace").select("case", "kind", "about").rows() == [
        ("HCC_012", "CT", wording),
        ("HCC_012", "SEG", "Segmentation"),
        ("HCC_085", "CT", wording),
        ("HCC_085", "SEG", "Segmentation"),
    ]
    assert made("hcc_tace").cases() == ("HCC_012",)
    count("hcc_tace", 1, 4)
    said = say("data", "get", "hcc_tace")
    assert "case HCC_012: 4 targets" in said.out
    assert (said.code, said.out) == (0, wording)
    tumours = {"tumour.1": MASS | NECROSIS, "tumour.2": ALONE, "tumour.3": CORNER}
    assert [np.count_nonzero(mask) for mask in (WHOLE, *tumours.values())] == [750, 68, 3, 2]
    found = {"liver.1": WHOLE, **tumours}
    check("hcc_tace", "HCC_012", hounsfield(SCAN), {name: turned(mask) for name, mask in found.items()}, SPACING)
    server.paths.clear()
    assert say("data", "get", "hcc_tace").code == 0
    assert server.paths == []
    assert say("data", "verify", "hcc_tace").code == 0
    liver, tumour = "hcc_tace:structures=liver", "hcc_tace:structures=tumour"
    assert say("data", "get", liver, tumour).code == 0
    check(liver, "HCC_012", hounsfield(SCAN), {"liver.1": turned(WHOLE)}, SPACING)
    check(tumour, "HCC_012", hounsfield(SCAN), {name: turned(mask) for name, mask in tumours.items()}, SPACING)
    assert server.paths == []


def test_a_sum_makes_instances_of_what_is_living_and_dead_at_once(say: Say, commons: Commons, patient: Patient) -> None:
    patient("HCC_004", MAPS)
    commons.pin("hcc_tace")
    spec = "hcc_tace:structures=tumour,merge=sum"
    assert say("data", "get", spec).code == 0
    both = MASS & NECROSIS
    pieces = [(MASS | NECROSIS) & ~both, ALONE, CORNER, both]
    assert [np.count_nonzero(piece) for piece in pieces] == [64, 3, 2, 4]
    found = {f"tumour.{number}": turned(piece) for number, piece in enumerate(pieces, start=1)}
    check(spec, "HCC_004", hounsfield(SCAN), found, SPACING)


def other_references(images: list[Path], seg: Path) -> None:
    """The labels name a series that was never published."""
    dataset = pydicom.dcmread(seg)
    dataset.ReferencedSeriesSequence[0].SeriesInstanceUID = "1.2.3"
    for number, instance in enumerate(dataset.ReferencedSeriesSequence[0].ReferencedInstanceSequence):
        instance.ReferencedSOPInstanceUID = f"1.2.3.{number}"
    save(seg, dataset)


@pytest.mark.parametrize(
    "breaks", [lambda images, seg: change(seg, ReferencedSeriesSequence=None), other_references], ids=["none", "others"]
)
def test_a_segmentation_without_usable_references_is_placed_by_its_geometry(
    say: Say, commons: Commons, patient: Patient, breaks: Callable[[list[Path], Path], object]
) -> None:
    some = {"Liver": LIVER, "Portal vein": PORTAL}  # no tumour either
    patient("HCC_048", some, breaks)
    commons.pin("hcc_tace")
    assert say("data", "get", "hcc_tace").code == 0
    check("hcc_tace", "HCC_048", hounsfield(SCAN), {"liver.1": turned(LIVER | PORTAL)}, SPACING)


def test_broken_cases_do_not_stop_the_others(
    say: Say, commons: Commons, patient: Patient, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    def of_another_scan(images: list[Path], seg: Path) -> None:
        """As HCC_089: another series of the study, which lies elsewhere."""
        tags = {"origin": (0, 0, 500), "SeriesDescription": "Recon 2"}
        write_seg(seg, ct_series(tmp_path / "other", "HCC_005", SCAN, SPACING, **tags), MAPS)
        change(seg, SeriesDescription="Segmentation")

    patient("HCC_005", MAPS, of_another_scan)
    patient("HCC_006", MAPS, lambda images, seg: cut_short(images[2]))
    patient("HCC_007", MAPS)
    commons.pin("hcc_tace")
    said = say("data", "get", "hcc_tace")
    assert "case HCC_007: 4 targets" in said.out
    assert (said.code, said.out) == (1, wording)
    assert sentence_with(said.err, "images that") == wording
    assert without_reasons(line_with(said.err, "is truncated")) == wording
