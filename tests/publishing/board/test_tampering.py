"""Whatever is changed in a submission is found, and the row, line or file that was changed is named."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.engine.verify import Trust
from intrabench.mask import Mask
from intrabench.publishing.board import files
from intrabench.publishing.board.check import check
from intrabench.publishing.board.files import PART, write_checksums
from intrabench.publishing.board.submission import read_submission
from intrabench.results.differences import who
from intrabench.results.masks import masks_file, read_masks, write_masks
from intrabench.results.parts import read_rows
from tests.publishing.board.conftest import Make, edit_rows, edit_statement, problems, without_checksums
from tests.wording import line_with

FIRST = pl.int_range(pl.len()) == 0


def first(folder: Path) -> str:
    """The first row, in words."""
    row = read_rows(folder).row(0, named=True)
    return f"{who(row)}, round {row['round']}"


def changed(name: str, value: object) -> pl.Expr:
    return pl.when(FIRST).then(pl.lit(value)).otherwise(pl.col(name)).alias(name)


def test_an_honest_submission_has_no_problems(lab_a: Path) -> None:
    read = read_submission(lab_a)
    assert read.problems == []
    assert read.statement is not None
    assert read.statement.rows == len(read_rows(lab_a)) == 12 + 2 * 6 * 3
    assert len(read.statement.masks) == 20


def test_a_changed_score_is_named_with_what_its_voxels_give(lab_a: Path, wording: SnapshotAssertion) -> None:
    row, dice = first(lab_a), read_rows(lab_a)["dice"][0]
    edit_rows(lab_a, lambda rows: rows.with_columns(changed("dice", 0.999)))
    found = problems(lab_a)
    assert any(one.startswith(f"rows/{PART} was changed: it has ") for one in found)
    assert line_with(found, "another digest").removeprefix(f"{row}: ") == wording
    known = line_with(found, "voxel counts")
    assert (known.startswith(f"{row}: dice is 0.999"), known.endswith(f"give {dice:.6g}")) == (True, True)
    edit_rows(lab_a, lambda rows: rows, "ledger", "lines", "checksums")  # by somebody who knows the format
    assert problems(lab_a) == [known]


def test_a_score_that_fits_its_voxels_is_found_by_playing_again(lab_a: Path) -> None:
    common = pl.col("pred_voxels") - pl.col("fp_voxels")
    perfect = {"fp_voxels": 0, "fn_voxels": 0, "dice": 1.0, "iou": 1.0}
    better = [pl.lit(value).cast(read_rows(lab_a).schema[name]).alias(name) for name, value in perfect.items()]
    edit_rows(lab_a, lambda rows: rows.with_columns(pred_voxels=common).with_columns(better))
    shutil.rmtree(lab_a / "masks")
    edit_statement(lab_a, masks=[])
    edit_rows(lab_a, lambda rows: rows, "ledger", "lines", "checksums")
    assert problems(lab_a) == []
    (found, *_) = check(lab_a, 1, 0, Trust()).problems
    assert found.startswith("played again: phantom:shape=16x32x32,scans=2, case ")
    assert "dice 1.0 in store and " in found


def test_a_changed_effort_is_named(lab_a: Path, wording: SnapshotAssertion) -> None:
    row = first(lab_a)
    edit_rows(lab_a, lambda rows: rows.with_columns(changed("interactions", 1.0)), "checksums")
    found = problems(lab_a)
    assert line_with(found, "another digest").removeprefix(f"{row}: ") == wording
    assert any("interactions is " in one and "but submission.json says" in one for one in found)


def test_a_changed_effort_with_a_ledger_of_its_own_is_not_that_of_the_turns(lab_a: Path) -> None:
    everywhere = pl.col("interactions") / 2
    edit_rows(lab_a, lambda rows: rows.with_columns(interactions=everywhere), "ledger", "lines", "checksums")
    found = problems(lab_a)
    assert found
    assert all(": interactions is " in one and ", but its turns cost " in one for one in found[:20])


def test_a_removed_failed_row_is_named(another: Make, wording: SnapshotAssertion) -> None:
    failed = pl.col("session") == pl.col("session").min()
    lost = {
        **{name: pl.when(~failed).then(pl.col(name)) for name in ("fp_voxels", "fn_voxels", "pred_voxels")},
        **{name: pl.when(failed).then(0.0).otherwise(pl.col(name)) for name in ("dice", "iou")},
        "status": pl.when(failed).then(pl.lit("error")).otherwise("status"),
    }
    folder = another("lab-f", **lost)
    (session,) = read_rows(folder).filter(status="error")["session"].unique()
    row = read_rows(folder).filter(session=session).row(0, named=True)
    edit_rows(folder, lambda rows: rows.filter(pl.col("session") != session), "checksums")
    found = problems(folder)
    removed = f"{who(row)}, round {row['round']}: "
    assert line_with(found, removed).removeprefix(removed) == wording
    assert any(": failed is 0 by the rows, but submission.json says 1" in one for one in found)


def test_an_added_row_is_named(lab_a: Path, wording: SnapshotAssertion) -> None:
    more = lambda rows: pl.concat([rows, rows.head(1).with_columns(session=pl.lit("f" * 24))])  # noqa: E731
    edit_rows(lab_a, more, "checksums")
    assert line_with(problems(lab_a), "row was added").removeprefix(f"{first(lab_a)}: ") == wording


def test_a_changed_mask_is_named(lab_a: Path) -> None:
    read = read_submission(lab_a)
    assert read.statement is not None
    session = read.statement.masks[0]
    stored = read_masks(lab_a, session)
    write_masks(masks_file(lab_a, session), [Mask(one.start, one.array & False) for one in stored])
    row = read_rows(lab_a).filter(session=session).row(0, named=True)
    sentence = f"{who(row)}, round 0: its mask has 0 voxels, but the row says {row['pred_voxels']}"
    found = problems(lab_a)
    assert any(one.startswith(f"masks/{session}.npz was changed") for one in found)
    assert sentence in found
    write_checksums(lab_a)
    assert problems(lab_a)[0] == sentence


def test_a_wrong_mean_is_named_even_with_new_checksums(lab_a: Path, wording: SnapshotAssertion) -> None:
    lines = json.loads((lab_a / "submission.json").read_text())["lines"]
    honest, lines[0]["means"]["dice@1"] = lines[0]["means"]["dice@1"], 0.99
    edit_statement(lab_a, lines=lines)
    write_checksums(lab_a)
    (found,) = problems(lab_a)
    assert (f"is {honest} by" in found, "says 0.99" in found) == (True, True)
    assert found.replace(str(honest), "HONEST") == wording
    edit_statement(lab_a, lines=lines[1:])
    write_checksums(lab_a)
    assert problems(lab_a) == wording


def test_other_turns_have_another_hash(lab_a: Path) -> None:
    path = lab_a / "turns" / PART
    turns = pl.read_parquet(path)
    turns.with_columns(given=pl.col("given").str.replace("box2d", "click")).write_parquet(path)
    write_checksums(lab_a)
    found = problems(lab_a)
    assert any(one.endswith(": the hash of its prompts is not that of its turns") for one in found)
    turns.filter(pl.col("session") != turns["session"][0]).write_parquet(path)
    write_checksums(lab_a)
    assert [one for one in problems(lab_a) if one.endswith(": the turns of its session are missing")]


def test_nobody_chooses_the_sample(lab_a: Path, wording: SnapshotAssertion) -> None:
    read = read_submission(lab_a)
    assert read.statement is not None
    for sampled in (read.statement.sampled[::-1], [], read.statement.sampled[:1]):
        edit_statement(lab_a, sampled=sampled)
        write_checksums(lab_a)
        (found, *_) = problems(lab_a)
        assert found == wording


def test_a_path_outside_of_the_folder_is_refused(lab_a: Path, wording: SnapshotAssertion) -> None:
    sums = json.loads((lab_a / "checksums.json").read_text())
    for outside in ("../secret", "/etc/passwd", "rows/../../secret"):
        (lab_a / "checksums.json").write_text(json.dumps(sums | {outside: {"bytes": 1, "sha256": ""}}))
        assert problems(lab_a) == wording


def test_links_are_refused_and_not_followed(lab_a: Path, tmp_path: Path, wording: SnapshotAssertion) -> None:
    (tmp_path / "elsewhere").mkdir()
    (lab_a / "runs" / "other.json").symlink_to("/etc/passwd")
    (lab_a / "more").symlink_to(tmp_path)
    assert problems(lab_a) == wording


def test_what_does_not_belong_there_is_refused(
    lab_a: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    (lab_a / "setup.py").write_text("raise SystemExit")
    os.mkfifo(lab_a / "runs" / "pipe.json")
    assert problems(lab_a) == wording
    (lab_a / "setup.py").unlink()
    (lab_a / "runs" / "pipe.json").unlink()
    monkeypatch.setattr(files, "MOST_FILES", 3)
    assert problems(lab_a) == wording


def test_a_huge_file_is_refused_before_it_is_read(lab_a: Path, wording: SnapshotAssertion) -> None:
    with (lab_a / "rows" / PART).open("r+b") as file:
        file.truncate(2 * files.LARGEST_FILE)  # takes no room on the disk
    assert problems(lab_a) == wording


@pytest.mark.parametrize("name", ["submission.json", "ledger.parquet", f"rows/{PART}", f"turns/{PART}"])
def test_missing_and_damaged_files_are_named(lab_a: Path, name: str, wording: SnapshotAssertion) -> None:
    (lab_a / name).write_bytes(b"PAR1{")
    found = without_checksums(problems(lab_a))
    assert found
    assert any(Path(name).name in one or "turns of its session are missing" in one for one in problems(lab_a))
    (lab_a / name).unlink()
    assert problems(lab_a) == wording


@pytest.mark.parametrize(
    "changes",
    [
        {"schema": 2},
        {"id": "lab-b"},
        {"id": "../x"},
        {"rows": "many"},
        {"by": {"name": "A", "contact": "javascript:alert(1)", "licence": "CC0"}},
        {"by": {"name": "A", "contact": "a@b.org"}},
        {"by": {"name": "", "contact": "a@b.org", "licence": "CC0"}},
        {"more": 1},
        {"rows": 3},
        {"lines": [{"model": ["x"]}]},
    ],
    ids=str,
)
def test_a_statement_of_anybody(lab_a: Path, changes: dict[str, object], wording: SnapshotAssertion) -> None:
    edit_statement(lab_a, **changes)
    write_checksums(lab_a)
    assert problems(lab_a) == wording


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"round": 10**5}, "a session has 100000 rounds, expected 1000 at most"),
        ({"weights": None}, "some rows have no weights, which every run writes; run these sessions again"),
        ({"metrics": "mine@1"}, "rows under basic@2 have no metric that this version of intrabench knows; update it"),
        ({"dice": 7.0}, f"rows/{PART} cannot be read and is left out"),
        ({"nsd_2mm": float("nan")}, "cannot be read and is left out (it has nsd_2mm = nan, expected 0 to 1)"),
        ({"nsd_2mm": 7.0}, "cannot be read and is left out (it has nsd_2mm = 7, expected 0 to 1)"),
        ({"hd95_mm": -3.0}, "cannot be read and is left out (it has hd95_mm = -3, expected 0 to inf)"),
        ({"model": "<b>" * 1000}, "the column model has a text of more than 2000 characters; shorten it"),
        ({"run_id": "../../x"}, "runs/../../x.json, the record of a run, is missing or damaged"),
        ({"pred_voxels": -5}, "cannot be read and is left out (it has pred_voxels = -5, expected 0 to"),
        ({"pred_voxels": 0, "fp_voxels": 5}, "it has more false positives than voxels of the answer"),
    ],
    ids=str,
)
def test_values_of_anybody(lab_a: Path, values: dict[str, object], sentence: str) -> None:
    edit_rows(
        lab_a, lambda rows: rows.with_columns(pl.lit(one, rows.schema[key]).alias(key) for key, one in values.items())
    )
    write_checksums(lab_a)
    assert any(sentence in one for one in problems(lab_a)), problems(lab_a)


def test_records_are_small(lab_a: Path, wording: SnapshotAssertion) -> None:
    (record,) = (lab_a / "runs").iterdir()
    record.write_bytes(b" " * 3_000_000)
    assert problems(lab_a) == wording
