"""Rows of cases and targets that a folder no longer has do not count, in any output."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.errors import PartialResults
from intrabench.results.current import current
from intrabench.results.parts import read_rows
from intrabench.workspace import data_root
from tests.conftest import Said
from tests.datasets.folder.made import SHAPE, image, save
from tests.datasets.folder.test_dicom_layout import drawn_series

pytestmark = pytest.mark.usefixtures("data")

OUT = Path("out")
SIDES = {"a": 4, "b": 6, "c": 8}
"""Cases, with the side of an L in a square, of which a box has a Dice that is known."""


def corner(side: int, *places: tuple[int, int]) -> np.ndarray:
    """Squares of a side on one slice, each without a quarter; value 1, 2, ..."""
    drawn = np.zeros(SHAPE, np.uint8)
    for value, (x, y) in enumerate(places or [(1, 1)], start=1):
        drawn[x : x + side, y : y + side, 5] = value
        drawn[x : x + side // 2, y : y + side // 2, 5] = 0
    return drawn


DICE = 2 * 0.75 / 1.75
"""Of a full square and such a corner."""


def folder(root: Path = Path("lab"), cases: str = "abc") -> Path:
    for case in cases:
        save(root / "images" / f"{case}.nii.gz", image(ord(case)))
        save(root / "labels" / f"{case}.nii.gz", corner(SIDES[case]))
    return root


def remove(case: str, root: Path = Path("lab")) -> None:
    for name in ("images", "labels"):
        (root / name / f"{case}.nii.gz").unlink()


def rename(case: str, new: str, root: Path = Path("lab")) -> None:
    for name in ("images", "labels"):
        (root / name / f"{case}.nii.gz").rename(root / name / f"{new}.nii.gz")


def play(*datasets: str | Path, **options: object) -> None:
    intrabench.run("box_fill", "box_slice", list(map(str, datasets or ("lab",))), out=OUT, **options)


def counting() -> tuple[set[tuple[str, str]], list[str]]:
    """The cases and targets that count, and what is said of others."""
    rows, told = current(read_rows(OUT), root=OUT)
    return set(rows.select("case", "target").iter_rows()), told


def cases() -> set[str]:
    return {case for case, _ in counting()[0]}


def test_a_case_that_was_removed_does_not_count_and_is_told(wording: SnapshotAssertion) -> None:
    folder()
    play()
    assert counting() == ({(case, "label_1.1") for case in "abc"}, [])
    remove("b")
    found, told = counting()
    assert found == {("a", "label_1.1"), ("c", "label_1.1")}
    assert told == wording
    folder(cases="b")
    assert cases() == set("abc")


def test_a_scan_that_was_renamed_counts_once() -> None:
    folder(cases="ab")
    play()
    rename("b", "patient 2")
    assert cases() == {"a"}
    play()
    assert cases() == {"a", "patient 2"}
    with pytest.warns(PartialResults, match="longer has case b"):
        table = intrabench.table(OUT)
    assert table["sessions"].to_list() == [2]
    assert table["lab"].to_list() == [pytest.approx(DICE, abs=1e-6)]


def test_several_cases_are_named_together(wording: SnapshotAssertion) -> None:
    for case in "abcdefg":
        SIDES.setdefault(case, 4)
        folder(cases=case)
    play()
    for case in "bcdef":
        remove(case)
    _, told = counting()
    assert told == wording


def test_series_that_come_and_go_are_counted_once() -> None:
    root = Path("study")
    for number, series in enumerate(("1.2.840.70000001", "1.2.840.70000003")):
        drawn_series(root, series, PatientID="P", SeriesNumber=number + 2)
    play(root)
    drawn_series(root, "1.2.840.70000002", PatientID="P", SeriesNumber=2)  # between them, by number and by UID
    play(root)
    assert cases() == {"P 2 70000001", "P 2 70000002", "P 3 70000003"}
    shutil.rmtree(root / "1.2.840.70000002")
    found, (told,) = counting()
    assert {case for case, _ in found} == {"P 2 70000001", "P 3 70000003"}
    assert "P 2 70000002" in told
    with pytest.warns(PartialResults):
        assert intrabench.table(OUT)["sessions"].to_list() == [2]


def test_two_people_who_drew_on_one_image_do_not_replace_each_other() -> None:
    """In one run, and in two; the patient is the same."""
    scan = save(Path("p1/scan.nii.gz"), image())
    specs = [f"{scan}:label={save(Path(f'p1/{who}.nii.gz'), corner(side))}" for who, side in (("anna", 4), ("bob", 8))]
    for datasets in ([specs[0]], [specs[1]], specs):
        play(*datasets)
        rows, told = current(read_rows(OUT), root=OUT)
        assert told == []
    assert set(rows.select("dataset", "case", "patient").iter_rows()) == {
        ("p1", "scan anna", "scan"),
        ("p1", "scan bob", "scan"),
    }


def test_two_people_who_drew_on_all_images_are_two_data_sets() -> None:
    folder(Path("study"), "ab")
    shutil.copytree("study/labels", "study/anna")
    for who in ("labels", "anna"):
        play(f"study/images:label=study/{who}")
    rows, told = current(read_rows(OUT), root=OUT)
    assert told == []
    assert set(rows.select("dataset", "case").iter_rows()) == {
        (f"images:label={who}", case) for who in ("labels", "anna") for case in "ab"
    }
    Path("study/anna/a.nii.gz").unlink()
    assert counting()[1] == []  # the image is still there; that it has no label fails in the next run


@pytest.mark.parametrize("place", [(1, 1), (8, 8)])
def test_targets_that_were_removed_from_labels_do_not_count_once_the_case_was_converted_again(
    place: tuple[int, int], wording: SnapshotAssertion
) -> None:
    """Components are numbered by size, so those behind a removed one take its number."""
    folder(cases="ab")
    (Path("lab") / "dataset.toml").write_text('instances = "components"')
    save(Path("lab/labels/a.nii.gz"), (corner(4, (1, 1), (8, 8)) > 0).astype(np.uint8))
    play()
    assert {target for case, target in counting()[0] if case == "a"} == {"label_1.1", "label_1.2"}
    save(Path("lab/labels/a.nii.gz"), corner(4, place))
    assert len(counting()[0]) == 3, "nobody knows yet what is in the file"
    play()
    found, told = counting()
    assert found == {("a", "label_1.1"), ("b", "label_1.1")}
    assert told == wording


def test_targets_that_a_later_run_did_not_choose_count() -> None:
    folder(cases="a")
    save(Path("lab/labels/a.nii.gz"), corner(4, (1, 1), (8, 8)))
    play(targets="label_1")
    play(targets="label_2")
    assert counting() == ({("a", "label_1.1"), ("a", "label_2.1")}, [])


def test_a_part_of_the_cases_is_no_removal_and_changed_images_follow_their_folder() -> None:
    folder()
    play(perturb=["none", "noise"])
    play(cases="a", seed=1)
    assert counting()[1] == []
    remove("b")
    rows, told = current(read_rows(OUT), root=OUT)
    assert rows.group_by("dataset").agg(pl.col("case").unique().sort()).sort("dataset").rows() == [
        ("lab", ["a", "c"]),
        ("lab+noise", ["a", "c"]),
    ]
    assert len(told) == 2


def moved() -> None:
    Path("lab").rename("elsewhere")


def replaced() -> None:
    """An empty place where a drive was, or other scans."""
    shutil.rmtree("lab")
    Path("lab").mkdir()


def others() -> None:
    shutil.rmtree("lab")
    save(Path("lab/images/x.nii.gz"), image())
    save(Path("lab/labels/x.nii.gz"), corner(4))


def not_given() -> None:
    """As on a machine on which the record of the results is somebody else's."""
    remove("b")
    for file in (data_root() / "cases").glob("*/given.txt"):
        file.unlink()


@pytest.mark.parametrize("change", [moved, replaced, others, not_given])
def test_a_folder_that_is_not_here_changes_nothing(change: Callable[[], None]) -> None:
    folder()
    play()
    change()
    assert counting() == ({(case, "label_1.1") for case in "abc"}, [])


def test_all_outputs_leave_the_case_out_and_say_so(say: Callable[..., Said]) -> None:
    folder()
    intrabench.run(["box_fill", "grow_from_seeds"], "box_slice", "lab", out=OUT, save_masks=True)
    remove("b")
    told = "no longer has case b"
    for words in (
        ("table",),
        ("compare", "box_fill", "grow_from_seeds"),
        ("report", "report.html"),
        ("figures", "figures"),
        ("methods",),
        ("power",),
        ("failures",),
        ("export", "rows", "rows.csv"),
        ("export", "masks", "masks"),
        ("export", "eee", "eee"),
    ):
        said = say(*words, "--out", str(OUT))
        page = Path("report.html").read_text() if words[0] == "report" else ""
        assert told in said.out + said.err + page, words
    assert set(pl.read_csv("rows.csv")["case"]) == {"a", "c"}
    assert {path.name for path in Path("masks/lab").iterdir()} == {"a", "c"}
    assert ">b<" not in Path("report.html").read_text()


def test_every_output_asks_what_is_still_there() -> None:
    """Whoever asks which sessions count says of which results folder they are, so that removed cases are left out."""
    package = Path(intrabench.__file__).parent
    lacking = []
    for path in sorted(package.rglob("*.py")):
        tree = ast.parse(path.read_text())
        imported = {
            name.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module == "intrabench.results.current"
            for name in node.names
        }
        for node in ast.walk(tree):
            called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
            if called in imported & {"current"} and not any(one.arg == "root" for one in node.keywords):
                lacking.append(str(path.relative_to(package)))
    assert lacking == ["results/rewrites.py"], "it asks which rows a run replaces, whose cases are there"
