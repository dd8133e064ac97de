"""What is drawn of a run, line by line, on terminals of some width and height; and what lines say without one."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console as RichConsole
from syrupy.assertion import SnapshotAssertion

from intrabench import progress
from intrabench.engine.progress.display import Console, File, cut, drawn, fitting, showing_steps
from intrabench.engine.progress.tally import Pace, Tally
from tests.conftest import Said


class Drawing:
    """What rich draws."""

    def __init__(self, *about: Any) -> None:
        self.about = about

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        yield from drawn(*self.about, console, options)


def screen(run: Tally, now: float, files: Sequence[File] = (), width: int = 80, height: int = 25) -> list[str]:
    """The lines on a terminal without colours."""
    file = io.StringIO()
    console = RichConsole(file=file, width=width, height=height, markup=False, emoji=False, highlight=False)
    console.print(Drawing(run, files, now))
    return [line.rstrip() for line in file.getvalue().splitlines()]


@pytest.fixture
def run() -> Tally:
    """After a minute: 17 of 96 sessions, 5 of them resumed, one failed; two workers."""
    made = Tally(0.0)
    made.begin(0.0, 96, 5)
    for number in range(1, 7):
        made.advance(10.0 * number, 2, int(number == 3), [0.7, 0.8])
    made.doing(50.0, "2", "encoding slice 12 of 80")
    made.doing(25.0, "1", "playing [bold]spine_ct[/], case süb-1, box_fill:red, 12 sessions")
    return made


def test_a_terminal_of_80_columns(run: Tally) -> None:
    assert screen(run, 60.0) == [
        "━━━━━━━                                  17 of 96 sessions",
        "1 failed, about 7 min left, Dice 0.750, 12/min",
        "1  playing [bold]spine_ct[/], case süb-1, box_fill:red, 12 sessions         35 s",
        "2  encoding slice 12 of 80                                                  10 s",
    ]


def test_silence_and_cases_to_prepare(run: Tally) -> None:
    run.cases = 2
    run.total += 4
    assert screen(run, 90.0) == [
        "━━━━━━╸                                  17 of 100+ sessions",
        "1 failed, at least 10 min left, Dice 0.750, 8.4/min, 2 cases to prepare",
        "1  playing [bold]spine_ct[/], case süb-1, box_fill:red, 12 s...  silent for 65 s",
        "2  encoding slice 12 of 80                                                  40 s",
    ]


def test_narrow_terminals_are_cut_and_never_wrapped(run: Tally) -> None:
    assert screen(run, 60.0, width=40) == [
        "━━━╸                   17 of 96 sessions",
        "1 failed, about 7 min left, Dice 0.750",
        "1  playing [bold]spine_ct[/], c...  35 s",
        "2  encoding slice 12 of 80          10 s",
    ]
    assert screen(run, 60.0, width=15) == ["17 of 96 ses...", "1 failed", "1  playing [...", "2  encoding ..."]


def test_wide_characters_take_two_columns(run: Tally) -> None:
    run.doing(59.0, "1", "playing 腰椎データ, case 患者一, box_fill")
    lines = screen(run, 60.0, width=30)
    assert lines[2:] == ["1  playing 腰椎データ,...  1 s", "2  encoding slice 12 ...  10 s"]


def test_more_workers_than_lines(run: Tally) -> None:
    for number in range(1, 101):
        run.doing(59.0, str(number), f"playing case {number}")
    lines = screen(run, 60.0, height=8)
    assert len(lines) == 7
    assert lines[2].startswith("1  playing case 1 ")
    assert lines[5].startswith("4  playing case 4 ")
    assert lines[6] == "and 96 more"
    assert len(screen(run, 60.0, height=200)) == 102


def test_no_sessions_all_failed_all_resumed() -> None:
    assert screen(Tally(0.0), 0.0) == []
    none = Tally(0.0)
    none.begin(0.0, 0, 0)
    none.cases = 3
    assert screen(none, 0.0, width=60) == [" " * 41 + "3 cases to prepare"]
    failed = Tally(0.0)
    failed.begin(0.0, 2, 0)
    failed.advance(1.0, 2, 2, [0.0, 0.0])
    assert screen(failed, 1.0, width=60) == ["━" * 40 + " 2 of 2 sessions", "2 failed, Dice 0.000"]
    resumed = Tally(0.0)
    resumed.begin(0.0, 4, 4)
    assert screen(resumed, 1.0, width=60) == ["━" * 40 + " 4 of 4 sessions", "0 failed"]


def test_downloads_are_lines_too() -> None:
    file = File("spine_ct.whl", 0.0)
    file.add(2.0, 1_000_000, 9_000_000)  # of an earlier run
    assert screen(Tally(0.0), 2.0, [file], width=50) == ["spine_ct.whl                         1.0 of 9.0 MB"]
    file.add(4.0, 3_000_000, 9_000_000)
    assert screen(Tally(0.0), 4.0, [file], width=50) == ["spine_ct.whl               3.0 of 9.0 MB, 1.0 MB/s"]


def test_lines_about_a_download_come_at_growing_intervals_and_at_the_end() -> None:
    file, found = File("some.zip", 0.0), {}
    for now in range(1, 201):
        file.add(float(now), 1_000_000 * now, 200_000_000)
        if text := file.line(float(now)):
            found[now] = text
    assert list(found) == [5, 15, 35, 75, 135, 195, 200]
    assert found[5] == "some.zip: 5.0 of 200.0 MB, 1.0 MB/s"
    assert found[200] == "some.zip: 200.0 of 200.0 MB, 1.0 MB/s"


def test_a_terminal_that_cannot_show_a_name_shows_its_code() -> None:
    assert cut("case süb", 12, "ascii") == r"case s\xfcb"
    assert cut("case süb", 8, "ascii") == "case ..."
    assert cut("case süb", 10, pad=True) == "case süb  "
    assert cut("case", 2) == ".."


def test_facts_that_do_not_fit_are_left_out_whole() -> None:
    facts = ["1 failed", "about 7 min left", "12/min"]
    assert [fitting(facts, width) for width in (34, 33, 26, 25, 7)] == [
        "1 failed, about 7 min left, 12/min",
        "1 failed, about 7 min left",
        "1 failed, about 7 min left",
        "1 failed",
        "",
    ]


class Terminal(io.StringIO):
    """A file that is said to be a terminal."""

    def isatty(self) -> bool:
        return True


def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """One that stands for stderr; not a fixture, because pytest sets stderr again when a test begins."""
    made = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys, "stderr", made)
    return made


def test_on_a_terminal_all_is_in_one_place_and_the_end_stays(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    err = terminal(monkeypatch)
    with Console() as console:
        console.begin(3, 1)
        console.doing("1", "playing case-1")
        console.say("[a] note")
        with console.watch("some.zip") as tell:
            tell(500_000, 1_000_000)
            console._live.refresh()
        print("a table")  # into a pipe
        console.advance(2, 0, [0.25, 0.75])
    said = err.getvalue()
    assert "1  playing case-1" in said
    assert "some.zip" in said
    assert "0.5 of 1.0 MB" in said
    assert "[a] note\n" in said
    assert said.endswith("3 of 3 sessions, 0 failed, Dice 0.500, in 0 s\n")
    assert capsys.readouterr().out == "a table\n"


def test_a_terminal_that_draws_nothing_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    err = terminal(monkeypatch)
    monkeypatch.setenv("TERM", "dumb")
    with Console() as console:
        console.begin(1, 0)
        console.advance(1, 1)
    assert err.getvalue() == "1 session\n1 of 1 session, 1 failed, in 0 s\n"


def test_steps_without_a_run_are_a_line_on_a_terminal_that_goes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with showing_steps(), progress.step("writing", "writing mask 3 of 40", "sub-1"):
        print("wrote it")
    assert capsys.readouterr() == ("wrote it\n", "")
    err = terminal(monkeypatch)
    with showing_steps(quiet=True), progress.step("writing", "writing mask 3 of 40"):
        pass
    assert err.getvalue() == ""
    with showing_steps(), progress.step("writing", (what := "writing mask 3 of 40"), "sub-" + "1" * 90):
        deadline = time.monotonic() + 120
        while "mask" not in err.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
    assert f"{what}: sub-{'1' * 51}..." in err.getvalue()
    assert err.getvalue().endswith("\x1b[1A\x1b[2K")  # the line is erased


@pytest.mark.usefixtures("data")
def test_commands_that_take_long_say_their_steps(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, say: Callable[..., Said], wording: SnapshotAssertion
) -> None:
    said: list[str] = []

    @contextmanager
    def noted(quiet: bool = False) -> Iterator[Callable[[str], None]]:
        with progress.listen(lambda phase, what, about: said.append(progress.joined(what, about))):
            yield said.append

    monkeypatch.setattr("intrabench.engine.progress.display.showing_steps", noted)
    phantom = "phantom:shape=16x32x32,instances=2"
    run = ("run", "--model", "box_fill", "--prompter", "box_slice", "--dataset", phantom, "--workers", "0")
    assert say(*run, "--save-masks", "--out", str(tmp_path / "out")).code == 0
    assert say("export", "masks", str(tmp_path / "nii"), "--out", str(tmp_path / "out")).code == 0
    assert say("data", "check", phantom).code == 0
    assert say("report", "report.html", "--out", str(tmp_path / "out")).code == 0
    words = (
        "submit",
        str(tmp_path / "all" / "mine"),
        "--name",
        "us",
        "--contact",
        "https://example.org",
        "--licence",
        "CC0-1.0",
    )
    assert say(*words, "--out", str(tmp_path / "out")).code == 0
    assert say("board", "build", str(tmp_path / "all"), str(tmp_path / "site")).code == 0
    during = ("opening", "closing", "playing", "scoring", "writing tables", "writing models")
    assert [what for what in said if what and not what.startswith(during)] == wording


@pytest.mark.usefixtures("capsys")
def test_what_is_said_to_the_line_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    err = terminal(monkeypatch)
    with showing_steps() as say:
        say("computing tables and curves")
        deadline = time.monotonic() + 120
        while "curves" not in err.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
    assert "computing tables and curves" in err.getvalue()


def test_a_finished_run_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    err = terminal(monkeypatch)
    with Console() as console:
        console.begin(2, 2)
    assert err.getvalue() == "2 sessions, 2 of them already finished\n"


def test_lines_come_although_nothing_happens(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Pace, "FIRST", 0.0)
    with Console() as console:
        console.begin(2, 0)
        console.doing("1", "loading sam")
        deadline, said = time.monotonic() + 120, ""
        while "loading" not in said and time.monotonic() < deadline:
            said += capsys.readouterr().err
            time.sleep(0.01)
    assert said.startswith("2 sessions\n0 of 2 sessions, 0 failed; 1: loading sam, 0 s\n")


def test_many_threads_report_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    def work(number: int) -> None:
        for step in range(200):
            console.doing(str(number), f"playing {step}")
            console.expect(1)
            console.advance(1, step % 2, [0.5])
            if step % 50 == 0:
                console.say(f"worker {number} at {step}")
        console.doing(str(number), "")

    with Console() as console:
        console.begin(0, 0)
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "0 sessions"
    told = (f"worker {number} at {step}" for number in range(8) for step in (0, 50, 100, 150))
    assert sorted(said[1:-1]) == sorted(told)
    assert said[-1].startswith("1600 of 1600 sessions, 800 failed, Dice 0.500, in ")


def test_a_run_that_is_interrupted_says_what_it_came_to(capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted() -> None:
        with Console() as console:
            console.begin(9, 0)
            console.advance(3, 1)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert capsys.readouterr().err.splitlines()[-1] == "3 of 9 sessions, 1 failed, in 0 s"
