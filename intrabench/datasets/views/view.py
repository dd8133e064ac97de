"""A data set that shows the stored cases of another one in a different way; nothing of that is stored."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from intrabench.datasets.base import Dataset, DatasetCard, Files, Gathered
from intrabench.fetch.source import Source
from intrabench.identity.versions import version_of
from intrabench.specs.specs import short_spec_of, spec_of
from intrabench.target import Target, TargetInfo
from intrabench.volume import Volume


@dataclass(frozen=True)
class View(Dataset):
    """``base+change``: all that is not overridden is as in the data set.

    change: has a `name`, a `version` and parameters.
    """

    base: Dataset
    change: Any

    @property
    @abstractmethod
    def caveat(self) -> str:
        """What is different, for the card."""

    @property
    def name(self) -> str:  # type: ignore[override]
        """That of the data set."""
        return self.base.name

    @property
    def version(self) -> str:  # type: ignore[override]
        """That of the data set, and of the change."""
        return f"{version_of(self.base)}/{self.change.version}"

    @property
    def card(self) -> DatasetCard:  # type: ignore[override]
        """That of the data set."""
        return replace(self.base.card, caveats=(*self.base.card.caveats, self.caveat))

    @cached_property
    def spec(self) -> str:
        """The spec of the data set, and that of the change with every parameter."""
        return f"{self.base.spec}+{spec_of(self.change)}"

    @cached_property
    def short_spec(self) -> str:
        """The same without parameters that have their defaults."""
        return f"{self.base.short_spec}+{short_spec_of(self.change)}"

    @property
    def argument(self) -> str:
        """The argument for the command line."""
        return f"{self.base.argument}+{short_spec_of(self.change)}"

    @property
    def stored_as(self) -> Dataset:
        """The data set, of which nothing is stored twice."""
        return self.base.stored_as

    def gathered(self, infos: tuple[TargetInfo, ...]) -> Gathered | None:
        """As in the data set."""
        return self.base.gathered(infos)

    def seen(self, volume: Volume) -> Volume:
        """As in the data set."""
        return self.base.seen(volume)

    def moved(self, target: Target) -> Target:
        """As in the data set."""
        return self.base.moved(target)

    def cases(self) -> tuple[str, ...]:
        """Those of the data set."""
        return self.base.cases()

    def load(self, case: str, files: Files) -> tuple[Volume, Sequence[Target]]:
        """As the data set loads it."""
        return self.base.load(case, files)

    def sources(self) -> tuple[Source, ...]:
        """Those of the data set."""
        return self.base.sources()

    def case_sources(self, case: str) -> tuple[Source, ...]:
        """Those of the data set."""
        return self.base.case_sources(case)

    def local_files(self, case: str) -> tuple[Path, ...]:
        """Those of the data set."""
        return self.base.local_files(case)

    def patient(self, case: str) -> str:
        """That of the data set."""
        return self.base.patient(case)

    def remarks(self) -> Sequence[str]:
        """Those of the data set."""
        return self.base.remarks()

    def subsets(self) -> Mapping[str, Sequence[str]]:
        """Those of the data set."""
        return self.base.subsets()

    def megabytes(self) -> float:
        """As of the data set."""
        return self.base.megabytes()
