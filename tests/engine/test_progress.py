"""What people see of a run: plain lines off a terminal, bars on one and in notebooks."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.engine.options import chosen
from intrabench.engine.progress.display import Console, reporting
from intrabench.engine.progress.reporter import Silent
from intrabench.engine.run import execute
from intrabench.results.parts import read_rows
from tests.conftest import Said


def test_off_a_terminal_lines_are_plain_and_count(
    capsys: pytest.CaptureFixture[str], wording: SnapshotAssertion
) -> None:
    with Console() as console:
        console.begin(5, 2)
        console.advance(2, 1)
        console.say("[case] with brackets")
        console.advance(1, 0)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == wording
    assert lines[1] == "[case] with brackets"
    assert "5 of 5 sessions" in lines[2]
    assert lines[2] == wording
    assert len(lines) == 3


def test_a_total_that_grows_ends_when_no_case_is_left(
    capsys: pytest.CaptureFixture[str], wording: SnapshotAssertion
) -> None:
    with Console() as console:
        console.converting(2)
        console.begin(2, 0)
        console.advance(2, 0, [0.5, 0.7])
        console.expect(3)
        console.converting(0)
        console.advance(3, 1)
    first, second = capsys.readouterr().err.splitlines()
    assert first == wording
    assert "5 of 5 sessions" in second
    assert second == wording


@pytest.mark.usefixtures("data")
def test_a_run_says_how_many_cases_are_prepared_first(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    def first(*more: str) -> str:
        words = ["-m", "box_fill", "-p", "box_volume", "-d", "phantom:shape=8x24x24,scans=5", "--targets", "*.1", *more]
        return say("run", *words).err.splitlines()[0]

    assert first("--cases", "first:2", "--workers", "1") == wording
    assert first("--cases", "first:3", "--workers", "1") == wording
    assert first("--cases", "first:4", "--workers", "0") == wording


def test_one_session_is_one(capsys: pytest.CaptureFixture[str], wording: SnapshotAssertion) -> None:
    with Console() as console:
        console.begin(1, 0)
        console.advance(1, 1)
    first, second = capsys.readouterr().err.splitlines()
    assert first == "1 session"
    assert "1 of 1 session" in second
    assert second == wording


class Scores(Silent):
    """A reporter that keeps Dice, and what goes on."""

    def __init__(self) -> None:
        self.dice: list[float] = []
        self.done: list[tuple[str, str]] = []

    def doing(self, worker: str, what: str) -> None:
        """Keep it."""
        self.done.append((worker, what))

    def advance(self, sessions: int, failed: int, dice: Sequence[float] = ()) -> None:
        """Keep them."""
        self.dice += dice


@pytest.mark.usefixtures("data")
def test_a_run_reports_dice_of_last_rounds_and_none_of_sessions_that_do_not_apply() -> None:
    given = {"model": ["random_walker", "box_fill"], "prompter": ["point_interp", "box_volume"], "rounds": 1}
    options = chosen({**given, "dataset": "phantom:shape=8x48x56,instances=2", "refine": "click_center"})
    summary, _ = execute(options, Path("results"), reporter := Scores())
    rows = read_rows(Path("results"))
    last = rows.sort("round").group_by("session").last()
    assert summary.total == len(last) == 8
    expected = last.filter(pl.col("status") != "not_applicable")["dice"].to_list()
    assert len(expected) == 6
    assert sorted(reporter.dice) == sorted(expected)


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize(("workers", "names"), [(0, {""}), (1, {"1", "data 1"})])
def test_a_run_says_what_each_worker_does(workers: int, names: set[str], wording: SnapshotAssertion) -> None:
    options = chosen(
        {
            "model": "box_fill",
            "prompter": ["box_slice", "box_volume"],
            "dataset": "phantom:shape=8x48x56,instances=2",
            "workers": workers,
        }
    )
    execute(options, Path("results"), reporter := Scores())
    title = "phantom:shape=8x48x56,instances=2, case case-1"
    said = [what for _, what in reporter.done if what]
    assert said[0] == f"converting: {title}"
    assert said[1] == f"opening the image: {title}, box_fill"
    batches = [re.fullmatch(rf"playing (\d) sessions?: {re.escape(title)}, box_fill", what) for what in said[2:-2]]
    assert sum(int(batch[1]) for batch in batches if batch) == 4  # how many there are in a wave depends on their time
    assert None not in batches
    assert said[-2] == wording
    assert said[-1] == f"closing the image: {title}, box_fill"
    assert {worker for worker, _ in reporter.done} == names
    assert all([what for one, what in reporter.done if one == name][-1] == "" for name in names)


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize("joint", ["", "others=negative"])
def test_a_run_says_in_which_round_it_is(joint: str) -> None:
    given = {"model": "box_fill", "prompter": "box_volume+click_center", "rounds": 3, "workers": 0, "joint": joint}
    dataset = "phantom:shape=8x48x56,instances=1"
    execute(chosen({**given, "dataset": dataset}), Path("results"), reporter := Scores())
    rounds = read_rows(Path("results"))["round"].to_list()
    assert sorted(rounds) == [0, 1, 2, 3]
    said = [what.partition(":")[0] for _, what in reporter.done if ", round " in what]
    assert said == [f"playing 1 session, round {number} of 3" for number in range(4)]


@pytest.mark.usefixtures("data")
def test_a_quiet_run_prints_its_table_and_what_is_wrong(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    words = ["run", "--model", "box_fill", "--prompter", "box_volume", "--dataset", "phantom:shape=8x48x56", "--quiet"]
    said = say(*words)
    assert said.code == 0
    assert said.err == ""
    assert said.out.startswith("dice: ")
    assert said.out.endswith("┘\n")
    damaged = next(Path("intrabench-results").glob("rows/*.parquet"))
    damaged.write_bytes(b"PAR1")
    again = say(*words)
    assert again.err == wording


@pytest.mark.usefixtures("data")
def test_a_quiet_download_says_only_what_is_wrong(say: Callable[..., Said]) -> None:
    said = say("data", "get", "phantom:shape=8x48x56", "--quiet")
    assert (said.code, said.out, said.err) == (0, "", "")
    Path("folder").mkdir()
    said = say("data", "get", "folder", "--quiet")
    assert said.code != 0
    assert "folder" in said.err


class Shell:
    """Stands for Jupyter's; rich and we know it by this name."""


Shell.__name__ = "ZMQInteractiveShell"


class Shown:
    """The place of a display in a notebook, with all that it has held."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def display(self, data: dict[str, str], *, raw: bool, display_id: bool) -> Shown:
        """As IPython's."""
        assert raw
        assert display_id
        self.update(data, raw=raw)
        return self

    def update(self, data: dict[str, str], *, raw: bool) -> None:
        """As that of IPython's handles."""
        assert list(data) == ["text/plain"]
        self.texts.append(data["text/plain"])


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Shown:
    """A notebook, for which no package is installed but IPython."""
    monkeypatch.setattr("builtins.get_ipython", Shell, raising=False)
    monkeypatch.setitem(sys.modules, "IPython", ipython := ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", module := ModuleType("IPython.display"))
    module.display = (shown := Shown()).display  # type: ignore[attr-defined]
    ipython.display = module  # type: ignore[attr-defined]
    monkeypatch.setattr("intrabench.engine.progress.cell.SECONDS", 0.01)
    return shown


def test_people_see_progress_and_programs_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    with reporting(None) as reporter:
        assert isinstance(reporter, Silent)
    with reporting(False) as reporter:
        assert isinstance(reporter, Silent)
    with reporting(True) as reporter:
        assert isinstance(reporter, Console)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with reporting(None) as reporter:
        assert isinstance(reporter, Console)


def test_a_notebook_shows_the_same_in_one_place(notebook: Shown, capsys: pytest.CaptureFixture[str]) -> None:
    with reporting(None) as reporter:
        reporter.begin(96, 5)
        reporter.advance(12, 1, [0.75])
        reporter.doing("1", "encoding slice 12 of 80: spine_ct, case ct-22, sam")
        while "slice 12" not in notebook.texts[-1]:
            time.sleep(0.01)
        reporter.say("a line below")
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out.splitlines() == ["96 sessions, 5 of them already finished", "a line below"]
    drawn = notebook.texts[-2].splitlines()
    assert drawn[:2] == ["━━━━━━━                                  17 of 96 sessions", "1 failed, Dice 0.750"]
    assert re.fullmatch(r"1  encoding slice 12 of 80: spine_ct, case ct-22, sam +0 s", drawn[2])
    assert re.fullmatch(r"17 of 96 sessions, 1 failed, Dice 0.750, in \d+ s", notebook.texts[-1])


@pytest.mark.usefixtures("data")
def test_a_run_in_a_notebook_shows_progress_unless_it_is_told_not_to(
    notebook: Shown, wording: SnapshotAssertion
) -> None:
    intrabench.run("box_fill", "box_volume", "phantom:shape=8x48x56", workers=0, progress=False)
    assert notebook.texts == []
    intrabench.run("box_fill", "box_slice", "phantom:shape=8x48x56", workers=0)
    assert "3 of 3 sessions" in notebook.texts[-1]
    assert notebook.texts[-1] == wording
