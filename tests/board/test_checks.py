"""Results of checks as files, and what a board says of them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from intrabench.board.copies import common
from tests.board.conftest import Make, edit_rows, edit_statement
from tests.conftest import Said
from tests.results.made import rows

Say = Callable[..., Said]


def lines(site: Path) -> list[str]:
    (path,) = (site / "tables").glob("*.json")
    return [line["checked"] for line in json.loads(path.read_text())["lines"]]


def test_a_board_says_what_was_verified(say: Say, lab_a: Path, tmp_path: Path) -> None:
    boards = tmp_path / "boards"
    boards.mkdir()
    moved = lab_a.rename(boards / "lab-a")
    assert say("board", "build", str(boards), str(tmp_path / "plain")).code == 0
    assert {*lines(tmp_path / "plain")} == {"not checked"}
    checks = tmp_path / "checks"
    assert say("board", "check", str(moved), "--replay", "3", "--seed", "1", "--out", str(checks)).code == 0
    assert say("board", "build", str(boards), str(tmp_path / "site"), "--checks", str(checks)).code == 0
    said = lines(tmp_path / "site")
    assert sum(int(one.split()[0]) for one in said if one[0].isdigit()) == 3
    (table,) = (tmp_path / "site" / "tables").glob("*.html")
    assert "replays verified" in table.read_text()
    edit_statement(moved, created="2020-01-01")  # a result of a check is of this content alone
    edit_rows(moved, lambda rows: rows, "ledger", "lines", "checksums")
    assert say("board", "build", str(boards), str(tmp_path / "site"), "--checks", str(checks)).code == 0
    assert {*lines(tmp_path / "site")} == {"not checked"}


@pytest.mark.parametrize("where", ["lab-a/checks", "lab-a"])
def test_results_never_lie_in_a_submission(say: Say, lab_a: Path, where: str) -> None:
    inside = lab_a.parent / where
    said = say("board", "check", str(lab_a), "--out", str(inside))
    assert said.code == 2
    assert "give a folder outside of it" in said.err


def test_copies_are_said_and_ranked_once(say: Say, another: Make, tmp_path: Path) -> None:
    boards = tmp_path / "boards"
    boards.mkdir()
    same = {name: pl.col(name) for name in ("written_at", "segment_s")}
    first, copy = (another(name, into=boards, **same) for name in ("lab-x", "lab-y"))
    told = say("board", "check", str(first), str(copy), "--replay", "0").out
    assert "lab-x: note: 24 sessions also in lab-y" in told
    for folder in boards.glob("results of *"):
        shutil.rmtree(folder)
    assert say("board", "build", str(boards), str(tmp_path / "site")).code == 0
    (path,) = (tmp_path / "site" / "tables").glob("*.json")
    found = json.loads(path.read_text())["lines"]
    assert {(line["submission"], line["status"]) for line in found} == {("lab-x", "ranked"), ("lab-y", "copy")}
    assert all("sessions also in" in line["marks"][-1] for line in found)


def test_equal_times_betray_a_copy_with_another_run() -> None:
    one = rows({"dice": 0.5, "case": "1"}, {"dice": 0.5, "case": "2"}, {"dice": 0.5, "case": "3"})
    assert common(one, one) == 3
    forged = one.with_columns(run_id=pl.lit("other"), written_at=pl.lit(5, pl.Int64))
    assert common(one, forged) == 3
    assert common(one, forged.with_columns(segment_s=pl.col("segment_s") * 1.01)) == 0
