"""Patterns of paths, such as ``{case}/segmentations/{label}.nii.gz``, and the files in a folder that fit them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args

from intrabench.datasets.folder.pairing import is_folder
from intrabench.files.documents import written_toml

Field = Literal["patient", "case", "time", "rater", "label"]
"""What a text in a path can be the name of."""
_ANY = re.compile(r"\{(\w+)\}|\*")
_TOKEN = re.compile(r"\{\w+\}|\*|[^{}*]+")


@dataclass(frozen=True)
class Pattern:
    """A path relative to a folder: `Field` names in braces stand for one text each, and ``*`` for any text in a name.

    A field that comes twice stands for the same text. A pattern that ends in ``/`` fits folders. Hidden files fit no
    field and no star.

    Raises:
        ValueError: it is empty, absolute, leaves the folder, or has other fields.
    """

    text: str

    def __post_init__(self) -> None:
        if not all(self.parts) or {".", "..", "**"} & set(self.parts):
            raise ValueError(f'"{self.text}" is no path within the folder; write one such as "{{case}}/ct.nii.gz"')
        known = get_args(Field)
        for name in re.findall(r"\{([^{}]*)\}", self.text):
            if name not in known:
                raise ValueError(f'"{self.text}" has the field {{{name}}}; fields are {", ".join(known)}')
        if {"{", "}"} & set(re.sub(r"\{[^{}]*\}", "", self.text)):
            raise ValueError(f'"{self.text}" has a brace without its partner; write fields as {{case}}')

    @property
    def parts(self) -> list[str]:
        """The patterns of the names in the path."""
        return self.text.removesuffix("/").split("/")

    @property
    def folders(self) -> bool:
        """Whether it fits folders, not files."""
        return self.text.endswith("/")

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """The names of its fields, each once, in order."""
        return tuple(name for name in dict.fromkeys(_ANY.findall(self.text)) if name)

    @property
    def unclear(self) -> str:
        """Two fields, or a field and a star, between which there is no text, as written; empty if there are none.

        A field that came before has a text.
        """
        known = set[str]()
        for part in self.parts:
            before = ""
            for one in _TOKEN.findall(part):
                if one != "*" and (one[0] != "{" or one in known):
                    before = ""
                elif before:
                    return before + one
                else:
                    before = one
                known.add(one)
        return ""

    @property
    def fixed(self) -> str:
        """Its characters that a path has to have: of two patterns, the more specific one has more."""
        return _ANY.sub("", self.text)

    def filled(self, texts: Mapping[str, str]) -> str:
        """The pattern with the texts of fields that are known."""
        return _ANY.sub(lambda found: texts.get(found[1], found[0]), self.text)

    def fits(self, path: str) -> bool:
        """Whether a path within the folder fits; that of a folder ends in ``/``."""
        names = path.removesuffix("/").split("/")
        if len(names) != len(self.parts) or path.endswith("/") != self.folders:
            return False
        known = [dict[str, str]()]
        for part, name in zip(self.parts, names, strict=True):
            known = [texts for before in known for texts in _read(_TOKEN.findall(part), name, before)]
        return bool(known)

    def find(self, root: Path) -> Iterator[tuple[Path, list[dict[str, str]]]]:
        """The files in `root` (or folders) that fit, sorted by name, each with the texts of its fields.

        These may be read in several ways, of which those with longer texts in the first fields come first: of
        ``{case}_{label}.nii`` and ``a_b_c.nii`` the case is ``a_b``, or it is ``a``.
        """
        yield from _find(root, [_TOKEN.findall(part) for part in self.parts], [{}], self.folders)


@dataclass(frozen=True)
class FilePatterns:
    """The rule of the files of a folder.

    image: of the scan; several patterns are channels. One that ends in ``/`` is a folder with one DICOM series. label:
    of a label map. structures: of a file for each structure, whose name is ``{label}``. ``{rater}`` in both tells
    people apart who drew the same scan.

    Raises:
        ValueError: it lacks the image or its labels, or fields do not fit; the message names the key in
            ``dataset.toml``.
    """

    image: tuple[Pattern, ...]
    label: Pattern | None = None
    structures: Pattern | None = None

    def __post_init__(self) -> None:
        if not self.image:
            raise ValueError('label or structures need image = "...", the pattern of the scans; add it')
        if not self.labels:
            raise ValueError('image needs label = "..." (label maps) or structures = "..." (a file each); add one')
        of_image = set(self.image[0].fields)
        for one in self.image:
            if drawn := {"rater", "label"} & set(one.fields):
                raise ValueError(f'image = "{one.text}" has {_named(drawn)}, which only labels have; remove it')
            if of_image != set(one.fields):
                both = f'"{self.image[0].text}" and "{one.text}"'
                raise ValueError(f"image has the patterns {both} with different fields; write the same in all")
            if one.unclear:
                raise ValueError(
                    f'image = "{one.text}" does not say where the parts of {one.unclear} end; write a text between them'
                )
            if one.text.endswith(".dcm"):
                raise ValueError(
                    f'image = "{one.text}" is a file; write the folder of a DICOM series, such as "{{case}}/"'
                )
            if one.folders and len(self.image) > 1:
                raise ValueError(
                    f'image = "{one.text}" is a folder of DICOM files, which has no channels; give it alone'
                )
        for key, pattern in self.labels.items():
            text, fields = f'{key} = "{pattern.text}"', set(pattern.fields)
            if pattern.folders:
                raise ValueError(f"{text} is a folder; write the pattern of files")
            if pattern in self.image:
                raise ValueError(f"{text} is also the pattern of images; write what only labels have")
            if pattern.text.endswith(".dcm"):
                raise ValueError(f"{text} is DICOM; SEG and RTSTRUCT say what they were drawn on, so remove the rule")
            if key == "label" and "label" in fields:
                raise ValueError(f"{text} has {{label}}, so it is a file for each structure; name it structures")
            if key == "structures" and "label" not in fields:
                raise ValueError(f"{text} lacks {{label}}; add it, or name it label if it is a label map")
            if lacking := of_image - fields:
                raise ValueError(f"{text} lacks {_named(lacking)}; add it")
            if others := fields - of_image - {"rater", "label"}:
                raise ValueError(f"{text} has {_named(others)}, which image lacks; add it there")
        if len({"rater" in pattern.fields for pattern in self.labels.values()}) > 1:
            raise ValueError("only one of label and structures has {rater}; add it to the other one")

    @property
    def labels(self) -> dict[str, Pattern]:
        """The patterns of what was drawn, by their keys in ``dataset.toml``."""
        both = {"label": self.label, "structures": self.structures}
        return {key: pattern for key, pattern in both.items() if pattern}

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of the image, in the order that they have in the names of cases."""
        return tuple(name for name in get_args(Field) if name in self.image[0].fields)

    def lines(self) -> str:
        """Its lines of ``dataset.toml``."""
        image = [one.text for one in self.image]
        labels = {key: pattern.text for key, pattern in self.labels.items()}
        return written_toml({"image": image[0] if len(image) == 1 else image, **labels})


def _named(fields: set[str]) -> str:
    return " and ".join(f"{{{name}}}" for name in get_args(Field) if name in fields)


def _find(
    folder: Path, parts: Sequence[Sequence[str]], known: Sequence[dict[str, str]], folders: bool
) -> Iterator[tuple[Path, list[dict[str, str]]]]:
    """The paths in a folder that fit the `parts` of a pattern; known: the ways to read the path of the folder."""
    first = parts[0]
    if any(one == "*" or (one[0] == "{" and one[1:-1] not in known[0]) for one in first):
        below = len(parts) > 1 or folders
        with os.scandir(folder) as entries:  # it knows what is a folder, and there may be thousands of files
            names = sorted(
                entry.name
                for entry in entries
                if (entry.name[0] != "." or first[0][0] == ".") and is_folder(entry) == below
            )
    else:  # no need to list a folder of many files
        names = sorted(
            {"".join(texts.get(one[1:-1], one) if one[0] == "{" else one for one in first) for texts in known}
        )
    for name in names:
        path = folder / name
        read = [texts for before in known for texts in _read(first, name, before)]
        read = list({tuple(texts.items()): texts for texts in read}.values())
        if not read:
            continue
        if len(parts) > 1:
            if path.is_dir():
                yield from _find(path, parts[1:], read, folders)
        elif path.is_dir() if folders else path.is_file() or (path.is_symlink() and not path.is_dir()):
            yield path, read


def _read(tokens: Sequence[str], name: str, known: dict[str, str]) -> Iterator[dict[str, str]]:
    """The ways to read a name, those with longer texts in the first fields first; known: texts that fields have."""
    if not tokens:
        if not name:
            yield known
        return
    first, rest = tokens[0], tokens[1:]
    field = first[1:-1] if first[0] == "{" else ""
    fixed = known.get(field, "") if field else first if first != "*" else ""
    if fixed:
        if name.startswith(fixed):
            yield from _read(rest, name[len(fixed) :], known)
        return
    after = rest[0] if rest and rest[0] != "*" and rest[0][0] != "{" else ""
    for end in range(len(name), 0 if field else -1, -1) if rest else [len(name)]:
        if name.startswith(after, end) and (end or not field):
            yield from _read(rest, name[end:], known | {field: name[:end]} if field else known)
