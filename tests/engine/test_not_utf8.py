"""Names on Linux that are not UTF-8: one sentence names the file, and nothing ends in a traceback."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench import Dataset, DatasetCard, IntraBenchError, Target, Volume, targets_of
from intrabench.errors import FailedSessions
from intrabench.results.store import Store
from tests.conftest import Said
from tests.datasets.folder.made import nnunet, pair

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names"),
    pytest.mark.usefixtures("data"),
]
BAD = "caf\udce9"
LABELS = {"liver": "liver", "bad": BAD, "empty": ""}


@dataclass(frozen=True)
class Mine(Dataset):
    name = "mine"
    version = "1"
    card = DatasetCard("Mine", "CT")
    case: str = "one"
    label: str = "liver"

    def cases(self) -> tuple[str, ...]:
        return (self.case,)

    def load(self, case: str, files: intrabench.Files) -> tuple[Volume, list[Target]]:
        labels = np.zeros((4, 8, 8), np.uint8)
        labels[1:3, 2:5, 2:5] = 1
        volume = Volume.from_canonical(labels.astype(np.int16), (1.0, 1.0, 1.0))
        return volume, targets_of(labels, {1: (LABELS[self.label], 1)}, case, volume.spacing_mm)


@pytest.mark.parametrize("command", ["check", "run"])
def test_a_file_is_named(say: Callable[..., Said], tmp_path: Path, command: str, wording: SnapshotAssertion) -> None:
    root = pair(tmp_path / "d", BAD)
    run = ("run", "--model", "box_fill", "--prompter", "box_slice", "--dataset")
    said = say(*(("data", "check") if command == "check" else run), str(root))
    assert said.code == 1
    assert said.out + said.err == wording


@pytest.mark.parametrize("layout", ["pairs", "nnunet", "npz"])
def test_the_other_files_of_its_folder_are_used(tmp_path: Path, layout: str, wording: SnapshotAssertion) -> None:
    root = tmp_path / "d"
    if layout == "pairs":
        pair(pair(root, BAD), "c1")
    elif layout == "nnunet":
        for folder, ending in (("imagesTr", "_0000"), ("labelsTr", "")):
            place = nnunet(root, cases=1) / folder
            shutil.copyfile(place / f"case_000{ending}.nii.gz", place / f"{BAD}{ending}.nii.gz")
    else:
        root.mkdir()
        drawn = np.zeros((4, 8, 8), np.uint8)
        drawn[1:3, 2:5, 2:5] = 1
        for name in ("c1", BAD):
            np.savez(root / f"{name}.npz", imgs=drawn * 100, gts=drawn, spacing=(1.0, 1.0, 1.0))
    with pytest.warns(FailedSessions):
        found = intrabench.run("box_fill", "box_slice", os.fspath(root), progress=False)
    assert set(found.filter(status="ok")["case"]) == {"case_000" if layout == "nnunet" else "c1"}
    (bad,) = found.filter(status="no_data").iter_rows(named=True)
    assert bad["case"] == r"caf\udce9"
    assert bad["error"] == wording


def test_an_argument_is_named(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    said = say("run", "--model", "box_fill", "--prompter", "box_slice", "--dataset", BAD)
    assert (said.code, said.err) == (2, wording)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"case": BAD}, r"case of data set mine: 'caf\\udce9' is not UTF-8"),
        ({"case": ""}, "mine.cases returned an empty name"),
    ],
)
def test_names_of_cases_are_refused(given: dict[str, str], sentence: str) -> None:
    with pytest.raises(IntraBenchError, match=sentence):
        intrabench.run("box_fill", "box_slice", Mine(**given), progress=False)


@pytest.mark.parametrize("label", ["bad", "empty"])
def test_a_label_fails_its_case_alone(label: str, wording: SnapshotAssertion) -> None:
    with pytest.warns(FailedSessions):
        found = intrabench.run("box_fill", "box_slice", Mine(label=label), progress=False)
    assert found["error"].item() == wording


def test_a_results_folder_is_named(tmp_path: Path, wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        Store(tmp_path / BAD, "run")
    assert caught == wording


def test_a_folder_around_the_data_may_have_any_name(tmp_path: Path) -> None:
    root = pair(tmp_path / BAD / "d", "one")
    found = intrabench.run("box_fill", "box_slice", os.fspath(root), progress=False)
    assert found["status"].unique().to_list() == ["ok"]
