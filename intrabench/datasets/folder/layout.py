"""The common interface of all layouts of the user's folders and files: cases that can be loaded."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from intrabench.datasets.convert.dicom_series import paths_below
from intrabench.datasets.convert.segments import Segment
from intrabench.datasets.folder.pairing import ending
from intrabench.datasets.folder.rules import Rules
from intrabench.errors import several, some
from intrabench.volume import Volume

_BESIDE = re.compile(
    r"\.(bib|cfg|csv|db|docx?|html|ini|ipynb|jsonl?|log|m|md|md5|pdf|py|r|rst|sh|sha256|toml|tsv|txt|xlsx?|xml|ya?ml)",
    re.IGNORECASE,
)
"""Endings of files about data, which nobody takes for scans or labels."""
_HEADERS = (".hdr", ".mhd", ".nhdr")
"""Endings of files whose voxels are in another one of the same name."""


@dataclass(frozen=True, eq=False)
class LoadedCase:
    """A case as read from its files: the scan, with notes on what is unusual, and its segments."""

    volume: Volume
    segments: Sequence[Segment]


@dataclass(frozen=True, eq=False, kw_only=True)
class Layout(ABC):
    """A recognised folder or file.

    content: what each case is made of, by its name, also of cases that cannot be loaded; a subclass says what that is.
    kind: name of the layout, for people. labels: the names of labels that the folder declares, also those that do not
    occur. stated: fields of `DatasetCard` that the folder states. notes: what is unusual, one sentence each. problem:
    why the files give no case, one sentence. left: files that belong to the cases and are not used.
    """

    kind: str
    content: Mapping[str, Any]
    labels: tuple[str, ...] = ()
    stated: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    problem: str = ""
    left: frozenset[Path] = frozenset()

    @property
    def version(self) -> str:
        """That of the data set: it changes whenever the same files could give other scans or targets."""
        return "2"

    def cases(self) -> tuple[str, ...]:
        """The names of the cases, including those that cannot be loaded."""
        return tuple(self.content)

    def complete(self) -> tuple[str, ...]:
        """The names of the cases that have a scan and segments, as far as the names of their files say."""
        return self.cases()

    def patient(self, case: str) -> str:
        """The patient that a case is of, if the files say it, else the case."""
        return case

    def time(self, case: str) -> str:
        """The time point of its patient that a case is, if the files say it, else an empty text."""
        return ""

    def series(self, case: str) -> str:
        """Which of several scans of a patient at one time a case is, if the files say it, else an empty text."""
        return ""

    @abstractmethod
    def local_files(self, case: str) -> tuple[Path, ...]:
        """The files that a case is made from."""

    @abstractmethod
    def load(self, case: str, rules: Rules) -> LoadedCase:
        """Load one case.

        Raises:
            IntraBenchError: files are missing, cannot be read or do not fit together.
        """


_Found = TypeVar("_Found", bound=Layout)


def first_of(root: Path, places: Mapping[tuple[Path, ...], _Found]) -> _Found | None:
    """The first layout that has complete cases, else the first, with a note on each folder with files of others.

    places: the layouts that are read alike, by their folders in `root`.
    """
    chosen = next((place for place, one in places.items() if one.complete()), next(iter(places), None))
    if chosen is None:
        return None
    others = {
        folder: {file for case in one.cases() for file in one.local_files(case)}
        for place, one in places.items()
        for folder in place
        if folder not in chosen
    }
    unused = [folder for folder, files in others.items() if any(folder in file.parents for file in files)]
    notes = [not_used(f"{folder.relative_to(root)}/") for folder in unused]
    return replace(places[chosen], notes=(*places[chosen].notes, *notes))


def not_used(what: str) -> str:
    """The note on files or folders that a layout leaves alone."""
    return f"also there, and not used: {what}"


def of_unknown_kind(
    folders: Iterable[Path], used: Collection[Path], is_known: Callable[[Path], bool] = lambda file: False
) -> tuple[str, ...]:
    """The note on files whose endings no layout knows, at any depth of folders; hidden ones do not count.

    used: the files of all cases. is_known: whether another note tells of a file.
    """
    paths = {path for folder in folders for path in paths_below(folder)}
    headers = {path.with_suffix("") for path in paths if path.suffix.lower() in _HEADERS}
    found = Counter(
        path.suffix.lower()
        for path in paths - set(used)
        if path.suffix and not ending(path) and not _BESIDE.fullmatch(path.suffix)
        if headers.isdisjoint((path.with_suffix(""), path.with_suffix("").with_suffix(""))) and not is_known(path)
    )
    named = some([one for one, _ in sorted(found.items(), key=lambda one: (-one[1], one[0]))])
    return (not_used(f"{several(found.total(), 'file')} of unknown kind ({named})"),) if found else ()
