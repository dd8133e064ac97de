"""Pages for people call targets as the data set's card does."""

from __future__ import annotations

import json
from pathlib import Path

import nibabel
import numpy as np
import pytest

import intrabench
from intrabench.people.annotating.annotation import Annotation
from intrabench.people.clicking.scenes import Scenes
from intrabench.people.rating.design import Plan, design
from intrabench.registry import registry


@pytest.fixture
def folder(data: Path, tmp_path: Path) -> str:
    """Two targets, of which one has names."""
    label = np.zeros((16, 16, 8), np.uint8)
    label[2:7, 2:7, 2:5], label[9:14, 9:14, 2:5] = 1, 2
    for kind, array in (("images", 100.0 * (label > 0)), ("labels", label)):
        path = tmp_path / "scans" / kind / "a.nii.gz"
        path.parent.mkdir(parents=True)
        nibabel.save(nibabel.Nifti1Image(array.astype(np.float32 if kind == "images" else np.uint8), np.eye(4)), path)
    rules = '[labels]\n1 = "kid_l"\n2 = "kid_r"\n[names]\nkid_l = ["left kidney", "left renal mass"]\n'
    (tmp_path / "scans" / "dataset.toml").write_text(rules)
    return str(tmp_path / "scans")


def test_pages_call_targets_as_the_card_does(folder: str, tmp_path: Path) -> None:
    with Annotation({"model": "box_fill", "dataset": folder}, tmp_path / "out") as people:
        assert sorted(task.target for task in people.tasks("r1")) == ["kid_r", "left kidney"]
    scenes = Scenes([registry.make("datasets", folder)], [], [], tmp_path / "clicks", named=True)
    assert sorted(scene.label for scene in scenes.all) == ["kid_r", "left kidney"]
    intrabench.run("box_fill", "box_slice", folder, save_masks=True, workers=0, out=tmp_path / "results")
    design(tmp_path / "results", tmp_path / "study", Plan(anchors=0, repeats=0, training=0))
    jobs = (tmp_path / "study" / "jobs").glob("*.json")
    assert {json.loads(job.read_text())["label"] for job in jobs} == {"kid_r", "left kidney"}
