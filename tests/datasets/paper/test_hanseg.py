"""Organs of the head: drawn on a CT, wanted on an MR that lies elsewhere, turned, and ends earlier."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets import hanseg
from intrabench.datasets.cases import store
from intrabench.mask import Array
from tests.conftest import Said
from tests.datasets.paper.conftest import Publish
from tests.datasets.paper.miniatures import check, check_file, itk, made, packed, stored
from tests.server import Server
from tests.wording import line_with, sentence_with, without_reasons

Say = Callable[..., Said]


def turn(axis: int, degrees: float) -> Array:
    """A turn about an axis."""
    first, second = [(1, 2), (2, 0), (0, 1)][axis]
    matrix, angle = np.eye(4), np.radians(degrees)
    matrix[[first, second], [first, second]] = np.cos(angle)
    matrix[second, first], matrix[first, second] = np.sin(angle), -np.sin(angle)
    return matrix


def shift(*by: float) -> Array:
    matrix = np.eye(4)
    matrix[:3, 3] = by
    return matrix


def centred(shape: tuple[int, int, int], turned: Array, steps: tuple[float, float, float], at: Array) -> Array:
    """The affine of a grid whose middle lies at a point."""
    scaled = turned @ np.diag([*steps, 1])
    return shift(*at) @ scaled @ shift(*(-(np.array(shape) - 1) / 2))


def moved(points: Array, matrix: Array) -> Array:
    return points @ matrix[:3, :3].T + matrix[:3, 3]


def centres(shape: tuple[int, int, int], affine: Array) -> Array:
    """The centres of all voxels of a file in RAS mm."""
    return moved(np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), axis=-1), affine)


CT_SHAPE, MR_SHAPE = (64, 72, 44), (60, 66, 28)
HEAD = np.array([10.0, -30.0, 400.0])  # its middle in the frame of the CT
CT_AFFINE = centred(CT_SHAPE, np.eye(4), (-2, -2, 3), HEAD)
TO_MR = shift(-30, 20, 310) @ turn(2, 5) @ turn(0, -4)
# so that no centre of a voxel lies within a thousandth of a voxel of the border of an organ
MR_AFFINE = centred(MR_SHAPE, turn(0, 8), (-2, -2, 4), moved(HEAD, TO_MR) + (3.7, -4, 5))


def tissue(points: Array) -> tuple[Array, Array]:
    """Whether points in the frame of the CT lie in the head, and what they look like."""
    rng, texture = np.random.default_rng(0), np.zeros(points.shape[:-1])
    for _ in range(30):
        texture += np.cos(points @ (rng.normal(size=3) * 2 * np.pi / 45) + rng.uniform(0, 2 * np.pi))
    return np.linalg.norm((points - HEAD) / (55, 65, 60), axis=-1) < 1, texture


@cache
def scans() -> tuple[Array, Array]:
    """CT and MR of one head, bright in the one where it is dark in the other."""
    inside, texture = tissue(centres(CT_SHAPE, CT_AFFINE))
    ct = np.where(inside, 1000 + 60 * texture, 0).astype(np.int16) - np.int16(1000)
    inside, texture = tissue(moved(centres(MR_SHAPE, MR_AFFINE), np.linalg.inv(TO_MR)))
    return ct, np.where(inside, 400 - 30 * texture, 0).clip(0).astype(np.uint16)


def region(*bounds: tuple[int, int]) -> Array:
    """A box of voxels of the CT, in file order."""
    inside = np.zeros(CT_SHAPE, dtype=bool)
    inside[tuple(slice(*bound) for bound in bounds)] = True
    return inside


DRAWN = {
    "SpinalCord": region((28, 36), (40, 48), (0, 20)),  # leaves the MR at its lower end
    "Bone_Mandible": region((20, 44), (14, 24), (10, 18)),
    "Parotid_L": region((14, 26), (20, 34), (12, 22)),  # overlaps it
    "Eye_AL": region((24, 27), (16, 19), (28, 30)),
    "Glottis": region((28, 36), (20, 30), (0, 2)),  # below the MR
    "Lips": region((0, 0), (0, 0), (0, 0)),  # a file without voxels
}
EXPECTED = ("Bone_Mandible", "Eye_AL", "Parotid_L", "SpinalCord")


def on_mr(drawn: Array) -> Array:
    """The voxels of the MR whose centres lie in an organ, canonical: its files run to left, posterior and superior."""
    back = np.linalg.inv(TO_MR @ CT_AFFINE)
    index = np.rint(moved(centres(MR_SHAPE, MR_AFFINE), back)).astype(int)
    within = ((index >= 0) & (index < CT_SHAPE)).all(axis=-1)
    inside = np.zeros(MR_SHAPE, dtype=bool)
    inside[within] = drawn[tuple(index[within].T)]
    return canonical(inside)


def canonical(array: Array) -> Array:
    return array[::-1, ::-1].transpose(2, 1, 0)


def case_files(case: str, **organs: Array) -> dict[str, bytes]:
    folder = f"HaN-Seg/set_1/{case}/{case}"
    ct, mr = scans()
    images = {"CT": itk(".nrrd", ct, CT_AFFINE), "MR_T1": itk(".nrrd", mr, MR_AFFINE)}
    masks = {name: itk(".seg.nrrd", mask.astype(np.uint8), CT_AFFINE) for name, mask in organs.items()}
    return {
        **{f"{folder}_IMG_{name}.nrrd": body for name, body in images.items()},
        **{f"{folder}_OAR_{name}.seg.nrrd": body for name, body in masks.items()},
    }


def archive(members: dict[str, bytes]) -> bytes:
    beside = {"HaN-Seg/README.md": b"#", "HaN-Seg/LICENSE": b"", "HaN-Seg/set_1/OAR_data.csv": b"Case;A_Carotid_L\n"}
    return packed(beside | members)


@pytest.fixture
def aligned(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The true alignment in place of elastix; what was asked for."""
    asked: list[tuple[str, str]] = []

    def rigid(moving: Path, fixed: Path) -> Array:
        asked.append((moving.name, fixed.name))
        return TO_MR

    monkeypatch.setattr(hanseg, "rigid", rigid)
    return asked


def test_organs_lie_on_the_mr_voxel_for_voxel(
    say: Say, publish: Publish, server: Server, aligned: list[tuple[str, str]], wording: SnapshotAssertion
) -> None:
    publish(hanseg, "ARCHIVE", archive(case_files("case_07", **DRAWN)))
    said = say("data", "get", "hanseg", "--cases", "case_07")
    assert "case case_07: 4 targets" in said.out
    assert (said.code, said.out) == (0, wording)
    assert aligned == [("case_07_IMG_CT.nrrd", "case_07_IMG_MR_T1.nrrd")]
    masks = {f"{organ}.1": on_mr(DRAWN[organ]) for organ in EXPECTED}
    check("hanseg", "case_07", canonical(scans()[1]), masks, (4.0, 2.0, 2.0))
    check_file("hanseg", "case_07", scans()[1], MR_AFFINE)
    assert np.count_nonzero(masks["Bone_Mandible.1"] & masks["Parotid_L.1"]) > 50
    volumes = 16 * masks["SpinalCord.1"].sum(), 12 * DRAWN["SpinalCord"].sum()
    assert masks["SpinalCord.1"][0].any()
    assert volumes[0] < 0.9 * volumes[1]  # cut off
    assert not on_mr(DRAWN["Glottis"]).any()
    server.paths.clear()
    assert say("data", "get", "hanseg", "--cases", "case_07").code == 0
    assert server.paths == []
    assert len(aligned) == 1
    assert say("data", "verify", "hanseg").code == 0


def test_elastix_finds_a_head_300_mm_away(say: Say, publish: Publish, wording: SnapshotAssertion) -> None:
    publish(hanseg, "ARCHIVE", archive(case_files("case_01", **DRAWN)))
    said = say("data", "get", "hanseg", "--cases", "case_01")
    assert "case case_01: 4 targets" in said.out
    assert (said.code, said.out) == (0, wording)
    folder = stored("hanseg", "case_01")
    assert line_with((folder / "kept" / "ct_to_mr.txt").read_text(), "from RAS") == wording
    found = np.loadtxt(folder / "kept" / "ct_to_mr.txt")
    inside = centres(CT_SHAPE, CT_AFFINE)[scans()[0] > -500]
    assert np.linalg.norm(moved(inside, found) - moved(inside, TO_MR), axis=-1).max() < 1
    targets = store.open_case(made("hanseg"), "case_01").targets()
    assert [target.id for target in targets] == [f"{organ}.1" for organ in EXPECTED]
    for target in targets:
        mask, expected = target.mask.to_array(target.shape), on_mr(DRAWN[target.label])
        assert 2 * np.count_nonzero(mask & expected) > 0.95 * (mask.sum() + expected.sum())


def test_a_broken_case_does_not_stop_the_others(
    say: Say, publish: Publish, aligned: list[tuple[str, str]], wording: SnapshotAssertion
) -> None:
    organ = {"Eye_AL": DRAWN["Eye_AL"]}
    members = {
        **case_files("case_01", **organ),
        **case_files("case_02", **organ, Tongue=DRAWN["Lips"]),
        **case_files("case_03", **organ),
        **case_files("case_05", **organ),
    }
    for name in ("case_01/case_01_IMG_MR_T1.nrrd", "case_03/case_03_OAR_Eye_AL.seg.nrrd"):
        members[f"HaN-Seg/set_1/{name}"] = members[f"HaN-Seg/set_1/{name}"][:500]
    publish(hanseg, "ARCHIVE", archive(members))
    said = say("data", "get", "hanseg", "--cases", "case_0[1-5]")
    assert "case case_05: 1 target" in said.out
    assert (said.code, said.out) == (1, wording)
    assert without_reasons(sentence_with(said.err, "case_01_IMG_MR_T1.nrrd cannot")) == wording
    assert line_with(said.err, "expected the") == wording
    assert without_reasons(sentence_with(said.err, "case_03_OAR_Eye_AL.seg.nrrd cannot")) == wording
    assert line_with(said.err, "expected one") == wording
    # nothing that can be told at once waits for a registration
    assert sorted(aligned) == [(f"case_{n}_IMG_CT.nrrd", f"case_{n}_IMG_MR_T1.nrrd") for n in ("03", "05")]
    check("hanseg", "case_05", canonical(scans()[1]), {"Eye_AL.1": on_mr(DRAWN["Eye_AL"])}, (4.0, 2.0, 2.0))


def test_there_are_42_cases_and_30_organs() -> None:
    cases = made("hanseg").cases()
    assert (len(cases), cases[0], cases[-1]) == (42, "case_01", "case_42")
    assert len(set(hanseg.ORGANS)) == 30
