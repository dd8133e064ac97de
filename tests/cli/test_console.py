"""Tables with sensible digits."""

from __future__ import annotations

import polars as pl
import pytest

from intrabench.cli.console import print_frame


def test_decimals_follow_the_column(capsys: pytest.CaptureFixture[str]) -> None:
    frame = pl.DataFrame({"n": [1, 2], "whole": [3.0, 21.0], "large": [148.75, 2.0], "score": [0.5, None]})
    print_frame(frame, "title")
    out = capsys.readouterr().out
    assert "title" in out
    rows = [line.replace("│", " ").split() for line in out.splitlines() if line.startswith("│")]
    assert rows == [["1", "3", "148.8", "0.500"], ["2", "21", "2.0", "-"]]
