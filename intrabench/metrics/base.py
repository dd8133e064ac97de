"""The base class of metrics: one number for an answer and its target."""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from dataclasses import dataclass, fields
from functools import cached_property
from inspect import cleandoc
from typing import Any, ClassVar, Literal

from intrabench.identity.versions import version_of
from intrabench.metrics.mask_pair import MaskPair
from intrabench.specs.component import Component
from intrabench.specs.specs import short_spec_of

Need = Literal["mask", "surface", "spacing", "image", "before"]
Best = Literal["high", "low", "zero"]

SLACK = 1e-6
"""By so much values may lie outside of the bounds of their metric, because sums of floats are rounded."""


@dataclass(frozen=True)
class Metric(Component):
    """Base of all metrics. A subclass is a frozen dataclass with a `name`, its parameters, and `measure`.

    The class declares what is to be known of its values, and the docstring begins with their definition; tables, axes,
    `info`, exports and methods take it from there (`about`).

    version: changes whenever the same masks give a different number. title, unit: for the headings of tables; "" means
    no unit. best: whether high, low or near-zero values are best. worst: the value of failed sessions, usually that of
    an empty answer. bounds: the least and the greatest value there can be; stored rows with others count as damaged.
    needs: the inputs that it uses; the image and the answer of the round before are provided only if a metric needs
    them. source: the citations of its definition, with a semicolon between them. default_column: its column with
    default parameters, if that is not its name.
    """

    version = "1"
    title: ClassVar[str] = ""
    unit: ClassVar[str] = ""
    best: ClassVar[Best] = "high"
    worst: ClassVar[float] = 0.0
    bounds: ClassVar[tuple[float, float]] = (-math.inf, math.inf)
    needs: ClassVar[frozenset[Need]] = frozenset({"mask"})
    source: ClassVar[str] = ""
    default_column: ClassVar[str] = ""

    @abstractmethod
    def measure(self, pair: MaskPair) -> float | None:
        """The value of the answer; None if the metric is undefined."""

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
    def miss_words(self) -> str:
        """What an answer counts that is empty, or whose target is, in words; empty: the metric has no such rule."""
        return ""

    @property
    def worst_column(self) -> str:
        """The column of rows with the value of failed sessions, where the scan decides it; empty: it is `worst`."""
        return ""

    @property
    def perfect(self) -> float:
        """The best value there can be."""
        return {"high": self.bounds[1], "low": self.bounds[0], "zero": 0.0}[self.best]

    @property
    def description(self) -> str:
        """Its definition in words: the first paragraph of the docstring, up to what that says of parameters."""
        text = " ".join(cleandoc(type(self).__doc__ or "").split("\n\n")[0].split())
        names = "|".join(one.name for one in fields(self))
        return re.split(rf"(?<=[.;] )(?:{names})(?:, \w+)*: ", text)[0].strip() if names else text

    def about(self) -> dict[str, Any]:
        """What is to be known of its values, as plain data.

        A range without an end is infinite. worst: what failed sessions count, None where it is what a miss counts,
        which the scan decides.
        """
        return {
            "definition": self.description,
            "source": self.source,
            "column": self.column,
            "unit": self.unit,
            "best": self.best,
            "range": list(self.bounds),
            "miss": self.miss_words,
            "worst": None if self.worst_column else float(self.worst),
            "needs": sorted(self.needs),
        }

    @property
    def head(self) -> str:
        """Its heading in tables, with parameters and unit."""
        _, _, parameters = short_spec_of(self).partition(":")
        title = (self.title or self.name) + (f" ({parameters})" if parameters else "")
        return f"{title}, {self.unit}" if self.unit else title


def merit(value: Any, best: Best) -> Any:
    """A number, array or polars expression transformed so that more is better."""
    return value if best == "high" else -value if best == "low" else -abs(value)
