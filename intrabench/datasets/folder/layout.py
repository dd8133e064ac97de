"""What a folder or file of the user's is to this program, however it is laid out: cases that can be loaded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from intrabench.datasets.convert.segments import Segment
from intrabench.datasets.folder.rules import Rules
from intrabench.volume import Volume


@dataclass(frozen=True, eq=False)
class Loaded:
    """A case as its files have it: the scan, what is outlined in it, and what is unusual, a sentence each."""

    volume: Volume
    segments: Sequence[Segment]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Layout(ABC):
    """A folder that was recognised.

    kind: what it is, for people. labels: the names that it promises, whether or not they occur. stated: what it says
    for `DatasetCard`. notes: what is unusual about it as a whole, a sentence each.
    """

    kind: str
    labels: tuple[str, ...] = ()
    stated: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @abstractmethod
    def cases(self) -> tuple[str, ...]:
        """The names of the cases, also of those that cannot be loaded."""

    @abstractmethod
    def local_files(self, case: str) -> tuple[Path, ...]:
        """The files that a case is made from."""

    @abstractmethod
    def load(self, case: str, rules: Rules) -> Loaded:
        """One case.

        Raises:
            IntraBenchError: files that are missing, cannot be read or do not fit together.
        """
