"""Lymph nodes: which scans have them all, frames on some slices only, files that do not belong together."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.mask import Array
from tests.conftest import Said
from tests.datasets.convert.dicom_files import uid, write_seg
from tests.datasets.paper.conftest import Commons, Count
from tests.datasets.paper.miniatures import (
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
from tests.wording import sentence_with

SHAPE = (8, 18, 20)
SPACING = (5.0, 0.7, 0.75)
LARGE, SMALL = box(SHAPE, (1, 3), (4, 8), (10, 14)), box(SHAPE, (5, 7), (10, 12), (3, 5))
SMALL[7, 12, 5] = True  # joined at a corner
Say = Callable[..., Said]
Patient = Callable[..., Array]


@pytest.fixture
def patient(commons: Commons, tmp_path: Path) -> Patient:
    """``patient(name, about, nodes)`` is in the commons; gives its scan as stored."""

    def call(name: str, about: str, nodes: Array, broken: str = "") -> Array:
        scan = noise(SHAPE, int(name[-4:]), "uint16")
        folder = tmp_path / name
        images = ct_series(folder, name, scan, SPACING)
        on = ct_series(folder / "b", name, scan, SPACING, FrameOfReferenceUID=uid("b")) if broken == "other" else images
        tags = {"SeriesDescription": about, "FrameOfReferenceUID": uid("b")} if broken == "other" else {}
        seg = write_seg(
            folder / "seg.dcm", on, {"Mediastinal lymph node": nodes}, **{"SeriesDescription": about} | tags
        )
        if broken == "scan":
            cut_short(images[3])
        if broken == "labels":
            cut_short(seg)
        commons.add("mediastinal_lymph_node_seg", images)
        commons.add("mediastinal_lymph_node_seg", [seg])
        return scan

    return call


def test_nodes_are_targets_and_cases_know_how_completely_they_are_drawn(
    say: Say, commons: Commons, patient: Patient, count: Count, server: Server, data: Path, wording: SnapshotAssertion
) -> None:
    full = patient("case_0571", "Fully Annotated", LARGE | SMALL)
    partial = patient("case_0002", "Partially Annotated", SMALL)
    assert commons.pin("lnq").select("case", "kind", "files", "about").rows() == [
        ("case_0002", "CT", 8, ""),
        ("case_0002", "SEG", 1, "Partially Annotated"),
        ("case_0571", "CT", 8, ""),
        ("case_0571", "SEG", 1, "Fully Annotated"),
    ]
    count("lnq", 2, 3)
    assert made("lnq").subsets() == {
        "smoke": ["case_0571"],
        "fully_annotated": ["case_0571"],
        "partially_annotated": ["case_0002"],
    }
    said = say("data", "get", "lnq", "--cases", "subset:fully_annotated")
    assert (said.code, said.out) == (0, wording)
    nodes = {"lymph_node.1": turned(LARGE), "lymph_node.2": turned(SMALL)}
    assert [np.count_nonzero(mask) for mask in nodes.values()] == [32, 9]
    check("lnq", "case_0571", hounsfield(full), nodes, SPACING)
    stored = full.transpose(2, 1, 0).astype(np.int16) - np.int16(1000)  # column, row, slice as in the files
    affine = np.array([[-0.75, 0, 0, 90.5], [0, -0.7, 0, 110.25], [0, 0, 5, -333], [0, 0, 0, 1]])
    check_file("lnq", "case_0571", stored, affine)
    assert say("data", "get", "lnq").code == 0
    check("lnq", "case_0002", hounsfield(partial), {"lymph_node.1": turned(SMALL)}, SPACING)
    server.paths.clear()
    assert say("data", "get", "lnq").code == 0
    assert server.paths == []
    said = say("data", "verify", "lnq")
    assert (said.code, said.out) == (0, wording)
    folders = sorted(path for path in (data / "downloads" / "idc").iterdir() if path.is_dir())
    assert {path.name for path in folders} == set(commons.uuids.values())
    cut_short(next(folders[0].glob("*.dcm")))
    said = say("data", "verify", "lnq")
    assert said.code == 1
    assert sentence_with(said.err, "published file") == wording


def test_broken_cases_do_not_stop_the_others(
    say: Say, commons: Commons, patient: Patient, server: Server, wording: SnapshotAssertion
) -> None:
    patient("case_0001", "Fully Annotated", LARGE, broken="scan")
    patient("case_0002", "Fully Annotated", LARGE, broken="labels")
    patient("case_0003", "Fully Annotated", LARGE, broken="other")
    patient("case_0004", "Fully Annotated", LARGE)
    patient("case_0005", "Fully Annotated", LARGE)
    commons.pin("lnq")
    gone = commons.uuids[commons.rows[8]["SeriesInstanceUID"]]
    for path in [path for path in server.pages if gone in path]:
        del server.pages[path]
    said = say("data", "get", "lnq")
    assert "case case_0004: 1 target" in said.out
    assert (said.code, said.out) == (1, wording)
    problems = {line.partition(": ")[0]: line.partition(": ")[2] for line in said.err.splitlines() if "case_" in line}
    assert sorted(problems) == [f"lnq, case case_000{number}" for number in (1, 2, 3, 5)]
    for case in ("1", "2"):
        assert problems[f"lnq, case case_000{case}"] == wording
    assert problems["lnq, case case_0003"] == wording
    assert re.sub(r"\.\.\.\d+", "...UID", problems["lnq, case case_0005"]) == wording
