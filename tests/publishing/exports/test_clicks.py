"""Clicks as files of grand-challenge: the same voxels as the results have, in the order of the scan's file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from syrupy.assertion import SnapshotAssertion

from tests.conftest import Said


def tubes() -> None:
    """A scan with two tubes, whose voxels are elsewhere with their indices in another order."""
    import SimpleITK as sitk

    labels = np.zeros((30, 20, 24), np.uint8)
    labels[3:27, 4:8, 3:7], labels[5:25, 11:15, 14:19] = 1, 2
    for folder, array in (("images", 100 * labels.astype(np.int16)), ("labels", labels)):
        image = sitk.GetImageFromArray(array)
        image.SetSpacing((0.5, 0.5, 0.75))
        Path("scans", folder).mkdir(parents=True)
        sitk.WriteImage(image, f"scans/{folder}/p.nii.gz")
    Path("scans/dataset.toml").write_text('modality = "CT"\n[labels]\n1 = "left"\n2 = "right"\n')


def test_files_hold_all_points_up_to_each_round(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    import SimpleITK as sitk

    tubes()
    said = say("run", "--protocol", "toothfairy3@1", "--model", "random_walker", "--dataset", "scans", "--out", "out")
    assert said.code == 0, said.err
    words = ("--names", "Left_IAC,Right_IAC", "--order", "zyx", "--out", "out")
    assert say("export", "clicks", "gc", *words).out == wording
    labels = sitk.GetArrayFromImage(sitk.ReadImage("scans/labels/p.nii.gz"))
    (folder,) = Path("gc/scans/p").iterdir()
    found = [json.loads((folder / f"{number}_clicks.json").read_text())["points"] for number in range(6)]
    assert len(list(folder.iterdir())) == 6
    for number, points in enumerate(found):
        assert [point["name"] for point in points] == ["Left_IAC"] * number + ["Right_IAC"] * number
        assert [labels[tuple(point["point"])] for point in points] == [1] * number + [2] * number
        assert points[:number] == found[5][:number]
    assert say("export", "clicks", "plain", "--out", "out").code == 0
    (plain,) = Path("plain").rglob("5_clicks.json")
    turned: list[Any] = json.loads(plain.read_text())["points"]
    assert [point["point"][::-1] for point in turned] == [point["point"] for point in found[5]]
    assert [point["name"] for point in turned] == ["left.1"] * 5 + ["right.1"] * 5
    for more in (("--names", "one"), ("--order", "yxz")):
        refused = say("export", "clicks", "more", *more, "--out", "out")
        assert refused.code == 2
        assert refused.err == wording
    assert not Path("more").exists()
