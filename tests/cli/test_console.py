"""Tables with sensible digits."""

from __future__ import annotations

import ast
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.cli import console
from intrabench.cli.console import echo, echo_text, print_frame


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


def test_lines_neither_grow_nor_steer_the_terminal(
    capsys: pytest.CaptureFixture[str], wording: SnapshotAssertion
) -> None:
    echo("case a\nok  all", "\x1b]8;;http://x\x1b\\", "left\tright", "", err=True)
    assert capsys.readouterr().err == wording


def test_a_text_is_folded_anew_where_the_terminal_is_narrower(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines of a paragraph go on, facts and short lines do not, and what is indented stays so."""
    words = "seven letters " * 8
    text = f"{words.strip()}\n{words}end.\n\nshort\nline\n  a: {words}\nb: c"
    monkeypatch.setattr(console, "screen_width", lambda: 60)
    echo_text(text)
    lines = capsys.readouterr().out.splitlines()
    full = "seven letters seven letters seven letters seven letters"
    assert lines[:4] == [*[full] * 3, f"{full} end."]
    assert lines[4:7] == ["", "short", "line"]
    assert lines[7:] == [f"  a: {full}", f"    {full}", "b: c"]
    monkeypatch.setattr(console, "screen_width", lambda: None)
    echo_text(text)
    assert capsys.readouterr().out == f"{text}\n"


def test_commands_print_in_no_other_way() -> None:
    for path in (Path(intrabench.__file__).parent / "cli").glob("*.py"):
        if path.name == "console.py":
            continue
        called = {ast.unparse(one.func) for one in ast.walk(ast.parse(path.read_text())) if isinstance(one, ast.Call)}
        assert not called & {"print", "typer.echo", "typer.secho"}, path
