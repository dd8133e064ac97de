"""What the values of a label map are called, as its NIfTI header says, or a table of colours beside it."""

from __future__ import annotations

import csv
import html
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from intrabench.errors import IntraBenchError, reading
from intrabench.files.headers import LONGEST_HEADER, extensions

_TABLES = (".ctbl", ".csv", ".txt", ".label")
_NONE = ("", "(none)")
"""How 3D Slicer calls values that have no name."""
# Strangers write these files: no expression takes more time than its text is long, and numbers have few digits.
_XML = re.compile(r'<Label\s[^<>]*\bKey="(\d{1,9})"[^<>]*>\s*(?:<!\[CDATA\[([^<\]]*)\]\]>|([^<]*))\s*</Label>')
_NUMBER = r"[\d.]+(?:[eE][-+]?\d+)?"
_COLOURS = re.compile(rf"(\d{{1,9}})\s+(\S*[^\W\d]\S*)(?:\s+{_NUMBER}){{4}}")
"""A line of 3D Slicer: value, name, red, green, blue, opacity. Without a letter in the name it is of something else."""
_DESCRIPTION = re.compile(rf'(\d{{1,9}})(?:\s+{_NUMBER}){{4}}\s+[01]\s+[01]\s+"(.*)"')
"""A line of ITK-SNAP: value, red, green, blue, opacity, whether it and its mesh are visible, name."""
_LONGEST_LINE = 500


def label_names(path: Path) -> dict[int, str]:
    """The names of the values of a label map; empty if nothing says them. 0 is background and has none.

    A NIfTI file may have a table of labels in its header, as Connectome Workbench and TotalSegmentator write it. Else
    the file of `table_beside` counts.

    Raises:
        IntraBenchError: a file cannot be read, or gives a value two names.
    """
    with reading(path):
        found = _once(path, _in_header(path))
    beside = None if found else table_beside(path)
    if beside is not None:
        with reading(beside):
            found = _once(beside, _in_table(beside))
    return found


def table_beside(path: Path) -> Path | None:
    """The table of names beside ``NAME.nrrd`` or ``NAME-label.nrrd``, if there is one.

    It is ``NAME_ColorTable.ctbl``, as 3D Slicer calls it, or ``NAME.txt``, and may be a table of Slicer (also as csv),
    or a label description of ITK-SNAP.
    """
    stem = re.sub(r"(\.nii|\.seg)?\.\w+$", "", path.name)
    stems = dict.fromkeys((stem, stem.removesuffix("-label")))
    named = (
        path.parent / f"{one}{more}{suffix}" for one in stems for more in ("_ColorTable", "") for suffix in _TABLES
    )
    return next((one for one in named if one.is_file() and any(True for _ in _in_table(one))), None)


def _once(path: Path, entries: Iterable[tuple[int, str]]) -> dict[int, str]:
    names: dict[int, str] = {}
    for value, name in entries:
        if value == 0 or name in _NONE:
            continue
        if names.setdefault(value, name) != name:
            raise IntraBenchError(
                f"{path} gives the value {value} two names, {names[value]!r} and {name!r}; correct or remove its names"
            )
    return names


def _in_header(path: Path) -> Iterator[tuple[int, str]]:
    """The entries of a table of labels in the header of a NIfTI file. It is XML, but no entity of it is expanded."""
    text = extensions(path).decode("utf-8", errors="replace")
    for key, quoted, plain in _XML.findall(text) if "<LabelTable" in text else ():
        yield int(key), (quoted or html.unescape(plain)).strip()


def _in_table(path: Path) -> Iterator[tuple[int, str]]:
    """The entries of a table beside a label map; none if the file is of another kind."""
    with path.open("rb") as file:
        lines = file.read(LONGEST_HEADER).decode("utf-8-sig", errors="replace").splitlines()
    entries = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if not entries or max(map(len, entries)) > _LONGEST_LINE:
        return
    if {"LabelValue", "Name"} <= set(entries[0].split(",")):
        rows = [(row["LabelValue"] or "", row["Name"] or "") for row in csv.DictReader(entries)]
        yield from ((int(value), name.strip()) for value, name in rows if re.fullmatch(r"\d{1,9}", value))
        return
    found = [_COLOURS.fullmatch(entry) or _DESCRIPTION.fullmatch(entry) for entry in entries]
    if all(found):
        yield from ((int(one[1]), one[2].strip()) for one in found if one)
