"""Organs in head and neck CT: archives that a person must ask for, one file per organ, organs within organs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets import segrap
from tests.conftest import Said
from tests.datasets.paper.miniatures import (
    box,
    check,
    check_file,
    encrypted,
    laid_out,
    made,
    nifti,
    noise,
    packed,
)
from tests.server import Server
from tests.wording import line_with, sentence_with, without_reasons

IMAGES, LABELS = segrap.IMAGES.filename, segrap.LABELS.filename
SHAPE = (8, 16, 18)
SPACING = (3.0, 1.25, 1.0)
SCAN = noise(SHAPE) - np.int16(1024)
ORGANS = {
    "Trachea": box(SHAPE, (0, 2), (1, 3), (8, 10)),
    "BrainStem": box(SHAPE, (2, 5), (6, 9), (7, 11)),
    "Larynx_Glottic": box(SHAPE, (1, 2), (4, 6), (8, 10)),
    "Brain": box(SHAPE, (2, 8), (2, 14), (3, 15)),
    "Larynx": box(SHAPE, (0, 2), (4, 7), (7, 12)),
    "Eye_R": box(SHAPE, (7, 8), (15, 16), (17, 18)),
}
FOUND = {f"{name}.1": ORGANS[name] for name in ("Brain", "BrainStem", "Eye_R", "Larynx", "Larynx_Glottic", "Trachea")}
Say = Callable[..., Said]
Parts = dict[str, dict[str, bytes]]


@pytest.fixture
def parts() -> Parts:
    """Two patients, with the scan that has contrast agent beside the other."""
    scan, affine = laid_out(SCAN, "LPS", SPACING)
    images, labels = "SegRap2023_Training_Set_120cases/", "SegRap2023_Training_Set_120cases_Update_Labels/"
    drawn = {name: laid_out(mask.astype(np.uint8), "LPS", SPACING)[0] for name, mask in ORGANS.items()}
    drawn["Esophagus"] = np.zeros_like(scan, np.uint8)  # a file without voxels
    parts: Parts = {IMAGES: {}, LABELS: {}}
    for case in ("segrap_0000", "segrap_0029"):
        parts[IMAGES][f"{images}{case}/image.nii.gz"] = nifti(scan, affine)
        parts[IMAGES][f"{images}{case}/image_contrast.nii.gz"] = nifti(scan + np.int16(1), affine)
        for name, mask in drawn.items():
            parts[LABELS][f"{labels}{case}/{name}.nii.gz"] = nifti(mask * np.uint8(255), affine)
    return parts


@pytest.fixture
def bring(data: Path) -> Callable[[str, bytes], None]:
    """Puts an archive into the downloads folder, as a person does."""

    def call(name: str, body: bytes) -> None:
        (data / "downloads").mkdir(parents=True, exist_ok=True)
        (data / "downloads" / name).write_bytes(body)

    return call


def test_a_person_brings_the_archives(
    say: Say, bring: Callable[[str, bytes], None], parts: Parts, data: Path, server: Server, wording: SnapshotAssertion
) -> None:
    for name in (IMAGES, LABELS):
        said = say("data", "get", "segrap", "--cases", "segrap_0000")
        assert (said.code, said.out) == (1, "")
        assert said.err.count("cannot be downloaded automatically") == (2 if name == IMAGES else 1)
        assert said.err == wording
        bring(name, packed(parts[name]))
    said = say("data", "get", "segrap", "--cases", "segrap_0000")
    assert "case segrap_0000: 6 targets" in said.out
    assert (said.code, said.out) == (0, wording)
    check("segrap", "segrap_0000", SCAN, FOUND, SPACING)
    check_file(
        "segrap",
        "segrap_0000",
        SCAN[:, ::-1, ::-1].transpose(2, 1, 0),
        np.array([[-1, 0, 0, 7], [0, -1.25, 0, -11], [0, 0, 3, 13], [0, 0, 0, 1]]),
    )
    assert say("data", "verify", "segrap").code == 0
    bring(LABELS, packed(parts[IMAGES]))
    said = say("data", "verify", "segrap")
    assert said.code == 1
    assert f"{LABELS} has sha256" in said.err
    assert server.paths == []


def test_archives_that_were_packed_again_on_a_mac(
    say: Say, bring: Callable[[str, bytes], None], parts: Parts, wording: SnapshotAssertion
) -> None:
    for name, members in parts.items():
        files = {member.partition("/")[2]: body for member, body in members.items()}  # without the folder around them
        hidden = {f"__MACOSX/{member.replace('/', '/._')}": b"no scan" for member in files}
        bring(name, packed({**files, **hidden, ".DS_Store": b"", "segrap_0000/.DS_Store": b""}))
    said = say("data", "get", "segrap", "--cases", "segrap_0029")
    assert "case segrap_0029: 6 targets" in said.out
    assert (said.code, said.out) == (0, wording)
    check("segrap", "segrap_0029", SCAN, FOUND, SPACING)


def test_an_encrypted_archive_is_told(
    say: Say, bring: Callable[[str, bytes], None], parts: Parts, data: Path, wording: SnapshotAssertion
) -> None:
    bring(IMAGES, encrypted(packed(parts[IMAGES])))
    bring(LABELS, packed(parts[LABELS]))
    said = say("data", "get", "segrap", "--cases", "segrap_0000")
    assert (said.code, said.out) == (1, "")
    assert said.err == wording


def test_a_broken_patient_does_not_stop_the_others(
    say: Say, bring: Callable[[str, bytes], None], parts: Parts, wording: SnapshotAssertion
) -> None:
    case = "SegRap2023_Training_Set_120cases_Update_Labels/segrap_"
    parts[LABELS][f"{case}0000/Larynx.nii.gz"] = parts[LABELS][f"{case}0000/Larynx.nii.gz"][:60]
    images = {name: body for name, body in parts[IMAGES].items() if "0029" in name}
    for other in ("0001", "0002"):
        parts[IMAGES] |= {name.replace("0029", other): body for name, body in images.items()}
    parts[LABELS][f"{case}0001/GTVp.nii.gz"] = parts[LABELS][f"{case}0029/Brain.nii.gz"]
    for name, members in parts.items():
        bring(name, packed(members))
    said = say("data", "get", "segrap", "--cases", "segrap_000[0-2]", "--cases", "segrap_0029")
    assert "case segrap_0029: 6 targets" in said.out
    assert (said.code, said.out) == (1, wording)
    assert without_reasons(sentence_with(said.err, "is truncated")) == wording
    assert line_with(said.err, "expected the") == wording
    assert line_with(said.err, "no organs") == wording


def test_the_cohorts() -> None:
    some: Mapping[str, tuple[str, ...]] = {spec: made(spec).cases() for spec in ("segrap", "segrap:cohort=all")}
    assert {spec: (len(cases), cases[0], cases[-1]) for spec, cases in some.items()} == {
        "segrap": (30, "segrap_0000", "segrap_0029"),
        "segrap:cohort=all": (120, "segrap_0000", "segrap_0119"),
    }
    assert len(segrap.ORGANS) == len(set(segrap.ORGANS)) == 45
