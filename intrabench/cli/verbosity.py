"""How much commands say: every one of them has ``--quiet`` and ``--verbose``, which are defined here alone."""

from __future__ import annotations

import copy
from functools import cache
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

_asked = {"quiet": False, "verbose": False}
"""Of the command that runs; a process runs one at a time."""


def quiet() -> bool:
    """Whether only results and what is wrong are wanted."""
    return _asked["quiet"]


def verbose() -> bool:
    """Whether it is wanted where in the code something went wrong."""
    return _asked["verbose"]


def add_to(group: TyperGroup) -> None:
    """Give the two options to all commands of a group and of the groups in it."""
    for command in group.commands.values():
        if isinstance(command, TyperGroup):
            add_to(command)
        else:
            command.params += map(copy.copy, _options())  # a command may put its own under a heading


def _take(parameter: typer.CallbackParam, value: bool) -> None:
    _asked[str(parameter.name)] = value


def _flag(*names: str, help: str) -> Any:
    return typer.Option(*names, metavar="", help=help, callback=_take, expose_value=False)


@cache
def _options() -> list[Any]:
    """The options, as typer makes them of a function."""

    def command(
        quiet: Annotated[bool, _flag("--quiet", "-q", help="Say nothing but results and what is wrong.")] = False,
        verbose: Annotated[bool, _flag("--verbose", "-v", help="Show where in the code failures happened.")] = False,
    ) -> None: ...

    maker = typer.Typer(add_completion=False)
    maker.command()(command)
    return [option for option in typer.main.get_command(maker).params if option.name in _asked]
