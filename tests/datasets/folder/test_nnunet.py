"""Folders of nnU-Net without a description, with several parts, and by their ids."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.registry import reach, registry
from tests.datasets.folder.made import NO_FILES, found, image, labels, nnunet, save

pytestmark = pytest.mark.usefixtures("data")

UNNAMED = ["label_1.1", "label_2.1", "label_5.1"]


def undescribed(root: Path) -> Path:
    (nnunet(root) / "dataset.json").unlink()
    return root


def test_without_a_description_values_have_no_names(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root = undescribed(tmp_path / "autoPET")
    dataset = registry.make("datasets", str(root))
    assert (dataset.cases(), dataset.card.modality) == (("case_000", "case_001"), "")
    assert list(found(root, "case_001")) == UNNAMED
    save(root / "imagesTr" / "case_000_0001.nii.gz", image(7))
    assert registry.make("datasets", str(root)).remarks() == wording
    volume, _ = registry.make("datasets", f"{root}:channel=1").load("case_000", NO_FILES)
    assert (volume.grid.from_canonical(volume.array) == image(7)).all()
    with pytest.raises(IntraBenchError) as caught:
        registry.make("datasets", f"{root}:channel=2")
    assert caught == wording


def test_other_parts_are_named(tmp_path: Path, wording: SnapshotAssertion) -> None:
    """As of AMOS, whose images have no channel in their names, but end in the number of their case."""
    root = nnunet(tmp_path / "amos", cases=0)
    for part, name in (("Tr", "amos_0001"), ("Tr", "amos_0004"), ("Va", "amos_0008")):
        save(root / f"images{part}" / f"{name}.nii.gz", image())
        save(root / f"labels{part}" / f"{name}.nii.gz", labels())
    dataset = registry.make("datasets", str(root))
    assert dataset.cases() == ("amos_0001", "amos_0004")
    assert dataset.remarks() == wording
    for name in ("amos_0002", "amos_0003"):
        save(root / "imagesTr" / f"{name}.nii.gz", image())
    save(root / "labelsTr" / "amos_0005.nii.gz", labels())
    layout = registry.make("datasets", str(root)).layout
    assert layout.cases() == tuple(f"amos_000{number}" for number in range(1, 6))
    assert [layout.content[f"amos_000{number}"].problem for number in (3, 5)] == wording
    (root / "dataset.json").unlink()
    dataset = registry.make("datasets", str(root))
    assert (dataset.cases(), dataset.remarks()) == (layout.cases(), wording)


def test_channels_of_a_case_without_a_label(tmp_path: Path) -> None:
    root = undescribed(tmp_path / "lab")
    for number in range(2):
        save(root / "imagesTr" / f"case_0007_000{number}.nii.gz", image())
    assert registry.make("datasets", str(root)).cases() == ("case_000", "case_0007", "case_001")


def test_a_part_of_another_name(tmp_path: Path) -> None:
    """As of FLARE 2023."""
    root = undescribed(tmp_path / "FLARE23")
    for folder in ("images", "labels"):
        (root / f"{folder}Tr").rename(root / f"{folder}Tr2200")
    assert list(found(root, "case_000")) == UNNAMED


def test_an_id_is_a_folder_in_raw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion) -> None:
    raw = tmp_path / "raw"
    for name in ("Dataset027_ACDC", "Dataset005_Liver", "Dataset005_Liver2"):
        nnunet(raw / name)
    with pytest.raises(IntraBenchError) as caught:
        registry.make("datasets", "Dataset027")
    assert caught == wording
    monkeypatch.setenv("nnUNet_raw", str(raw))
    for spec in ("Dataset027", "Dataset027_ACDC", "Dataset027:channel=0", "Dataset027+whole"):
        assert registry.make("datasets", spec).cases() == ("case_000", "case_001")
    assert registry.make("datasets", "Dataset027").name == "Dataset027_ACDC"
    assert registry.make("datasets", "Dataset005_Liver").name == "Dataset005_Liver"
    assert [one.kind for one in reach.reaches("datasets", "Dataset027")] == ["read"]
    for wrong in ("Dataset005", "Dataset028", "Dataset027_Heart", str(raw)):
        with pytest.raises(IntraBenchError) as caught:
            registry.make("datasets", wrong)
        assert caught == wording
