"""A data set that shows the stored cases of another one in a different way; nothing of that is stored."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from typing import Any, TypeVar, cast

from intrabench.datasets.base import Dataset, DatasetCard
from intrabench.identity.versions import version_of
from intrabench.specs.specs import short_spec_of, spec_of

F = TypeVar("F", bound=Callable[..., Any])


def _of_base(method: F) -> F:
    """The method of a view that asks the data set."""

    @wraps(method, updated=())
    def call(self: View, *arguments: Any, **options: Any) -> Any:
        return getattr(self.base, method.__name__)(*arguments, **options)

    return cast(F, call)


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

    gathered = _of_base(Dataset.gathered)
    seen = _of_base(Dataset.seen)
    moved = _of_base(Dataset.moved)
    cases = _of_base(Dataset.cases)
    load = _of_base(Dataset.load)
    sources = _of_base(Dataset.sources)
    case_sources = _of_base(Dataset.case_sources)
    local_files = _of_base(Dataset.local_files)
    patient = _of_base(Dataset.patient)
    time = _of_base(Dataset.time)
    series = _of_base(Dataset.series)
    remarks = _of_base(Dataset.remarks)
    subsets = _of_base(Dataset.subsets)
    megabytes = _of_base(Dataset.megabytes)
