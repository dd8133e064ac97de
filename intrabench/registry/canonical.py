"""Which of the specs in rows a person means: the one place where names that people write are compared with rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Literal

from intrabench.errors import IntraBenchError
from intrabench.registry.objects import make_dataset, make_model, make_prompter
from intrabench.specs.specs import comparable

Column = Literal["model", "prompter", "dataset"]

_SPECS: dict[Column, Callable[[str], str]] = {
    "model": lambda text: make_model(text).short_spec,
    "prompter": lambda text: make_prompter(text).spec,
    "dataset": lambda text: make_dataset(text).short_spec,
}
"""What rows call the object of a spec: prompters with all parameters, others with those that differ from defaults."""

_NOTE = re.compile(r" \([^()]*\)$")
"""What belongs to a name without being part of the spec, as in ``sam (random weights)``."""


def canonical(column: Column, text: str) -> str:
    """The spec in the spelling of rows: their parameters, in alphabetical order, and paths relative to here.

    What cannot be made here, such as a class of somebody else, keeps the parameters that were written.
    """
    spec, note = _parted(text)
    with suppress(IntraBenchError):
        spec = _SPECS[column](spec)
    return comparable(spec) + note


def meant(column: Column, text: str, known: Iterable[str]) -> list[str]:
    """The names among those of rows that a person means: the same text, else what is the same spec; at most one.

    Raises:
        IntraBenchError: rows have the spec in several spellings, each of which is a line of its own.
    """
    found = same_specs(column, text, known)
    if len(found) > 1:
        raise IntraBenchError(f"{column} {text!r} is written in {len(found)} ways here: {', '.join(found)}; give one")
    return found


def same_specs(column: Column, text: str, known: Iterable[str]) -> list[str]:
    """The name that is the same text, else those that are the same spec, in whatever spelling.

    Specs are the same whether defaults are left out or not, in any order, with or without quotes, whatever way paths
    are written. Nothing is made of the names of rows, which may be somebody else's.
    """
    names = sorted({*known})
    if text in names:
        return [text]
    wanted = canonical(column, text)
    return [name for name in names if comparable(_parted(name)[0]) + _parted(name)[1] == wanted]


def _parted(name: str) -> tuple[str, str]:
    """The spec of a name, and the note behind it."""
    note = _NOTE.search(name)
    return (name[: note.start()], note[0]) if note else (name, "")
