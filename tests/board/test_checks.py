"""Results of checks as files, and what a board says of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.board.conftest import edit_rows, edit_statement
from tests.conftest import Said

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
