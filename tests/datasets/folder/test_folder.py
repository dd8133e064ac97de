"""A folder as a data set: names and rules of ``dataset.toml``, conversion, runs, and what goes wrong."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.datasets.cases import store
from intrabench.errors import ChangedPatients, IntraBenchError
from intrabench.registry import registry
from intrabench.results.parts import read_rows
from tests.conftest import Said
from tests.datasets.folder.made import NO_FILES, found, image, labels, nnunet, pair, same, save
from tests.datasets.folder.test_dicom_layout import dicom_folder
from tests.wording import line_with, without_reasons

pytestmark = pytest.mark.usefixtures("data")

DRAWN = labels()
BLOCK = np.zeros_like(DRAWN, dtype=bool)
BLOCK[10:14, 10:14, 4:7] = True


def rule(root: Path, text: str) -> Path:
    (root / "dataset.toml").write_text(text)
    return root


def test_names_from_the_file(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root = rule(
        pair(tmp_path / "lab"),
        'name = "liver_lab"\ntitle = "Livers"\nmodality = "CT"\nlicence = "ours"\ncitation = "us"\n'
        '[labels]\n5 = "cyst"\n1 = "liver"\n',
    )
    dataset = registry.make("datasets", str(root))
    card = dataset.card
    assert (dataset.name, card.title, card.modality, card.licence, card.citation) == (
        "liver_lab",
        "Livers",
        "CT",
        "ours",
        "us",
    )
    assert same(found(root, "c1"), {"liver.1": DRAWN == 1, "cyst.1": DRAWN == 5})
    assert dataset.load("c1", NO_FILES)[0].notes == wording


def test_values_as_instances(tmp_path: Path) -> None:
    root = rule(pair(tmp_path / "lab"), '[labels]\n1 = "liver"\n"*" = "lesion"\n')
    assert same(found(root, "c1"), {"liver.1": DRAWN == 1, "lesion.1": DRAWN == 2, "lesion.2": DRAWN == 5})


def test_names_of_the_files_are_matched_too_and_one_value_can_be_ignored(tmp_path: Path) -> None:
    root = rule(nnunet(tmp_path / "lab"), '[labels]\n"liv*" = "organ"\n2 = "ignore"\n')
    dataset = registry.make("datasets", str(root))
    _, (target,) = dataset.load("case_000", NO_FILES)
    assert (target.id, target.ignore.voxels) == ("organ.1", 49)


@pytest.mark.parametrize(
    ("text", "instances"),
    [
        ('instances = "components"', {"1": 1, "2": 2, "5": 1}),
        ("instances = { min_voxels = 2 }", {"1": 1, "2": 1, "5": 1}),
        ("instances = { min_voxels = 9 }", {"1": 1, "2": 1, "5": 0}),
        ('[labels]\n2 = { label = "2", instances = "components" }\n"*" = "all"', {"2": 2, "all": 2}),
        (
            'instances = "components"\n[labels]\n2 = { label = "2", instances = "one" }\n"*" = "all"',
            {"2": 1, "all": 2},
        ),
    ],
)
def test_what_an_instance_is(tmp_path: Path, text: str, instances: dict[str, int]) -> None:
    root = rule(pair(tmp_path / "lab"), text)
    _, targets = registry.make("datasets", str(root)).load("c1", NO_FILES)
    counted = {label: [target.label.removeprefix("label_") for target in targets].count(label) for label in instances}
    assert counted == instances
    if "min_voxels = 2" in text:
        found_two = next(target for target in targets if target.label == "label_2")
        assert found_two.mask.voxels == BLOCK.sum()


@pytest.mark.parametrize(
    ("text", "patients"),
    [
        ("", ["P01_scan1", "P01_scan2", "P_2_scan1", "solo"]),
        ('"*_scan*" = "*"', ["P01", "P01", "P_2", "solo"]),
        ('"*_*" = "*"', ["P01", "P01", "P_2", "solo"]),
        ('"P01_*" = "Anna"\n"P*_scan*" = "number *"', ["Anna", "Anna", "number _2", "solo"]),
        ('"P01_scan2" = "solo"', ["P01_scan1", "solo", "P_2_scan1", "solo"]),
        ('"P?1_*" = "x"\n"*" = "all"', ["all"] * 4),
        ('"P01_*" = 7\nsolo = 2021-03-04', ["7", "7", "P_2_scan1", "2021-03-04"]),
    ],
)
def test_patients(tmp_path: Path, text: str, patients: list[str]) -> None:
    root = tmp_path / "lab"
    for case in ("P01_scan1", "P01_scan2", "P_2_scan1", "solo"):
        pair(root, case)
    dataset = registry.make("datasets", str(rule(root, f"[patients]\n{text}")))
    assert [dataset.patient(case) for case in dataset.cases()] == patients


def test_patients_of_dicom_can_be_named(tmp_path: Path) -> None:
    root = rule(dicom_folder(tmp_path / "study"), '[patients]\n"p1 *" = "first"\n')
    dataset = registry.make("datasets", str(root))
    assert [dataset.patient(case) for case in dataset.cases()] == ["first", "first", "p2"]


def test_the_check_counts_patients_and_lines_that_never_count(
    tmp_path: Path, say: Callable[..., Said], wording: SnapshotAssertion
) -> None:
    root = tmp_path / "lab"
    for number, case in enumerate(("P01_a", "P01_b", "P02_a")):
        pair(root, case, number)
    text = say("data", "check", str(root)).out
    assert "3 of 3 patients" in text
    assert line_with(text, "patients; targets") == wording
    rule(root, '[patients]\n"P1_*" = "P01"\n"P01_*" = "P01"\n"P01_a" = "P02"\n')
    told = say("data", "check", str(root)).out
    assert "3 of 2 patients" in told
    assert line_with(told, "patients; targets") == wording
    for key in ("P1_*", "P01_a"):
        never = f'"{key}" under [patients] in dataset.toml never counts; it fits no case, or an earlier line fits'
        assert f"warning: {never} the same ones\n" in told


def test_names_of_labels_and_targets_are_typed(
    tmp_path: Path, say: Callable[..., Said], wording: SnapshotAssertion
) -> None:
    names = '[names]\none = "lever"\n"two.2" = ["Niere", "kidney"]\n'
    text = f'instances = "components"\n[labels]\n1 = "one"\n2 = "two"\n{names}'
    root = rule(pair(tmp_path / "lab"), text)
    dataset = registry.make("datasets", str(root))
    assert dataset.card.names == {"one": ("lever",), "two.2": ("Niere", "kidney")}
    store.prepare(dataset, "c1")
    stored = {target.id: target.names for target in store.open_case(dataset, "c1").targets()}
    assert stored == {"one.1": ("lever",), "two.1": (), "two.2": ("Niere", "kidney")}
    assert "under [names]" not in say("data", "check", str(root)).out
    rule(root, text + 'three = "drei"\n')
    assert line_with(say("data", "check", str(root)).out, "label and") == wording


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("7", 'write "NAME" or ["NAME", "SYNONYM"]'),
        ("[]", 'write "NAME" or ["NAME", "SYNONYM"]'),
        ('["a", ""]', "text has no words"),
        ('"a\\nb"', "which cannot be printed"),
    ],
)
def test_names_that_nobody_can_type_are_one_sentence(tmp_path: Path, given: str, told: str) -> None:
    root = rule(pair(tmp_path / "lab"), f"[names]\nliver = {given}\n")
    with pytest.raises(IntraBenchError, match=r"names\.liver does not fit") as caught:
        registry.make("datasets", str(root))
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("", ["", "", ""]),
        ('"*_t1" = "1"\n"P01_t10" = "10"', ["1", "10", ""]),
        ('"*_t1" = 2021-03-04\n"P01_t10" = 2', ["2021-03-04", "2", ""]),
        ('"P*" = "week *"\n"solo" = "never counts"\n"s*" = "0"', ["week 01_t1", "week 01_t10", "never counts"]),
    ],
)
def test_times(tmp_path: Path, text: str, times: list[str]) -> None:
    for case in ("P01_t1", "P01_t10", "solo"):
        pair(tmp_path / "lab", case)
    dataset = registry.make("datasets", str(rule(tmp_path / "lab", f"[timepoints]\n{text}")))
    assert [dataset.time(case) for case in dataset.cases()] == times


def test_the_check_says_which_scans_are_follow_ups(
    tmp_path: Path, say: Callable[..., Said], wording: SnapshotAssertion
) -> None:
    root = tmp_path / "lab"
    for number, case in enumerate(("P1_t2", "P1_t10", "P2_t1", "P2_t2", "P2_t3", "P3")):
        pair(root, case, number)
    assert "time points" not in say("data", "check", str(root)).out
    rule(root, '[patients]\n"*_*" = "*"\n[timepoints]\n"t2_*" = "*"\n')
    assert line_with(say("data", "check", str(root)).out, "[timepoints]") == wording
    each = "".join(f'"*_t{number}" = "t{number}"\n' for number in (1, 2, 3, 10))
    rule(root, f'[patients]\n"*_*" = "*"\n[timepoints]\n{each}')
    assert "time points: 2 patients with 2 to 3, 3 pairs of follow-up\n" in say("data", "check", str(root)).out
    told = json.loads(say("data", "check", str(root), "--json").out)
    assert [(one["case"], one["time"], one["prior"]) for one in told["cases"]] == [
        ("P1_t10", "t10", "P1_t2"),
        ("P1_t2", "t2", ""),
        ("P2_t1", "t1", ""),
        ("P2_t2", "t2", "P2_t1"),
        ("P2_t3", "t3", "P2_t2"),
        ("P3", "", ""),
    ]
    rule(root, f'[patients]\n"*_*" = "*"\n[timepoints]\n"P9*" = "9"\n"P1*" = "1"\n{each}')
    told = json.loads(say("data", "check", str(root), "--json").out)
    assert told["warnings"] == wording
    assert not any("time" in warning for one in told["cases"] for warning in one["warnings"])


def test_patients_reach_rows_that_were_there_before(tmp_path: Path) -> None:
    root = pair(pair(tmp_path / "lab", "P01_a"), "P01_b", 1)
    before = intrabench.run("box_fill", "box_slice", root, out="r")
    assert before["patient"].to_list() == before["case"].to_list()
    parts = len(list(Path("r", "rows").glob("*.parquet")))
    rule(root, '[patients]\n"*_*" = "*"\n')
    changed = (
        "lab: patients have changed (P01_a was of P01_a and is of P01, P01_b was of P01_b and is of P01); this counts "
        "for all stored rows of these cases"
    )
    with pytest.warns(ChangedPatients, match=f"^{re.escape(changed)}$"):
        rows = intrabench.run("box_fill", "box_slice", root, out="r")
    assert set(rows["patient"]) == {"P01"}
    assert rows.drop("patient", "run_id", "written_at").equals(before.drop("patient", "run_id", "written_at"))
    intrabench.run("box_fill", "box_slice", root, out="r")
    assert len(list(Path("r", "rows").glob("*.parquet"))) == parts + 1  # one row per case, once
    (root / "dataset.toml").unlink()
    with pytest.warns(ChangedPatients, match="P01_a was of P01 and is of P01_a"):
        again = intrabench.run("box_fill", "box_slice", root, out="r")
    assert again.drop("run_id", "written_at").equals(before.drop("run_id", "written_at"))


def test_another_model_tells_that_patients_changed(tmp_path: Path, say: Callable[..., Said]) -> None:
    """Its rows are new, but the newest row of a case decides for all."""
    root = pair(tmp_path / "lab", "P01_a")
    words = ("-p", "box_slice", "-d", str(root), "--targets", "label_1", "--out", "r")
    assert "patients" not in say("run", "-m", "box_fill", *words).err
    rule(root, '[patients]\n"P01_a" = "Anna"\n')
    told = (
        "lab: patients have changed (P01_a was of P01_a and is of Anna); this counts for all stored rows of these cases"
    )
    assert told in say("run", "-m", "random_walker", *words).err.splitlines()
    assert set(read_rows(Path("r"))["patient"]) == {"Anna"}


@pytest.mark.parametrize(
    "text",
    [
        '[patients]\nP01_a = "*"',
        '[patients]\nP01_a = ""',
        '[patients]\nc1 = " "',
        '[patients]\nc11 = "P"',
        "[patients]\nP01_a = 0.50",
        "[timepoints]\nP01_a = true",
        '[timepoints]\nc1 = "*"',
        '[timepoints]\nc1 = " "',
        '[timepoints]\nc11 = "2"',
        "name =",
        'nmae = "x"',
        'name = "a b"',
        "[labels]\n1 = 2",
        '[labels]\n1 = { lable = "x" }',
        'instances = "values"',
        "instances = { connectivity = 8 }",
        "instances = { dilatoin = 8 }",
    ],
)
def test_a_dataset_toml_that_is_wrong(
    tmp_path: Path, say: Callable[..., Said], text: str, wording: SnapshotAssertion
) -> None:
    root = rule(pair(tmp_path / "lab"), text)
    with pytest.raises(IntraBenchError) as caught:
        registry.make("datasets", str(root))
    assert caught == wording
    told = say("data", "get", str(root))
    assert told.code == 2
    assert told.err.count("\n") == 1


def test_get_list_verify_remove(
    tmp_path: Path, say: Callable[..., Said], data: Path, wording: SnapshotAssertion
) -> None:
    root = str(nnunet(tmp_path / "Dataset001_Liver"))
    told = say("data", "get", root)
    assert "case case_000: 3 targets" in told.out
    assert "case case_001: 3 targets" in told.out
    assert (told.code, told.out) == (0, wording)
    assert say("data", "list", root).out.splitlines()[1].split()[:3] == ["case_000", "tumour.1", "49"]
    assert say("data", "verify", root).code == 0
    assert say("data", "remove", root).code == 0
    assert not list(data.glob("cases/*/case*"))


def test_a_run_on_a_folder(tmp_path: Path, say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    root = nnunet(tmp_path / "Dataset001_Liver", cases=3)
    (root / "labelsTr" / "case_001.nii.gz").write_bytes(b"broken")
    told = say("run", "--model", "box_fill", "--prompter", "box_slice", "--dataset", str(root), "--out", "r")
    assert told.code == 1
    assert without_reasons(line_with(told.err, "case case_001")) == wording
    rows = intrabench.run("box_fill", "box_slice", str(root), out="r")
    assert rows["case"].unique().sort().to_list() == ["case_000", "case_001", "case_002"]
    assert rows.filter(rows["case"] == "case_000")["label"].to_list() == ["cyst", "liver", "tumour"]
    assert rows.filter(rows["case"] == "case_001")["status"].to_list() == ["no_data"]
    blocks = rows.filter(rows["label"].is_in(["liver", "cyst"]) & (rows["case"] != "case_001"))
    assert blocks["dice"].to_list() == [1.0] * 4  # a box is right for a block
    save(root / "labelsTr" / "case_001.nii.gz", labels())
    again = say("run", "--model", "box_fill", "--prompter", "box_slice", "--dataset", str(root), "--out", "r")
    assert again.code == 0
    assert again.err == wording


def test_the_name_and_not_the_place_is_in_rows_and_random_streams(tmp_path: Path) -> None:
    first = pair(tmp_path / "a" / "lab")
    second = pair(tmp_path / "b" / "lab")
    rows = [intrabench.run("box_fill", "points_volume", str(root), out=f"{root.parent}/r") for root in (first, second)]
    assert rows[0]["prompts_hash"].to_list() == rows[1]["prompts_hash"].to_list()


def test_two_folders_of_one_name_are_kept_apart(tmp_path: Path, data: Path) -> None:
    first = pair(tmp_path / "a" / "lab")
    second = pair(tmp_path / "b" / "lab", drawn=(labels() == 1).astype(np.uint8))
    assert len(found(first, "c1")) == 3
    assert len(found(second, "c1")) == 1
    assert len(found(first, "c1")) == 3
    assert len(list(data.glob("cases/lab-2-*/c1"))) == 2


@pytest.mark.parametrize(("header", "voxels"), [("mhd", "zraw"), ("nhdr", "raw.gz"), ("hdr", "img")])
def test_voxels_beside_a_header_that_change_are_converted_anew(
    tmp_path: Path, header: str, voxels: str, wording: SnapshotAssertion
) -> None:
    import SimpleITK as sitk

    root = tmp_path / "lab"
    for folder, array in (("images", image()), ("labels", labels())):
        (root / folder).mkdir(parents=True)
        sitk.WriteImage(sitk.GetImageFromArray(array), str(root / folder / f"c1.{header}"), useCompression=True)
    dataset = registry.make("datasets", str(root))
    assert set(dataset.local_files("c1")) == {path for path in root.glob("*/*") if path.name != "dataset.toml"}
    for folder in ("images", "labels"):
        store.prepare(dataset, "c1")
        assert store.index(dataset, "c1") is not None
        os.utime(root / folder / f"c1.{voxels}", ns=(0, 0))
        assert store.index(dataset, "c1") is None
    (root / "labels" / f"c1.{voxels}").unlink()
    with pytest.raises(IntraBenchError) as caught:
        dataset.load("c1", NO_FILES)
    assert caught == wording


def test_what_changes_is_converted_anew(tmp_path: Path) -> None:
    root = pair(pair(tmp_path / "lab", "c1"), "c2")
    dataset = registry.make("datasets", str(root))
    store.prepare(dataset, "c1")
    store.prepare(dataset, "c2")
    save(root / "labels" / "c1.nii.gz", (DRAWN == 5).astype(np.uint8))
    os.utime(root / "labels" / "c1.nii.gz", ns=(1, 1))
    assert store.index(dataset, "c1") is None
    assert store.index(dataset, "c2") is not None
    assert same(found(root, "c1"), {"label_1.1": DRAWN == 5})
    rule(root, '[labels]\n1 = "cyst"\n')
    assert store.index(registry.make("datasets", str(root)), "c2") is None
    assert same(found(root, "c1"), {"cyst.1": DRAWN == 5})


def test_what_is_taken_away_is_seen_too(tmp_path: Path) -> None:
    root = rule(pair(tmp_path / "lab"), '[labels]\n1 = "liver"\n')
    assert list(found(root, "c1")) == ["liver.1"]
    (root / "dataset.toml").unlink()
    assert list(found(root, "c1")) == ["label_1.1", "label_2.1", "label_5.1"]


def test_paths_and_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion) -> None:
    monkeypatch.chdir(tmp_path)
    pair(tmp_path / "my scans: new")
    pair(tmp_path / "phantom")
    assert registry.make("datasets", "my scans: new").name == "my_scans_new"
    assert registry.make("datasets", f"{tmp_path}/my scans: new").name == "my_scans_new"
    assert type(registry.make("datasets", "phantom")).__name__ == "Phantom"  # a folder never takes a known name
    with pytest.raises(IntraBenchError) as caught:
        registry.make("datasets", "./phantom")
    assert caught == wording
    rule(tmp_path / "phantom", 'name = "mine"')
    dataset = registry.make("datasets", "phantom/:channel=0")
    assert (dataset.name, dataset.short_spec, dataset.argument) == ("mine", "mine", str(tmp_path / "phantom"))
    with pytest.raises(IntraBenchError) as caught:
        registry.make("datasets", "phantom/:chanel=1")
    assert caught == wording
    with pytest.raises(IntraBenchError, match="channels count from 0"):
        registry.make("datasets", "phantom/:channel=-1")
    with pytest.raises(IntraBenchError) as caught:
        registry.make("datasets", "nothing")
    assert caught == wording


def test_rows(tmp_path: Path) -> None:
    root = nnunet(tmp_path / "Dataset001_Liver")
    rows = intrabench.run("box_fill", "box_slice", str(root))
    assert rows["dataset"].unique().to_list() == ["Dataset001_Liver"]


def test_masks_of_a_folder_are_exported(tmp_path: Path, say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    root = nnunet(tmp_path / "Dataset001_Liver")
    intrabench.run("box_fill", "box_slice", str(root), save_masks=True)
    assert say("export", "masks", "nii").out == wording


def test_two_folders_of_one_name_in_one_run_are_refused(tmp_path: Path, wording: SnapshotAssertion) -> None:
    folders = [str(pair(tmp_path / parent / "lab")) for parent in "ab"]
    with pytest.raises(IntraBenchError) as caught:
        intrabench.run("box_fill", "box_slice", folders)
    assert caught == wording
