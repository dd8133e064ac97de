"""What people see of a run: plain lines off a terminal, bars on one and in notebooks."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest

from intrabench.engine.local import execute
from intrabench.engine.options import chosen
from intrabench.engine.progress.reporter import Console, Silent, reporting
from intrabench.results.parts import read_rows
from tests.conftest import Said


def test_off_a_terminal_lines_are_plain_and_count(capsys: pytest.CaptureFixture[str]) -> None:
    with Console() as console:
        console.begin(5, 2)
        console.advance(2, 1)
        console.say("[case] with brackets")
        console.advance(1, 0)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "5 sessions, 2 of them already finished"
    assert lines[1] == "[case] with brackets"
    assert lines[2].startswith("5 of 5 sessions, 1 failed, ")
    assert len(lines) == 3


def test_a_total_that_grows_ends_when_no_case_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    with Console() as console:
        console.converting(2)
        console.begin(2, 0)
        console.advance(2, 0, [0.5, 0.7])
        console.expect(3)
        console.converting(0)
        console.advance(3, 1)
    first, second = capsys.readouterr().err.splitlines()
    assert first == "2 sessions, and those of 2 cases still to be prepared"
    assert second.startswith("5 of 5 sessions, 1 failed, ")


@pytest.mark.usefixtures("data")
def test_a_run_says_how_many_cases_are_prepared_first(say: Callable[..., Said]) -> None:
    def first(*more: str) -> str:
        words = ["-m", "box_fill", "-p", "box_volume", "-d", "phantom:shape=8x24x24,scans=5", "--targets", "*.1", *more]
        return say("run", *words).err.splitlines()[0]

    assert first("--cases", "first:2", "--workers", "1") == "2 cases are prepared first"
    known = "2 sessions, 2 of them already finished"
    assert first("--cases", "first:3", "--workers", "1") == f"{known}, and those of 1 case still to be prepared"
    assert first("--cases", "first:4", "--workers", "0") == "4 sessions, 3 of them already finished"


def test_one_session_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    with Console() as console:
        console.begin(1, 0)
        console.advance(1, 1)
    first, second = capsys.readouterr().err.splitlines()
    assert first == "1 session"
    assert second.startswith("1 of 1 session, 1 failed, ")


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
def test_a_run_says_what_each_worker_does(workers: int, names: set[str]) -> None:
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
    waves = [re.fullmatch(rf"playing (\d) sessions?: {re.escape(title)}, box_fill", what) for what in said[2:-2]]
    assert sum(int(wave[1]) for wave in waves if wave) == 4  # how many there are in a wave depends on their time
    assert None not in waves
    assert said[-2] == f"scoring and storing the last sessions: {title}, box_fill"
    assert said[-1] == f"closing the image: {title}, box_fill"
    assert {worker for worker, _ in reporter.done} == names
    assert all([what for one, what in reporter.done if one == name][-1] == "" for name in names)


@pytest.mark.usefixtures("data")
def test_a_quiet_run_prints_its_table_and_what_is_wrong(say: Callable[..., Said]) -> None:
    words = ["run", "--model", "box_fill", "--prompter", "box_volume", "--dataset", "phantom:shape=8x48x56", "--quiet"]
    said = say(*words)
    assert said.code == 0
    assert said.err == ""
    assert said.out.startswith("dice: ")
    assert said.out.endswith("┘\n")
    damaged = next(Path("intrabench-results").glob("rows/*.parquet"))
    damaged.write_bytes(b"PAR1")
    again = say(*words)
    assert "cannot be read and is left out" in again.err


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


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook without widgets."""
    monkeypatch.setattr("builtins.get_ipython", Shell, raising=False)
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setattr("intrabench.engine.progress.screen.find_spec", lambda name: None)


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


@pytest.mark.usefixtures("notebook")
def test_a_notebook_without_widgets_gets_plain_lines_that_are_not_red(capsys: pytest.CaptureFixture[str]) -> None:
    with reporting(None) as reporter:
        reporter.begin(2, 1)
        reporter.advance(1, 0)
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out.splitlines()[0] == "2 sessions, 1 of them already finished"
    assert said.out.splitlines()[1].startswith("2 of 2 sessions, 0 failed, ")


@pytest.mark.usefixtures("notebook")
def test_a_notebook_with_widgets_is_drawn_into(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("intrabench.engine.progress.screen.find_spec", lambda name: name)
    started = []
    monkeypatch.setattr("rich.live.Live.start", lambda self: started.append(self.console.is_jupyter))
    monkeypatch.setattr("rich.live.Live.stop", lambda self: None)
    monkeypatch.setattr("rich.console.Console.print", lambda self, *words, **how: None)
    with reporting(None) as reporter:
        reporter.begin(2, 0)
        reporter.advance(2, 0)
    assert started == [True]
