"""What people see of a run: plain lines off a terminal, bars on one and in notebooks."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from intrabench.engine.progress import Console, Silent, reporting


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


def test_one_session_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    with Console() as console:
        console.begin(1, 0)
        console.advance(1, 1)
    first, second = capsys.readouterr().err.splitlines()
    assert first == "1 session"
    assert second.startswith("1 of 1 session, 1 failed, ")


class Shell:
    """Stands for Jupyter's; rich and we know it by this name."""


Shell.__name__ = "ZMQInteractiveShell"


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook without widgets."""
    monkeypatch.setattr("builtins.get_ipython", Shell, raising=False)
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setattr("intrabench.engine.progress.find_spec", lambda name: None)


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
def test_a_notebook_with_widgets_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("intrabench.engine.progress.find_spec", lambda name: name)
    started = []
    monkeypatch.setattr("rich.progress.Progress.start", lambda self: started.append(self.console.is_jupyter))
    monkeypatch.setattr("rich.progress.Progress.stop", lambda self: None)
    monkeypatch.setattr("rich.console.Console.print", lambda self, *words, **how: None)
    with reporting(None) as reporter:
        reporter.begin(2, 0)
        reporter.advance(2, 0)
    assert started == [True]
