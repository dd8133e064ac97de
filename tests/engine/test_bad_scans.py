"""Scans and targets that are hard to like: each is a row with a status, and the others go on."""

from __future__ import annotations

from pathlib import Path

import nibabel as nib
import numpy as np
import polars as pl
import pytest

import intrabench
from tests.prompters.test_prompters import SPECS

FOLDER = '''
from dataclasses import dataclass
from pathlib import Path

from intrabench.datasets.base import Dataset, DatasetCard
from intrabench.target import targets_of
from intrabench.volume import read_image, read_labels


@dataclass(frozen=True)
class Folder(Dataset):
    """Pairs of NIfTI files."""

    name = "folder"
    version = "1"
    card = DatasetCard("files", "CT")

    def cases(self):
        return tuple(sorted(path.name.removesuffix(".nii.gz") for path in Path("images").iterdir()))

    def local_files(self, case):
        return Path("images") / f"{case}.nii.gz", Path("labels") / f"{case}.nii.gz"

    def load(self, case, files):
        image, labels = self.local_files(case)
        volume = read_image(image)
        values = read_labels(labels, volume.grid)
        return volume, targets_of(values, {1: ("thing", 1), 4: ("thing", 4)}, case, volume.spacing_mm)
'''


@pytest.fixture(autouse=True)
def folder(data: Path) -> None:
    Path("folder.py").write_text(FOLDER)
    Path("images").mkdir()
    Path("labels").mkdir()


def save(case: str, image: np.ndarray, labels: np.ndarray, shift: float = 0.0) -> None:
    nib.save(nib.Nifti1Image(image, np.eye(4)), f"images/{case}.nii.gz")
    affine = np.eye(4)
    affine[0, 3] = shift
    nib.save(nib.Nifti1Image(labels, affine), f"labels/{case}.nii.gz")


def scene() -> tuple[np.ndarray, np.ndarray]:
    image = np.random.default_rng(0).integers(0, 50, (18, 16, 14)).astype(np.int16)
    labels = np.zeros(image.shape, dtype=np.uint8)
    labels[4:10, 4:10, 4:10] = 4
    return image + 100 * (labels == 4).astype(np.int16), labels


def run(**options: object) -> pl.DataFrame:
    plugins = [Path("folder.py")]
    return intrabench.run("box_fill", "box_slice", "folder", plugin=plugins, **options)  # type: ignore[arg-type]


def test_each_bad_scan_is_one_sentence_in_a_row_and_the_good_one_goes_on() -> None:
    image, labels = scene()
    holes = image.astype(np.float32)
    holes[0, 0, 0] = np.nan
    save("good", image, labels)
    save("constant", np.full_like(image, 7), labels)
    save("holes", holes, labels)
    save("four", np.stack([image, image], axis=-1), labels)
    save("float", image, labels * np.float32(1.1))
    save("elsewhere", image, labels, shift=2.0)
    save("cut", image, labels)
    Path("images/cut.nii.gz").write_bytes(Path("images/cut.nii.gz").read_bytes()[:500])
    save("lone", image, labels)
    Path("labels/lone.nii.gz").unlink()
    words = {
        "constant": "is constant",
        "cut": "truncated",
        "elsewhere": "different grid",
        "float": "whole numbers",
        "four": "not that of one 3D image",
        "holes": "1 voxels that are NaN or infinite",
        "lone": "does not exist",
    }
    rows = run()
    assert rows.filter(pl.col("status") == "ok")["case"].to_list() == ["good"]
    failed = rows.filter(pl.col("status") == "no_data")
    assert dict(zip(failed["case"], failed["target"], strict=True)) == dict.fromkeys(words, "*")
    for case, error in zip(failed["case"], failed["error"], strict=True):
        assert words[case] in error
        assert f"{case}.nii.gz" in error
        assert "\n" not in error


def test_a_case_without_targets_is_left_out_and_said(capsys: pytest.CaptureFixture[str]) -> None:
    image, labels = scene()
    save("good", image, labels)
    save("bare", image, np.zeros_like(labels))
    assert run()["case"].to_list() == ["good"]


def test_a_mended_file_is_converted_anew() -> None:
    image, labels = scene()
    save("case", image, labels)
    first = run()
    labels[4:10, 4:10, 9] = 0
    save("case", image, labels)
    second = run()
    assert second["target_voxels"][0] < first["target_voxels"][0]
    assert second["session"][0] != first["session"][0]
    image[0, 0, 0] += 1
    save("case", image, labels)
    assert run()["session"][0] not in {*first["session"], *second["session"]}  # another image is another unit


@pytest.mark.parametrize("model", ["box_fill", "random_walker"])
def test_a_target_of_one_voxel_in_the_corner(model: str) -> None:
    image, labels = scene()
    labels[:] = 0
    labels[0, 0, 0] = 1
    image[0, 0, 0] = 500
    save("corner", image, labels)
    rows = intrabench.run(model, SPECS, "folder", plugin=[Path("folder.py")])
    assert rows["session"].n_unique() == len(SPECS)
    assert set(rows["status"]) <= {"ok", "empty", "not_applicable"}
    if model == "box_fill":
        assert rows.filter(pl.col("prompter") == "box_slice")["dice"].to_list() == [1.0]


def test_a_time_limit_is_a_row() -> None:
    image, labels = scene()
    save("case", image, labels)
    rows = intrabench.run("random_walker:time_limit_s=1e-9", "box_volume", "folder", plugin=[Path("folder.py")])
    assert rows.select("status", "dice").rows() == [("timeout", 0.0)]
