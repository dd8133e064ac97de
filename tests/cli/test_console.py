"""What people see: plain lines off a terminal, tables with sensible digits."""

from __future__ import annotations

import polars as pl
import pytest

from intrabench.cli.console import Console, print_frame


def test_off_a_terminal_lines_are_plain_and_count(capsys: pytest.CaptureFixture[str]) -> None:
    with Console() as console:
        console.begin(5, 2)
        console.advance(2, 1)
        console.say("[case] with brackets")
        console.advance(1, 0)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "5 sessions, 2 of them finished before"
    assert lines[1] == "[case] with brackets"
    assert lines[2].startswith("5 of 5 sessions, 1 failed, ")
    assert len(lines) == 3


def test_decimals_follow_the_column(capsys: pytest.CaptureFixture[str]) -> None:
    frame = pl.DataFrame({"n": [1, 2], "whole": [3.0, 21.0], "large": [148.75, 2.0], "score": [0.5, None]})
    print_frame(frame, "title")
    out = capsys.readouterr().out
    assert "title" in out
    rows = [line.replace("│", " ").split() for line in out.splitlines() if line.startswith("│")]
    assert rows == [["1", "3", "148.8", "0.500"], ["2", "21", "2.0", "-"]]
