"""The command that checks submissions: sessions played again, code of others never run, exit codes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.publishing.board.submit import submit
from tests.conftest import Said
from tests.documented import ROOT
from tests.publishing.board.conftest import BY, PHANTOM, Make, edit_rows
from tests.publishing.board.test_tampering import changed
from tests.wording import line_with

Say = Callable[..., Said]


def test_sound_submissions(say: Say, lab_a: Path, wording: SnapshotAssertion) -> None:
    said = say("board", "check", str(lab_a), "--replay", "3", "--seed", "7")
    assert "3 of 3 sessions" in said.out
    assert said == Said(0, wording, "")


def test_a_refused_one_names_the_row(say: Say, lab_a: Path, another: Make) -> None:
    good = another("lab-b")
    edit_rows(lab_a, lambda rows: rows.with_columns(changed("dice", 0.999)), "checksums")
    said = say("board", "check", str(good), str(lab_a), "--replay", "0", "--json")
    assert said.code == 1
    found = json.loads(said.out)
    assert [(one["submission"], one["ok"]) for one in found] == [("lab-b", True), ("lab-a", False)]
    row = "phantom:shape=16x32x32,scans=2, case case-1, blob.1, box_fill, box_slice, seed 0, round 0"
    assert any(one.startswith(f"{row}: dice is 0.999, but") for one in found[1]["problems"])
    said = say("board", "check", str(lab_a), "--replay", "0")
    assert said.out.splitlines()[-1].startswith("lab-a: refused for ")


def test_code_of_others_is_not_executed(
    say: Say, played: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    plugin = tmp_path / "mine.py"
    plugin.write_text((ROOT / "models" / "threshold.py").read_text().replace('"threshold"', '"mine"'))
    monkeypatch.setenv("INTRABENCH_DATA", str(played / "data"))
    intrabench.run("mine", "box_slice", PHANTOM, plugin=[plugin], out=tmp_path / "results")
    submit(tmp_path / "results", tmp_path / "own", BY)
    trap = tmp_path / "trap"
    plugin.write_text(f"open({str(trap)!r}, 'w')\n{plugin.read_text()}")
    monkeypatch.setattr(
        "intrabench.registry.registry._plugins", {room: {} for room in intrabench.registry.registry.ROOMS}
    )
    said = say("board", "check", str(tmp_path / "own"), "--replay", "2", "--seed", "1")
    assert said.code == 0
    assert not trap.exists()
    first, *more, last, _ = said.out.splitlines()
    assert first == wording
    assert [one.startswith("own: unverified: ") for one in more] == [True, True]
    assert "0 of 2 sessions" in last
    assert last == wording
    plugin.write_text((ROOT / "models" / "threshold.py").read_text().replace('"threshold"', '"mine"'))
    said = say("board", "check", str(tmp_path / "own"), "--replay", "2", "--plugin", str(plugin))
    assert line_with(said.out, "2 of 2 sessions") == wording


def test_data_that_are_missing_leave_sessions_unverified(
    say: Say, lab_a: Path, another: Make, wording: SnapshotAssertion
) -> None:
    folder = another("lab-c", dataset="spine_ct", dataset_version="2")
    said = say("board", "check", str(folder), "--replay", "2")
    assert said.code == 0
    assert said.out.count("lab-c: unverified: spine_ct, case ") == 2
    assert "0 of 2 sessions" in said.out
    assert line_with(said.out, "sessions played") == wording


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (("check",), "Missing argument 'SUBMISSION...'"),
        (("check", "nowhere"), "nowhere is no folder; give one that `intrabench submit` made"),
        (("check", "x", "--replay", "-1"), "--replay -1 is not a number of sessions; give 0 for none, or more"),
        (
            ("build", "nowhere", "site"),
            "nowhere has no submissions; give a folder of folders that `intrabench submit` m",
        ),
        (("build", ".", "."), ". exists and is no site of a board; give another folder"),
    ],
)
def test_bad_input(say: Say, given: tuple[str, ...], sentence: str) -> None:
    Path("other").mkdir()
    said = say("board", *given)
    assert (said.code, said.out) == (2, "")
    assert sentence in " ".join(said.err.replace("│", " ").split())


def test_a_board_of_three_leaves_out_the_one_that_was_tampered_with(
    say: Say, lab_a: Path, another: Make, wording: SnapshotAssertion
) -> None:
    folder = lab_a.parent / "submissions"
    folder.mkdir()
    for name in ("lab-b", "lab-c"):
        shutil.move(another(name), folder / name)
    edit_rows(Path(shutil.move(lab_a, folder / "lab-a")), lambda rows: rows.with_columns(changed("dice", 0.999)))
    said = say("board", "build", str(folder), "site")
    assert said.code == 1
    assert said.out == f"wrote {Path('site/index.html')} with 1 table\n"
    assert line_with(said.err, "another digest") == wording
    listed = json.loads(Path("site/board.json").read_text())
    assert listed["submissions"] == ["lab-b", "lab-c"]
    assert not Path("site/submissions/lab-a.html").exists()
    for name in ("lab-b", "lab-c"):
        shutil.rmtree(folder / name)
    said = say("board", "build", str(folder), "site")
    assert said.code == 2
    assert said.err.splitlines()[-1] == wording
    assert json.loads(Path("site/board.json").read_text()) == listed  # the earlier site stays
