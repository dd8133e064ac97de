"""Paths on the command line: empty text, which Python takes for the current folder, is none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import get_type_hints

import typer

from intrabench.errors import IntraBenchError
from intrabench.specs.values import holds

METAVARS = ("PATH", "FILE", "FOLDER")
"""What stands for a path in the help of options that are text because they may also be something else."""


def refuse_empty(app: typer.Typer, words: Sequence[str]) -> None:
    """Refuse words of a command line that are empty where a path, a name or a spec is meant.

    Raises:
        IntraBenchError: there is one; it names the option.
    """
    if not any(word == "" or word.endswith("=") for word in words):
        return
    paths, others = set[str](), set[str]()
    for option, is_path in _options(app):
        (paths if is_path else others).add(option)
    for before, word in zip(("", *words), words, strict=False):
        option = word.removesuffix("=") if word.endswith("=") else before
        if word == "" or (word.endswith("=") and option in paths):
            if option in paths:
                raise IntraBenchError(f"{option} is empty; give a path, or omit it")
            if option not in others:
                raise IntraBenchError("an argument is empty; give a name or a path, or omit it")


def _options(app: typer.Typer) -> Iterator[tuple[str, bool]]:
    """The options of all commands that take a value, and whether that is a path."""
    for group in app.registered_groups:
        if group.typer_instance is not None:
            yield from _options(group.typer_instance)
    for command in app.registered_commands:
        assert command.callback is not None
        for name, hint in get_type_hints(command.callback, include_extras=True).items():
            for option in (one for one in getattr(hint, "__metadata__", ()) if hasattr(one, "param_decls")):
                if not isinstance(option, typer.models.ArgumentInfo) and not holds(hint, bool):
                    words = [word for word in option.param_decls or () if word.startswith("-")]
                    path = holds(hint, Path) or option.metavar in METAVARS
                    yield from ((word, path) for word in words or [f"--{name.replace('_', '-')}"])
