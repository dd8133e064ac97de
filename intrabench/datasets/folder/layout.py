"""The common interface of all layouts of the user's folders and files: cases that can be loaded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from intrabench.datasets.convert.segments import Segment
from intrabench.datasets.folder.rules import Rules
from intrabench.volume import Volume


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
    occur. stated: fields of `DatasetCard` that the folder states. notes: what is unusual, one sentence each.
    """

    kind: str
    content: Mapping[str, Any]
    labels: tuple[str, ...] = ()
    stated: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        """That of the data set: it changes whenever the same files could give other scans or targets."""
        return "2"

    def cases(self) -> tuple[str, ...]:
        """The names of the cases, including those that cannot be loaded."""
        return tuple(self.content)

    def patient(self, case: str) -> str:
        """The patient that a case is of, if the files say it, else the case."""
        return case

    @abstractmethod
    def local_files(self, case: str) -> tuple[Path, ...]:
        """The files that a case is made from."""

    @abstractmethod
    def load(self, case: str, rules: Rules) -> LoadedCase:
        """Load one case.

        Raises:
            IntraBenchError: files are missing, cannot be read or do not fit together.
        """
