"""``--quiet`` and ``--verbose``: every command has them, and they mean the same everywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.core import TyperGroup

from intrabench.cli.main import app
from tests.conftest import Said

RUN = ("run", "-m", "box_fill", "-p", "box_volume", "-d", "phantom:shape=8x48x56")


def commands(group: Any, *above: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """All commands, with the words that call them."""
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from commands(command, *above, name)
        else:
            yield (*above, name), command


def test_every_command_has_both_once() -> None:
    found = dict(commands(typer.main.get_command(app)))
    assert {("run",), ("merge",), ("data", "get"), ("superpixels", "run")} <= set(found)
    for words, command in found.items():
        names = [name for option in command.params for name in option.opts]
        for name in ("-q", "--quiet", "-v", "--verbose"):
            assert names.count(name) == 1, (words, name)


@pytest.mark.parametrize(
    "words",
    [
        ("merge", "a", "--out", "b"),
        ("compact", "--out", "a"),
        ("export", "rows", "a.csv", "--out", "a"),
        ("data", "verify", "phantom:shape=8x48x56"),
        ("data", "remove", "phantom:shape=8x48x56"),
        ("weights", "verify"),
        ("init", "bench"),
        ("preview", "-p", "box_slice", "-d", "phantom:shape=8x48x56", "--file", "a.png"),
        ("check", "box_fill"),
    ],
)
def test_quiet_commands_say_nothing_if_all_is_well(say: Callable[..., Said], words: tuple[str, ...]) -> None:
    say(*RUN, "--out", "a")
    quiet = say(*words, "-q")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")
    if words[0] != "init":
        assert say(*words).out or words == ("weights", "verify")


def test_quiet_commands_say_what_is_wrong(say: Callable[..., Said]) -> None:
    say(*RUN, "--out", "a")
    next(Path("a/rows").iterdir()).write_bytes(b"PAR1")
    said = say("merge", "a", "--out", "b", "-q")
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("damaged: ")


def test_verbose_commands_show_where_an_error_came_from(say: Callable[..., Said]) -> None:
    plain, verbose = say("merge", "nothing", "--out", "b"), say("merge", "nothing", "--out", "b", "-v")
    assert (plain.code, verbose.code) == (2, 2)
    assert plain.err.startswith("error: nothing is not a results folder")
    assert verbose.err.startswith("Traceback (most recent call last):\n")
    assert "merge.py" in verbose.err
    assert verbose.err.endswith(plain.err)
    assert say("merge", "nothing", "--out", "b").err == plain.err  # it does not last
