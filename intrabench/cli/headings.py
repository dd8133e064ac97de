"""How the help of the program looks: commands under headings, and no type behind what is given or not."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup, TyperOption

HEADINGS = {
    "Start": ("init", "list", "info", "run", "table", "report"),
    "Your own classes": ("check", "preview"),
    "Compare": ("compare", "power", "methods", "figures", "failures", "score", "verify"),
    "People": ("annotate", "rate", "record", "calibrate", "gap"),
    "Share": ("merge", "export", "submit", "board", "serve"),
    "This machine and others": ("data", "weights", "job", "status", "compact"),
    "Special": ("clickability", "superpixels"),
}
"""All commands."""

HELP = ("-h", "--help")


def arrange(program: TyperGroup) -> None:
    """Put the commands in the order of `HEADINGS`, each under its heading; KeyError: a command has none."""
    headings = {name: heading for heading, names in HEADINGS.items() for name in names}
    places, commands = [*headings], dict[str, Any](program.commands)
    program.commands = {name: commands[name] for name in sorted(commands, key=places.index)}
    for name, command in commands.items():
        command.rich_help_panel = headings[name]


def hide_types(command: Any) -> None:
    """Show no type behind the flags that typer adds to a command and those in it."""
    context = typer.Context(command, help_option_names=[*HELP])
    for option in command.get_params(context):
        if isinstance(option, TyperOption) and option.is_flag and option.metavar is None:
            option.metavar = ""
    for one in command.commands.values() if isinstance(command, TyperGroup) else ():
        hide_types(one)
