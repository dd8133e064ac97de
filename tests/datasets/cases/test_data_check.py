"""What the check of a data set finds, and what it says."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets.cases.data_check import CaseFound, TargetFound, closing, lines_of, listing, look_at, opening
from intrabench.registry import registry
from tests.datasets.convert.dicom_files import write_ct, write_seg
from tests.datasets.convert.test_segment_nrrd import described, write
from tests.datasets.folder.made import AFFINE, SHAPE, image, labels, nnunet, pair, save
from tests.test_volume_modality import body
from tests.wording import line_with, without_reasons

pytestmark = pytest.mark.usefixtures("data")


def look(spec: str | Path) -> tuple[list[CaseFound], list[str]]:
    """What is found in all cases, and the closing lines."""
    dataset = registry.make("datasets", str(spec))
    found = list(look_at(dataset, dataset.cases()))
    return found, closing(dataset, found)


def test_what_a_case_is(tmp_path: Path, data: Path) -> None:
    root = nnunet(tmp_path / "Dataset001_Liver")
    (first, _), lines = look(root)
    assert (first.case, first.shape, first.spacing_mm, first.orientation) == (
        "case_000",
        (10, 18, 20),
        (2.5, 1.0, 1.0),
        "LPS",
    )
    assert first.targets == (
        TargetFound("liver.1", "liver", 144, 0.36, 4, 1, 0),
        TargetFound("tumour.1", "tumour", 49, 0.122, 4, 2, 1),
        TargetFound("cyst.1", "cyst", 8, 0.02, 2, 1, 0),
    )
    assert opening(registry.make("datasets", str(root))) == (
        f"{root}: nnU-Net, Dataset001_Liver, modality CT, licence not stated"
    )
    assert lines_of(first) == [
        "case_000: 10 x 18 x 20 voxels of 2.5 x 1 x 1 mm (z, y, x), file in LPS",
        "  liver.1         144 voxels       0.360 ml     4 slices    1 component",
        "  tumour.1         49 voxels       0.122 ml     4 slices    2 components",
        "  cyst.1            8 voxels       0.020 ml     2 slices    1 component",
    ]
    assert lines == [
        "cases: 2 of 2 patients; targets: 6",
        "  cyst: 2, 8 to 8 voxels",
        "  liver: 2, 144 to 144 voxels",
        "  tumour: 2, 49 to 49 voxels",
        "warning: case_000, case_001: tumour.1: 1 of 2 components have fewer than 5 voxels",
    ]
    assert not data.exists()  # nothing is stored


def test_a_data_set_that_is_no_folder(wording: SnapshotAssertion) -> None:
    found, lines = look("phantom:shape=16x32x32")
    assert found[0].problem == ""
    assert "1 of 1 patient" in lines[0]
    assert lines[0] == wording
    assert opening(registry.make("datasets", "phantom:shape=16x32x32")).startswith("phantom:shape=16x32x32, Synthetic")


def test_cases_that_cannot_be_used_do_not_stop_the_others(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root = tmp_path / "lab"
    for case in ("constant", "cut", "fine", "grid", "lonely", "nan", "parts"):
        pair(root, case, seed=len(case))
    save(root / "images" / "constant.nii.gz", np.ones(image().shape))
    save(root / "images" / "nan.nii.gz", np.where(image() < 0, np.nan, image()))
    save(root / "labels" / "grid.nii.gz", labels()[1:])
    save(root / "labels" / "parts.nii.gz", labels() / 2)
    (root / "labels" / "lonely.nii.gz").unlink()
    (root / "images" / "cut.nii.gz").write_bytes((root / "images" / "cut.nii.gz").read_bytes()[:-100])
    found, lines = look(root)
    assert [one.case for one in found if not one.problem] == ["fine"]
    said = {one.case: one.problem for one in found}
    assert "is constant" in said["constant"]
    assert without_reasons(said["cut"]) == wording
    assert said["grid"] == wording
    assert said["lonely"] == wording
    assert said["nan"] == wording
    assert said["parts"] == wording
    assert "7 of 7 patients" in lines[0]
    assert lines[0] == wording
    assert [*listing(found)] == lines_of(next(one for one in found if one.case == "fine"))
    assert [f"{case}: CANNOT BE USED: {problem}" for case, problem in said.items() if problem] == lines[4:-3]


def test_of_many_cases_and_targets_the_first_ones_are_shown(tmp_path: Path, wording: SnapshotAssertion) -> None:
    many = np.zeros(SHAPE, dtype=np.uint8)
    for number in range(20):
        x, y = 4 * (number % 5), 4 * (number // 5)
        many[x : x + 3, y : y + 3, 2:8] = number + 1
    root = pair(pair(pair(tmp_path / "lab", "a", 0, many), "b", 1), "c", 2)
    found, lines = look(root)
    shown = [*listing(found)]
    assert shown[:16] == lines_of(found[0])[:16]
    assert shown[16:] == wording
    assert [*listing(found, every=True)] == [line for one in found for line in lines_of(one)]
    assert [*listing(found[1:])] == [*listing(found[1:], every=True)]
    of_labels = [line for line in lines if line.startswith("  ")]
    assert of_labels[-1] == wording
    every = closing(registry.make("datasets", str(root)), found, every=True)
    assert [line for line in every if line.startswith("  ")][:12] == of_labels[:-1]
    assert len([line for line in every if line.startswith("  ")]) == 20


def test_what_is_suspicious_about_cases(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root = tmp_path / "lab"
    sheared = AFFINE.copy()
    sheared[1, 2] = 0.8
    dark = np.where(labels() == 1, -1000, image())
    for case, (scan, drawn, affine) in {
        "dark": (dark, labels(), AFFINE),
        "empty": (image(3), labels() * 0, AFFINE),
        "metres": (image(4), labels(), np.diag([0.001, 0.001, 0.003, 1])),
        "positive": (image(5) + 1000, labels(), AFFINE),
        "tilted": (image(6), labels(), sheared),
    }.items():
        save(root / "images" / f"{case}.nii.gz", scan, affine)
        save(root / "labels" / f"{case}.nii.gz", drawn, affine)
    (root / "dataset.toml").write_text('modality = "CT"\n[labels]\n1 = "liver"\n2 = "tumour"\n')
    found, lines = look(root)
    warnings = {
        one.case: set(one.warnings)
        - {
            "value 5 is left out because dataset.toml does not list it under [labels]",
            "tumour.1: 1 of 2 components have fewer than 5 voxels",
        }
        for one in found
    }
    assert warnings == {
        "dark": {"liver.1: 100% of the voxels have the image's lowest value, as if outside of it"},
        "empty": {"the case has no target, so nothing can be segmented"},
        "metres": {"a spacing of 0.003 x 0.001 x 0.001 mm is unusual; is it in millimetres?"},
        "positive": {
            "the modality is CT, but the values cannot be Hounsfield units, which models expect of CT; convert them, "
            "or correct the modality in dataset.toml"
        },
        "tilted": set(),
    }
    assert "are 17.7" in found[-1].problem
    assert found[-1].problem == wording
    assert line_with(lines, "1 of 2 components") == wording
    assert line_with(lines, "orientation differs") == wording
    assert any(line.startswith("warning: spacing_mm differs between cases, from 0.003 x") for line in lines)


@pytest.mark.parametrize(
    ("stated", "offset", "told"),
    [
        (
            "",
            0,
            'no modality is stated, and the values look like Hounsfield units; write modality = "CT" in dataset.toml',
        ),
        (
            "",
            1024,
            'no modality is stated; some models treat CT in another way, so write modality = "CT", "MR" or another',
        ),
        (
            "zscore",
            0,
            "the modality zscore does not say whether this is CT, and the values look like Hounsfield units; write",
        ),
        (
            "MR",
            0,
            'the modality is MR, but the values look like Hounsfield units; if this is CT, write modality = "CT" in',
        ),
        (
            "ct",
            1024,
            "the modality is ct, but the values cannot be Hounsfield units, which models expect of CT; convert",
        ),
        ("CT", 0, ""),
        ("MR", 1024, ""),
    ],
)
def test_the_modality_is_asked_for_and_held_against_the_values(
    tmp_path: Path, stated: str, offset: int, told: str
) -> None:
    root = pair(tmp_path / "lab")
    save(root / "images" / "c1.nii.gz", body(shape=SHAPE) + offset)
    (root / "dataset.toml").write_text(f'modality = "{stated}"')
    about = [line for line in look(root)[1] if "modality" in line or "Hounsfield" in line]
    assert len(about) == bool(told)
    assert all(told in line for line in about)


def test_values_of_several_scans_are_warned_of_once(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root = pair(pair(tmp_path / "lab", "c1"), "c2", seed=1)
    for number in (1, 2):
        save(root / "images" / f"c{number}.nii.gz", body(shape=SHAPE) + 1024 * number)
    (root / "dataset.toml").write_text('modality = "CT"')
    (about,) = [line for line in look(root)[1] if "Hounsfield" in line]
    assert about == wording


def test_scans_of_8_bits_are_taken_as_they_are(tmp_path: Path) -> None:
    root = pair(tmp_path / "lab")
    save(root / "images" / "c1.nii.gz", body(shape=SHAPE).clip(0, 255).astype(np.uint8))
    for stated in ("", "CT", "MR"):
        (root / "dataset.toml").write_text(f'modality = "{stated}"')
        assert [line for line in look(root)[1] if "modality is" in line or "Hounsfield" in line] == []


def test_what_is_suspicious_about_the_whole(tmp_path: Path, wording: SnapshotAssertion) -> None:
    told = {
        "channel_names": {"0": "T1", "1": "T2"},
        "labels": {"background": 0, "liver": 1, "spleen": 9, "ignore": 5},
    }
    root = pair(nnunet(tmp_path / "both", told))
    (root / "dataset.toml").write_text('layout = "nnunet"')
    save(root / "imagesTr" / "case_001_0000.nii.gz", image(0))
    lines = look(root)[1]
    assert lines[-4:] == wording
    assert line_with(lines, "name; write") == wording
    (root / "dataset.json").write_text(json.dumps({**told, "labels": {"0": "background", "1": "liver"}}))
    assert not any("spleen" in line for line in look(root)[1])


def test_labels_that_leak_out_of_the_image(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root = pair(tmp_path / "lab")
    (root / "labels" / "c1.nii.gz").unlink()
    affine = np.diag([-1.0, -2.0, 3.0, 1.0])
    affine[:3, 3] = 3, 4, 5  # the grid that `write` draws on
    save(root / "images" / "c1.nii.gz", image()[:12, :10, :8], affine)
    drawn = np.zeros((12, 10, 8), dtype=np.uint8)
    drawn[2:9, 3:8, 1:7] = 1
    (root / "dataset.toml").write_text('modality = "CT"')
    write(root / "labels" / "c1.seg.nrrd", drawn, described(("Head", 0, 1)), first=(5, 0, 0))
    (found,), _ = look(root)
    assert found.warnings == wording
    assert found.targets[0].voxels == int(drawn.sum()) - 60


def test_notes_of_dicom(tmp_path: Path, wording: SnapshotAssertion) -> None:
    scan = (image().T + 1000).astype(np.uint16)
    tilted = write_ct(tmp_path / "d" / "ct", scan, step=(0, 0.5, 2))
    write_seg(tmp_path / "d" / "seg", tilted, {"Liver": labels().T == 1})
    (found,), _ = look(tmp_path / "d")
    assert "are 14.0" in found.problem
    assert found.problem == wording
    (tmp_path / "d" / "dataset.toml").write_text('shear = "resample"')
    (found,), _ = look(tmp_path / "d")
    assert found.warnings == wording
    assert found.shape == (10, 23, 20)  # the last slice is shifted by 4.5 rows
    assert found.targets[0].voxels == 144


@pytest.mark.parametrize("spacing", ["3.0x1.0x1.0", "1.0x2.0x1.0", "1.0x1.0x3.0"])
def test_the_plane_of_acquisition(spacing: str, wording: SnapshotAssertion) -> None:
    """It is named unless it is axial, the slices of targets are counted in it, and coarse axial ones are warned of."""
    dataset = registry.make("datasets", f"phantom:shape=24x22x20,spacing={spacing},instances=1")
    (found,) = look_at(dataset, dataset.cases())
    _, (target,) = dataset.load("case-1", None)  # type: ignore[arg-type]
    across = int(np.argmax(dataset.spacing))
    assert found.plane == ("axial", "coronal", "sagittal")[across]
    assert found.targets[0].slices == target.mask.array.shape[across]
    assert [lines_of(found)[0], *(one for one in found.warnings if "slices" in one)] == wording
