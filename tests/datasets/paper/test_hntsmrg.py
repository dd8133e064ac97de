"""Throat cancer: cases that only the archive names, one tumour and nodes in one label map, scans of other times."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets import hntsmrg
from intrabench.mask import Array
from tests.conftest import Said
from tests.datasets.paper.conftest import Count, Publish
from tests.datasets.paper.miniatures import box, check, check_file, laid_out, made, nifti, noise, packed
from tests.server import Server
from tests.wording import line_with, sentence_with, without_reasons

SHAPE = (6, 16, 18)
SPACING = (2.5, 0.5, 0.75)
SCANS = {2: noise(SHAPE, 2), 12: noise(SHAPE, 12, "float32") / np.float32(7), 86: noise(SHAPE, 86)}
CODES = {2: "LPS", 12: "RSP", 86: "LAS"}
TUMOUR = box(SHAPE, (1, 4), (3, 7), (2, 7))
LARGE, SMALL = box(SHAPE, (2, 4), (10, 14), (10, 13)), box(SHAPE, (5, 6), (0, 2), (15, 18))
Say = Callable[..., Said]


def patient(number: int, labels: Array) -> dict[str, bytes]:
    """Before radiotherapy; and from its middle, with the first scan moved there, to be left alone."""
    scan, affine = laid_out(SCANS[number], CODES[number], SPACING)
    mask, _ = laid_out(labels.astype(np.uint8), CODES[number], SPACING)
    other, elsewhere = laid_out(noise((3, 4, 5)), "LPS", SPACING)
    before, later = f"{number}/preRT/{number}", f"{number}/midRT/{number}"
    members = {f"{before}_preRT_T2.nii.gz": nifti(scan, affine), f"{before}_preRT_mask.nii.gz": nifti(mask, affine)}
    for name in ("midRT_T2", "midRT_mask", "preRT_T2_registered", "preRT_mask_registered"):
        members[f"{later}_{name}.nii.gz"] = nifti(other, elsewhere)
    return {f"HNTSMRG24_train/{name}": body for name, body in members.items()}


def archive() -> dict[str, bytes]:
    """Three patients: a tumour with nodes, a tumour alone, nodes alone."""
    both = TUMOUR + 2 * (LARGE | SMALL)
    members = {**patient(86, 2 * LARGE), **patient(12, TUMOUR), **patient(2, both)}
    return members | {f"__MACOSX/{name.replace('RT/', 'RT/._')}": b"no scan" for name in members}


@pytest.fixture
def published(publish: Publish, count: Count) -> Mapping[str, bytes]:
    publish(hntsmrg, "ARCHIVE", packed(archive()))
    count("hntsmrg", 2, 4)
    return archive()


def test_the_archive_names_the_cases(say: Say, published: Mapping[str, bytes], server: Server) -> None:
    told = "the cases of hntsmrg are unknown until HNTSMRG24_train.zip is downloaded; run: intrabench data get hntsmrg"
    for words in (("list", "hntsmrg"), ("verify", "hntsmrg"), ("remove", "hntsmrg")):
        said = say("data", *words)
        assert said.code == 2
        assert told in said.err
    said = say("data", "get", "hntsmrg", "--cases", "3")
    assert said.code == 2
    assert "matches '3'" in said.err
    assert made("hntsmrg").cases() == ("2", "12", "86")
    assert server.paths == ["/HNTSMRG24_train.zip"]


def test_tumour_and_nodes_are_targets_where_there_is_a_tumour(
    say: Say, published: Mapping[str, bytes], server: Server, wording: SnapshotAssertion
) -> None:
    said = say("data", "get", "hntsmrg")
    assert "case 12: 1 target" in said.out
    assert "case 2: 3 targets" in said.out
    assert "case 86: 0 targets" in said.out
    assert (said.code, sorted(said.out.splitlines())) == (0, wording)
    check("hntsmrg", "2", SCANS[2], {"tumour.1": TUMOUR, "node.1": LARGE, "node.2": SMALL}, SPACING)
    check("hntsmrg", "12", SCANS[12], {"tumour.1": TUMOUR}, SPACING)
    check("hntsmrg", "86", SCANS[86], {}, SPACING)
    check_file(
        "hntsmrg",
        "12",
        SCANS[12].transpose(2, 0, 1)[:, :, ::-1],
        np.array([[0.75, 0, 0, 7], [0, 0, -0.5, -11], [0, 2.5, 0, 13], [0, 0, 0, 1]]),
    )
    server.paths.clear()
    assert say("data", "get", "hntsmrg").code == 0
    assert server.paths == []
    assert say("data", "verify", "hntsmrg").code == 0
    assert say("data", "remove", "hntsmrg").code == 0
    assert say("data", "list", "hntsmrg").code == 2


def test_the_tumour_alone_as_the_published_code_does(
    say: Say, published: Mapping[str, bytes], wording: SnapshotAssertion
) -> None:
    spec = "hntsmrg:structures=tumour"
    said = say("data", "get", spec)
    assert "case 12: 1 target" in said.out
    assert "case 2: 1 target" in said.out
    assert "case 86: 0 targets" in said.out
    assert (said.code, sorted(said.out.splitlines())) == (0, wording)
    check(spec, "2", SCANS[2], {"tumour.1": TUMOUR}, SPACING)


def test_a_broken_patient_does_not_stop_the_others(say: Say, publish: Publish, wording: SnapshotAssertion) -> None:
    members = archive()
    broken = "HNTSMRG24_train/12/preRT/12_preRT_T2.nii.gz"
    members[broken] = members[broken][:900]
    del members["HNTSMRG24_train/86/preRT/86_preRT_mask.nii.gz"]
    publish(hntsmrg, "ARCHIVE", packed(members))
    said = say("data", "get", "hntsmrg")
    assert "case 2: 3 targets" in said.out
    assert (said.code, said.out) == (1, wording)
    assert without_reasons(sentence_with(said.err, "is truncated")) == wording
    assert line_with(said.err, "expected one") == wording
