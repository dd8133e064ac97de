"""What people see of a run: plain lines off a terminal."""

from __future__ import annotations

import pytest

from intrabench.engine.progress import Console


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
