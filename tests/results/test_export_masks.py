"""Masks as NIfTI files: one file for each, whatever cases, targets and data sets are called."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench import Dataset, DatasetCard, Target, Volume, targets_of
from intrabench.datasets.cases import store
from intrabench.datasets.cases.selection import select_targets
from intrabench.files.names import one_line
from intrabench.models.box_fill import BoxFill
from intrabench.registry import registry
from intrabench.reporting.page.page import write_report
from intrabench.results.export import export
from intrabench.results.parts import read_rows
from intrabench.volume import read_image
from tests.conftest import Said

Say = Callable[..., Said]
CASES = ("p 1", "p_1", "..", "a/b", "A/b", "x" * 300, "é")
LABELS = ("lesion [left]", "lesion [right]", "[/left]", "a|b,c+d:e", 'quo"te$x$', "new\nline", "Lesion [left]")


@dataclass(frozen=True)
class Awkward(Dataset):
    name = "awkward"
    version = "1"
    card = DatasetCard("Awkward names", "CT")

    def cases(self) -> tuple[str, ...]:
        return CASES

    def load(self, case: str, files: intrabench.Files) -> tuple[Volume, list[Target]]:
        labels = np.zeros((4, 8, 40), np.uint8)
        for value in range(1, 8):
            labels[1:3, 2 : 3 + CASES.index(case) % 4, 4 * value : 4 * value + 2] = value
        volume = Volume.from_canonical(labels.astype(np.int16), (1.0, 1.0, 1.0))
        names = {number: (label, 1) for number, label in enumerate(LABELS, start=1)}
        return volume, targets_of(labels, names, case, volume.spacing_mm)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``data`` and ``results``: awkward names, with all masks."""
    folder = tmp_path_factory.mktemp("names")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INTRABENCH_DATA", str(folder / "data"))
        intrabench.run(["box_fill"], ["box_slice"], Awkward, save_masks=True, out=folder / "results", progress=False)
    return folder


@pytest.fixture
def results(played: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("INTRABENCH_DATA", str(played / "data"))
    registry.introduce("datasets", Awkward)
    return played / "results"


def test_every_mask_has_its_own_file_inside_the_folder(results: Path, tmp_path: Path) -> None:
    rows = read_rows(results)
    folder = tmp_path / "deep" / "nii"
    assert rows["status"].unique().to_list() == ["ok"]
    assert export(results, folder) == (rows.height, [], [], [])
    assert rows.height == len(CASES) * len(LABELS)
    files = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*.nii.gz"))
    assert len({str(path).casefold() for path in files}) == len(files) == rows.height  # also where A and a are one
    assert {path.parts[:3] for path in files} == {("deep", "nii", "awkward")}
    assert folder / "awkward/p_1/Lesion [left].1__box_fill__box_slice__seed0_round0.nii.gz" in folder.rglob("*")


def test_an_exported_mask_is_that_of_its_case_and_label(results: Path, tmp_path: Path) -> None:
    export(results, tmp_path)
    for case, quoted in (("p 1", "p 1"), ("p_1", "p_1"), ("..", "%2E%2E"), ("é", "%C3%A9")):
        file = tmp_path / "awkward" / quoted / "[%2Fleft].1__box_fill__box_slice__seed0_round0.nii.gz"
        row = read_rows(results).filter((pl.col("case") == case) & (pl.col("label") == "[/left]"))
        found = np.argwhere(read_image(file).array)
        assert len(found) == row["pred_voxels"].item() > 0
        assert set(found[:, 2].tolist()) == {12, 13}  # the third label


def test_what_is_stored_comes_back(results: Path) -> None:
    rows = read_rows(results)
    assert set(rows["case"]) == set(CASES)
    assert set(rows["label"]) == set(LABELS)


@pytest.mark.parametrize("format", ["text", "csv", "html"])
def test_tables_print_every_name_as_it_is(
    results: Path, say: Say, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    said = say("table", "--columns", "label", "--by", "case", "--out", str(results), "--format", format)
    assert said.code == 0
    text = html.unescape(said.out)
    for name in ("p 1", "p_1", "..", "a/b", "A/b", "é"):
        assert name in text
    for label in ("[left]", "[right]", "[/left]", "a|b,c+d:e", "$x$"):
        assert label in text.replace(chr(10), "")


def test_the_report_holds_every_name(results: Path, tmp_path: Path) -> None:
    write_report(results, tmp_path / "report.html", views=100)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    listed = re.findall("<option[^>]*>[^<]*: (.*?) \\(mean Dice", page)
    expected = {f"{one_line(case)}, {one_line(label)}.1" for case in CASES for label in LABELS}
    assert {html.unescape(entry) for entry in listed} == expected
    stored = [json.loads(found) for found in re.findall("<script[^>]*id=view\\d+>(.*?)</script>", page, re.DOTALL)]
    assert {(view["case"], view["target"]) for view in stored} == {(c, f"{one}.1") for c in CASES for one in LABELS}


@pytest.mark.parametrize("label", [*LABELS, "lesion *"])
def test_a_label_chooses_its_target(results: Path, label: str) -> None:
    index = store.index(Awkward(), "p 1")
    expected = [one for one in LABELS if one == label or (label == "lesion *" and one.startswith("lesion"))]
    assert [info.label for info in select_targets(index, [label])] == expected
    if label in LABELS:
        assert [info.label for info in select_targets(index, [f"{label}.1"])] == expected


def test_exported_masks_are_a_model_with_the_same_dice(tmp_path: Path, say: Say, wording: SnapshotAssertion) -> None:
    """Of one model and round, chosen among several; a session that ended early gives its last state."""
    play = ["--prompter", "box_volume+click_center", "--dataset", "phantom:shape=24x48x48", "--workers", "0"]
    models = ["--model", "random_walker", "--model", "box_fill"]
    assert say("run", *models, *play, "--rounds", "1", "--save-masks", "--out", f"{tmp_path}/out").code == 0
    words = ["export", "masks", "--out", f"{tmp_path}/out"]
    assert say(*words, f"{tmp_path}/all").out.startswith("wrote 12 masks")
    chosen = ["--model", "random_walker", "--prompter", "box_volume+click_center", "--seed", "0", "--round", "7"]
    assert say(*words, f"{tmp_path}/nii", *chosen).out.startswith("wrote 3 masks")
    (folder,) = (tmp_path / "nii").iterdir()
    stored = f"masks:folder={folder},instances=files"
    said = say("run", "--model", stored, *play, "--rounds", "0", "--out", f"{tmp_path}/again")
    assert said.code == 0, said.err
    first = read_rows(tmp_path / "out").filter(pl.col("model") == "random_walker", pl.col("round") == 1)
    again = read_rows(tmp_path / "again")
    assert again.sort("target")["dice"].to_list() == first.sort("target")["dice"].to_list()
    assert again["dice"].n_unique() == 3
    said = say(*words, f"{tmp_path}/no", "--model", "box_fil")
    assert said.err == wording
    said = say(*words, f"{tmp_path}/no", "--seed", "9")
    assert said.err == wording
    assert not (tmp_path / "no").exists()


def test_masks_of_sessions_that_do_not_count_are_not_written(
    tmp_path: Path, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of an older version of the model, and of a prompter that it does not take: it never answered."""
    play = ["--prompter", "box_volume", "--prompter", "points_volume", "--dataset", "phantom:shape=12x24x24"]
    for version in ("old", "new"):
        monkeypatch.setattr(BoxFill, "version", version)
        words = ["run", "--model", "box_fill", *play, "--workers", "0", "--save-masks", "--out", f"{tmp_path}/out"]
        assert say(*words).code == 0
    said = say("export", "masks", f"{tmp_path}/nii", "--out", f"{tmp_path}/out")
    told = "6 older sessions of box_fill are left out: it has changed since\n"
    assert (said.code, said.out, said.err) == (0, f"wrote 3 masks to {tmp_path}/nii\n", told)
    assert say("export", "masks", f"{tmp_path}/no", "--out", f"{tmp_path}/out", "--round", "-1").code == 2
    assert not (tmp_path / "no").exists()
