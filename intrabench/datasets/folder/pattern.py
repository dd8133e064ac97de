"""Patterns of paths, such as ``{case}/segmentations/{label}.nii.gz``, and the files in a folder that fit them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args

Field = Literal["patient", "case", "time", "rater", "label"]
"""What a text in a path can be the name of."""
_NAMED = re.compile(r"\{([^{}]*)\}|(\*)")


@dataclass(frozen=True)
class Pattern:
    """A path relative to a folder: `Field` names in braces stand for one text each, and ``*`` for any text in a name.

    A field that comes twice stands for the same text. A field takes as much as it can: of ``{patient}_{time}.nii`` and
    ``a_b_1.nii`` the patient is ``a_b``. A pattern that ends in ``/`` fits folders. Hidden files fit no field and no
    star.

    Raises:
        ValueError: it is empty, absolute, leaves the folder, or has other fields.
    """

    text: str

    def __post_init__(self) -> None:
        parts = self.text.removesuffix("/").split("/")
        if not all(parts) or {".", ".."} & set(parts):
            raise ValueError(f'"{self.text}" is no path within the folder; write one such as "{{case}}/ct.nii.gz"')
        known = get_args(Field)
        for name in re.findall(r"\{(.*?)\}", self.text):
            if name not in known:
                raise ValueError(f'"{self.text}" has the field {{{name}}}; fields are {", ".join(known)}')

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """The names of its fields, each once, in order."""
        return tuple(dict.fromkeys(re.findall(r"\{(.*?)\}", self.text)))

    def find(self, root: Path, known: Mapping[str, str] = {}) -> Iterator[tuple[Path, dict[str, str]]]:
        """The files in `root` (or folders) that fit, sorted by name, each with the texts of its fields.

        known: texts that fields have already.
        """
        yield from _find(root, self.text.removesuffix("/").split("/"), dict(known), self.text.endswith("/"))


def _find(
    folder: Path, parts: list[str], known: dict[str, str], folders: bool
) -> Iterator[tuple[Path, dict[str, str]]]:
    expression = _expression(parts[0], known)
    names = [parts[0]] if not _NAMED.search(parts[0]) else sorted(one.name for one in folder.iterdir())
    for name in names:
        path, found = folder / name, expression.fullmatch(name)
        if found is None or (name[0] == "." and name != parts[0]):
            continue
        fields = known | found.groupdict()
        if len(parts) > 1:
            if path.is_dir():
                yield from _find(path, parts[1:], fields, folders)
        elif path.is_dir() if folders else path.is_file():
            yield path, fields


def _expression(part: str, known: Mapping[str, str]) -> re.Pattern[str]:
    """One name of a pattern as a regular expression with a group for each field that is not known."""
    found, end, named = "", 0, set[str]()
    for one in _NAMED.finditer(part):
        field = one[1]
        found += re.escape(part[end : one.start()])
        if one[2]:
            found += ".*"
        elif field in known:
            found += re.escape(known[field])
        else:
            found += f"(?P={field})" if field in named else f"(?P<{field}>.+)"
            named.add(field)
        end = one.end()
    return re.compile(found + re.escape(part[end:]), re.DOTALL)
