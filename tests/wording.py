"""Sentences that tests compare with, in files that a reviewer can read: ``assert said.err == wording``.

The files lie in ``tests/golden/wording``, one per file of tests. An entry begins with ``##`` and the name of a test,
with a number if it compares several texts; equal texts that follow each other stand once. Lines of a text begin with
``>``, items of a list with ``-``, and their further lines with ``|``. What differs between machines and runs is
replaced, such as the folder of the test by ``<tmp>``. ``pytest FILE --snapshot-update`` writes entries, and removes
none: those of parameters and texts that are gone are deleted by hand.
"""

from __future__ import annotations

import os
import re
import sys
import sysconfig
import tempfile
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.data import Snapshot, SnapshotCollection, SnapshotCollections
from syrupy.extensions.base import AbstractSyrupyExtension
from syrupy.location import PyTestLocation

TESTS = Path(__file__).parent
FOLDER = TESTS / "golden" / "wording"
TITLE = "## "
NAMES = {
    r"(?m)(\d of \d+ (?:session|case)s?, .*, in )\d+ (?:s|min)$": r"\1<time>",
    r"\b\d{8}T\d{6}(?:\.\d{6})?-[0-9a-f]{6,8}\b": "<run>",
    r"(?<=\.part-)[0-9a-f]{8}\b|(?<=<temp>/intrabench-)\w{8}\b": "<random>",
    r"\b[0-9a-f]{24}\b": "<session>",
    r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b": "<uuid>",
    r"\b1\.2\.826\.0\.1\.3680043\.8\.498\.\d+": "<uid>",
    r"\b(127\.0\.0\.1|localhost):\d+": r"\1:<port>",
}
"""What is replaced wherever it is, as it depends on time and chance."""


class Wording(AbstractSyrupyExtension):
    """Keeps texts in files of plain text."""

    file_extension = "txt"

    def serialize(self, data: Any, *, matcher: Any = None, **_: Any) -> str:
        """The lines of an entry; the matcher replaces what differs between machines."""
        return str(matcher(data="\n".join(lines(data)), path=()))

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        """The folder of the file."""
        return str(FOLDER / Path(test_location.filepath).parent.relative_to(TESTS))

    def discover_snapshots(self, **_: Any) -> SnapshotCollections:
        """None: what was not compared may be of a test that is slow, skipped or not selected.

        `tests/test_wording.py` finds entries that are of no test.
        """
        return SnapshotCollections()

    def read_snapshot_collection(self, *, snapshot_location: str) -> SnapshotCollection:
        """All entries of a file."""
        return collection(snapshot_location, read(Path(snapshot_location)))

    def read_snapshot_data_from_location(
        self, *, snapshot_location: str, snapshot_name: str, session_id: str
    ) -> str | None:
        """One entry, None if there is none."""
        return read_once(snapshot_location, session_id).get(snapshot_name)

    @classmethod
    def write_snapshot_collection(cls, *, snapshot_collection: SnapshotCollection, **_: Any) -> None:
        """Add entries to a file."""
        path = Path(snapshot_collection.location)
        write(path, read(path) | {one.name: str(one.data) for one in snapshot_collection})

    def delete_snapshots(self, *, snapshot_location: str, snapshot_names: set[str]) -> None:
        """Remove entries of a file, and the file with the last."""
        path = Path(snapshot_location)
        write(path, {name: text for name, text in read(path).items() if name not in snapshot_names})


def lines(data: Any) -> list[str]:
    """Lines of a text, a list of texts, or a mapping of texts."""
    if isinstance(data, pytest.ExceptionInfo):
        return lines(str(data.value))
    if isinstance(data, Mapping):
        return [line for key, value in data.items() for line in _item(f"{key}: ", value)]
    if isinstance(data, Sequence) and not isinstance(data, str):
        return [line for value in data for line in _item("- ", value)]
    return [f"> {line}".rstrip(" ") for line in str(data).split("\n")]


def _item(mark: str, value: Any) -> list[str]:
    first, *others = lines(value) or ["(none)"]
    if isinstance(value, Mapping) or (isinstance(value, Sequence) and not isinstance(value, str)):
        return [f"{mark}{first}", *(" " * len(mark) + line for line in others)]
    return [f"{mark}{first[2:]}".rstrip(" "), *(f"|{line[1:]}" for line in others)]


def read(path: Path) -> dict[str, str]:
    """The entries of a file by name."""
    if not path.exists():
        return {}
    entries = f"\n{path.read_text(encoding='utf-8')}".split(f"\n{TITLE}")[1:]
    found, names = dict[str, str](), list[str]()
    for entry in entries:
        name, _, text = entry.partition("\n")
        names.append(name)
        if text:
            found |= dict.fromkeys(names, text.strip("\n"))
            names = []
    return found


@lru_cache
def read_once(path: str, session: str) -> dict[str, str]:
    """The entries as they were when the session first asked."""
    return read(Path(path))


def write(path: Path, entries: Mapping[str, str]) -> None:
    """Write a file in order of names."""
    if not entries:
        return path.unlink(missing_ok=True)
    groups = groupby(sorted(entries, key=_order), key=entries.__getitem__)
    parts = ("".join(f"{TITLE}{name}\n" for name in names) + f"{text}\n" for text, names in groups)
    path.write_text("\n".join(parts), encoding="utf-8")


def _order(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", name)]


def collection(location: str, entries: Mapping[str, str]) -> SnapshotCollection:
    """Entries as syrupy wants them."""
    found = SnapshotCollection(location=location)
    for name, text in entries.items():
        found.add(Snapshot(name=name, data=text))
    return found


class Places:
    """Replaces what differs between machines and runs."""

    def __init__(self, folder: Path, base: Path) -> None:
        places = {
            str(folder): "<tmp>",
            str(base): "<base>",
            str(TESTS.parent): "<repository>",
            sysconfig.get_path("purelib"): "<packages>",
            sys.executable: "<python>",
            str(Path.home()): "<home>",
            tempfile.gettempdir(): "<temp>",
        }
        self.places = {os.path.realpath(place): name for place, name in places.items()} | places
        self.places.pop(os.sep, None)  # the home of some machines
        self.pattern = re.compile(
            "|".join(rf"{re.escape(place)}(?![\w-])" for place in sorted(self.places, key=len, reverse=True))
        )

    def __call__(self, *, data: str, path: Any) -> str:
        """A text without them."""
        text = self.pattern.sub(lambda found: self.places[found.group()], data)
        for pattern, name in NAMES.items():
            text = re.sub(pattern, name, text)
        return re.sub(rf"\bprocess {os.getpid()}\b", "process <pid>", text)


@pytest.fixture
def wording(snapshot: SnapshotAssertion, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> SnapshotAssertion:
    """Equals texts that are worded as the file says."""
    places = Places(tmp_path, tmp_path_factory.getbasetemp())
    return snapshot.with_defaults(extension_class=Wording, matcher=places)


def line_with(text: str | Sequence[str], words: str) -> str:
    """The only line of a text with these words; it may be there several times."""
    found = {one.strip() for one in (text.splitlines() if isinstance(text, str) else text) if words in one}
    assert len(found) == 1, f"{len(found)} lines with {words!r} in {text!r}"
    return found.pop()


def without_reasons(text: str) -> str:
    """A text without what stands in parentheses: reasons are words of Python, libraries and systems."""
    return re.sub(r" \((?:[^()]|\([^()]*\))*\)", "", text)


def sentence_with(text: str, words: str) -> str:
    """The only sentence of a text, or of a page, with these words."""
    return line_with(re.split(r"(?<=[.;!?])\s+|\n|<[^>]*>", text), words)
