"""A board says what was verified, and ranks no copy: results of checks, forged hashes, sessions in two submissions."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.publishing.board.check import read_results
from intrabench.publishing.board.files import write_checksums
from intrabench.publishing.board.site import build
from intrabench.publishing.board.submission import read_submission
from intrabench.publishing.board.tables import Line, tables
from tests.conftest import Said
from tests.publishing.board.conftest import Make, remade

Say = Callable[..., Said]


def lines_of(*folders: Path, checks: Path | None = None) -> list[Line]:
    found = tables([read_submission(one) for one in folders], read_results(checks, folders))
    return [line for table in found for line in table.lines]


def test_lines_say_what_was_verified(say: Say, lab_a: Path, another: Make) -> None:
    good = another("lab-b")
    said = say("board", "check", str(lab_a), str(good), "--replay", "3", "--checks", "checks")
    assert said.code == 0
    assert sorted(path.name for path in Path("checks").iterdir()) == ["lab-a.json", "lab-b.json"]
    assert not (lab_a / "checks").exists()
    assert all(line.verified == "3 of 3 replays verified" for line in lines_of(lab_a, good, checks=Path("checks")))
    assert all(line.verified == "not checked" for line in lines_of(lab_a, good))
    Path("all").mkdir()
    shutil.copytree(lab_a, "all/lab-a")
    said = say("board", "build", "all", "site", "--checks", "checks")
    assert said.code == 0
    (page,) = Path("site/tables").glob("*.html")
    assert page.read_text().count("3 of 3 replays verified") >= 4


def test_a_result_is_of_one_content(say: Say, lab_a: Path) -> None:
    say("board", "check", str(lab_a), "--replay", "1", "--checks", "checks")
    say("board", "check", str(lab_a), "--replay", "0", "--checks", "checks")  # nothing was played, nothing forgotten
    assert all(line.verified == "1 of 1 replay verified" for line in lines_of(lab_a, checks=Path("checks")))
    (lab_a / "submission.json").write_text((lab_a / "submission.json").read_text() + "\n")
    write_checksums(lab_a)
    assert all(line.verified == "not checked" for line in lines_of(lab_a, checks=Path("checks")))


def test_a_result_inside_of_a_submission_does_not_belong_there(lab_a: Path, wording: SnapshotAssertion) -> None:
    (lab_a / "lab-a.json").write_text("{}")
    assert read_submission(lab_a).problems[0] == wording


@pytest.mark.parametrize("content", ["{", "[]", '{"schema": 2}', '{"schema": 1, "content": "x", "played": "many"}'])
def test_a_damaged_result_is_one_sentence(say: Say, lab_a: Path, content: str) -> None:
    Path("checks").mkdir()
    Path("checks/lab-a.json").write_text(content)
    shutil.copytree(lab_a, "all/lab-a")
    said = say("board", "build", "all", "site", "--checks", "checks")
    assert (said.code, len(said.err.splitlines())) == (2, 1)
    assert "checks/lab-a.json" in said.err
    assert not Path("site").exists()
    assert say("board", "build", "all", "site", "--checks", "none").code == 2


@pytest.mark.parametrize("excuse", [{}, {"device": "cuda:0"}, {"weights": "mine"}])
def test_invented_scores_are_found_whatever_package_hash_they_name(
    say: Say, played: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, excuse: dict[str, str]
) -> None:
    monkeypatch.setenv("INTRABENCH_DATA", str(played / "data"))
    invented: dict[str, Any] = {"package_versions_hash": "0123456789abcdef", "nsd_2mm": 0.123, **excuse}
    forged = remade(played / "results", tmp_path, "forged", **invented).folder
    assert read_submission(forged).problems == []
    said = say("board", "check", str(forged), "--replay", "6", "--checks", "checks")
    assert said.code == 1
    assert "played again: " in said.out
    assert "unverified" not in said.out
    Path("all").mkdir()
    shutil.copytree(forged, "all/forged")
    shutil.copytree(played / "lab-a", "all/lab-a")
    refused, made = build(Path("all"), Path("site"), "Board", Path("checks"))
    assert [one.name for one in refused] == ["forged"]
    assert {line.submission for table in made for line in table.lines} == {"lab-a"}


def test_a_copy_is_marked_and_has_no_rank(
    say: Say, lab_a: Path, played: Path, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    copied = remade(played / "results", tmp_path, "lab-z", written_at=pl.col("written_at")).folder
    said = say("board", "check", str(lab_a), str(copied), "--replay", "0")
    assert said.out == wording
    found = lines_of(lab_a, copied)
    first, second = ([line for line in found if line.submission == name] for name in ("lab-a", "lab-z"))
    assert {line.status for line in first} == {"ranked"}
    assert {line.status for line in second} == {"copy"}
    assert {line.copies for line in first} == {("lab-z",)}
    assert {line.copies for line in second} == {("lab-a",)}
