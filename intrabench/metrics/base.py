"""A metric: one number for an answer beside its own target."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

from intrabench.metrics.mask_pair import MaskPair
from intrabench.specs import short_spec_of, spec_of
from intrabench.versions import version_of

Need = Literal["mask", "surface", "spacing", "image"]
Best = Literal["high", "low", "zero"]


@dataclass(frozen=True)
class Metric(ABC):
    """Base of all metrics. A subclass is a frozen dataclass with a `name`, its parameters, and `measure`.

    version: another one whenever the same masks give another number. title, unit: for the heads of tables; no unit is
    "". best: whether high values are best, low ones, or those near zero. worst: what a failed session counts as, mostly
    what an empty answer gets. needs: what it looks at; the image is handed over only if a metric needs it.
    default_column: its column with default parameters, where that is not its name.
    """

    name: ClassVar[str]
    version: ClassVar[str] = "1"
    title: ClassVar[str] = ""
    unit: ClassVar[str] = ""
    best: ClassVar[Best] = "high"
    worst: ClassVar[float] = 0.0
    needs: ClassVar[frozenset[Need]] = frozenset({"mask"})
    default_column: ClassVar[str] = ""

    @abstractmethod
    def measure(self, pair: MaskPair) -> float | None:
        """The value of the answer; None where the metric means nothing."""

    @property
    def spec(self) -> str:
        """``name:key=value,...`` with every parameter."""
        return spec_of(self)

    @cached_property
    def column(self) -> str:
        """Its column of the rows: the spec with the parameters that differ from their defaults."""
        short = short_spec_of(self)
        return self.default_column if self.default_column and short == self.name else short

    @property
    def id(self) -> str:
        """The column and the version, ``dice@1``."""
        return f"{self.column}@{version_of(self)}"

    @property
    def head(self) -> str:
        """What tables call it, with its parameters and its unit."""
        _, _, given = short_spec_of(self).partition(":")
        title = (self.title or self.name) + (f" ({given})" if given else "")
        return f"{title}, {self.unit}" if self.unit else title


def merit(value: Any, best: Best) -> Any:
    """A number, array or polars expression turned so that more is better, whatever was best."""
    return value if best == "high" else -value if best == "low" else -abs(value)
