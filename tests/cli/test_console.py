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


@pytest.mark.parametrize("name", ["lesion [left]", "[/left]", "[bold]x", ":smile:", "a\\b", "[link=x]y"])
def test_names_are_no_markup(capsys: pytest.CaptureFixture[str], name: str) -> None:
    print_frame(pl.DataFrame({name: [1.0], "label": [name]}), f"title {name}")
    title, _, head, _, row, _ = capsys.readouterr().out.splitlines()
    assert title.strip() == f"title {name}"
    assert head.strip("┃ ").split("┃")[0].strip() == name
    assert row.strip("│ ").split("│")[1].strip() == name


def test_a_name_of_several_lines_stays_one_row(capsys: pytest.CaptureFixture[str]) -> None:
    print_frame(pl.DataFrame({"label": ["a\nb", "\x1b[31mred", "bell\a"]}))
    rows = [line.strip("│ ") for line in capsys.readouterr().out.splitlines() if line.startswith("│")]
    assert rows == ["a\\nb", "\\x1b[31mred", "bell\\x07"]
