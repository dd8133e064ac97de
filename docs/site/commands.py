"""Pages of the command line, one for each command, as `--help` tells it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer.main

from intrabench.cli.headings import HEADINGS
from intrabench.cli.main import app

_VALUES = {"str": "TEXT", "path": "PATH", "int": "N", "float": "X"}


def pages() -> dict[str, str]:
    """Markdown by file name; README.md lists the commands."""
    program: Any = typer.main.get_command(app)
    shown = {name: command for name, command in program.commands.items() if not command.hidden}
    made = {f"{name}.md": "\n".join(_page(f"intrabench {name}", command)) for name, command in shown.items()}
    return {"README.md": "\n".join(_overview(shown)), **made}


def _overview(commands: dict[str, Any]) -> Iterator[str]:
    yield from ["# Commands", "", "Every command and option, as `intrabench COMMAND --help` shows them.", ""]
    for heading, names in HEADINGS.items():
        yield from [f"**{heading}**", "", "| command | what it does |", "|---|---|"]
        for name in names:
            first = commands[name].help.partition("\n\n")[0]
            yield f"| [`intrabench {name}`]({name}.md) | {_cell(commands[name].short_help or first)} |"
        yield ""


def _page(name: str, command: Any) -> Iterator[str]:
    yield from [f"# {name}", ""]
    if not hasattr(command, "commands"):
        yield from _one(name, command)
        return
    yield from [_plain(command.help), ""]
    for sub, one in command.commands.items():
        if not one.hidden:
            yield from [f"## {name} {sub}", "", *_one(f"{name} {sub}", one)]


def _one(name: str, command: Any) -> Iterator[str]:
    """Help, usage and a table of parameters for each group of them."""
    context = command.context_class(command, info_name=name)
    yield from [_plain(command.help), "", "```text", command.get_usage(context).removeprefix("Usage: "), "```", ""]
    groups: dict[str, list[tuple[str, str]]] = {}
    for one in command.get_params(context):
        if (record := one.get_help_record(context)) and "--help" not in record[0]:
            title = getattr(one, "rich_help_panel", None) or f"{one.param_type_name.capitalize()}s"
            groups.setdefault(title, []).append(record)
    for title, records in groups.items():
        head = "argument" if title == "Arguments" else "option"
        yield from [f"**{title}**", "", f"| {head} | meaning |", "|---|---|"]
        yield from (f"| `{_cell(_given(given))}` | {_cell(_plain(told))} |" for given, told in records)
        yield ""


def _given(text: str) -> str:
    """Options with the type of their value in a word; a phone has no room for `list[str]`. Choices stay."""
    kinds = "|".join(_VALUES)
    return re.sub(
        rf"(?i)<(list\[)?({kinds})\b[^>]*>",
        lambda found: _VALUES[found[2].lower()] + (" ..." if found[1] else ""),
        text,
    )


def _plain(text: str | None) -> str:
    """Text of a help, whose angle brackets and stars are no markup, but whose backticks are."""
    parts = (text or "").replace("  [", " [").split("`")
    for number in range(0, len(parts), 2):
        for mark in "<*_[":
            parts[number] = parts[number].replace(mark, f"\\{mark}")
    return "`".join(parts)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
