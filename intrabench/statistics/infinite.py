"""Values that may be infinite, such as the HD95 of a missed target: how many are, and the mean over the others.

A mean over an infinite value is infinite, whatever the others are. So both parts stand beside every mean (`BESIDE`),
with the median, every output says them in the same words (`Infinite.words`), and lines are ordered by both parts
(`Infinite.order`, `places`). Where a miss counts as a finite value, the number of misses stands there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from intrabench.mask import Floats
from intrabench.metrics.base import Best, merit

IS_MISS = "_is_miss"
"""A column of sessions: whether the value, which is finite, is that of a miss."""

MISSED = "missed"
"""How many are, in the columns `BESIDE`, and how the words begin that say so."""

BESIDE = ("infinite", "of", "others", "net", "median", MISSED)
"""Columns beside a mean: how many of its sessions are `infinite`, `of` how many, the mean over the `others`, the share
of infinite values, averaged as the values are, where those below 0 count as negative, the `median` of the sessions if
some are infinite, and how many count as a miss with a finite value."""

INFINITE = "infinite in "
"""How the words begin that say so."""

_DIGITS = 12  # rounded, so that equal lines are tied whatever the order of summation


def three(value: float) -> str:
    """A mean with three decimals."""
    return f"{value:.3f}"


def signed(value: float) -> str:
    """A difference with three decimals and its sign."""
    return f"{value:+.3f}"


@dataclass(frozen=True)
class Infinite:
    """What is infinite among the values behind a mean or a difference, or counts as a miss.

    count: how many of them are infinite. of: how many there are. others: the mean over the others; None if there are
    none. net: as in `BESIDE`. both: of paired values, how many are infinite on both sides, so that they have no
    difference. median: of all; None if it is infinite, or unknown. missed: how many are misses with a finite value.
    """

    count: int = 0
    of: int = 0
    others: float | None = None
    net: float = 0.0
    both: int = 0
    median: float | None = None
    missed: int = 0

    @classmethod
    def beside(cls, row: Mapping[str, Any]) -> Infinite:
        """Of a row that has the columns `BESIDE`, and `both_infinite` if it is of differences."""
        count, of, others, net, median, missed = (row[name] for name in BESIDE)
        median = None if median is None or not math.isfinite(median) else median
        return cls(count or 0, of or 0, others, net or 0.0, row.get("both_infinite") or 0, median, missed or 0)

    def __bool__(self) -> bool:
        """Whether anything is infinite."""
        return bool(self.count or self.both)

    @property
    def misses(self) -> str:
        """``missed in 4 of 12``, where a miss has a finite value; empty if there is none."""
        return f"{MISSED} in {self.missed} of {self.of}" if self.missed else ""

    def words(self, text: Callable[[float], str] = three) -> str:
        """``infinite in 4 of 12; 3.210 over the other 8; median 3.900``. text: how a number is written."""
        parts = [f"{self.count} of {self.of + self.both}"] if self.count else []
        parts += [f"both lines in {self.both}{'' if parts else f' of {self.of + self.both}'}"] if self.both else []
        share = INFINITE + ", in ".join(parts)
        more = [] if self.others is None else [f"{text(self.others)} over the other {self.of - self.count}"]
        more += [] if self.median is None else [f"median {text(self.median)}"]
        return "; ".join([share, *more])

    def order(self, best: Best) -> tuple[float, float]:
        """What lines are ordered by, the greatest first: the fewest infinite values, then the mean over the others."""
        others = -math.inf if self.others is None else merit(self.others, best)
        return round(merit(self.net, best), _DIGITS) + 0.0, round(others, _DIGITS)


NOTHING = Infinite()


def both_infinite(one: str, other: str) -> pl.Expr:
    """Whether two columns are infinite alike: a tie, of which there is no difference that could enter a mean."""
    return pl.col(one).is_infinite() & (pl.col(one) == pl.col(other))


def with_parts(values: pl.DataFrame) -> pl.DataFrame:
    """The values with the columns `net` and `others`, whose means are those of `BESIDE`."""
    value = pl.col("value")
    infinite = value.is_infinite()
    return values.with_columns(
        net=pl.when(infinite).then(value.sign()).otherwise(pl.when(value.is_not_null()).then(0.0)),
        others=pl.when(~infinite).then(value),
    )


def pooled(values: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Means of `value` with equal weights, and `BESIDE`; none is null."""
    return with_parts(values).group_by(by).agg(pl.col("value", "others", "net").mean(), *counts(values.columns))


def counts(columns: Sequence[str]) -> list[pl.Expr]:
    """What `BESIDE` counts of sessions that have a value, by the columns that they have; and their median."""
    infinite = pl.col("value").is_infinite()
    missed = pl.col(IS_MISS).sum() if IS_MISS in columns else pl.lit(0)
    median = pl.when(infinite.any()).then(pl.col("value").median()).otherwise(None).alias("median")
    return [infinite.sum().alias("infinite"), pl.len().alias("of"), median, missed.alias(MISSED).cast(pl.UInt32)]


def whole(net: pl.Expr, others: pl.Expr) -> pl.Expr:
    """A mean difference as one number: infinite with the sign of most infinite ones, else that of the others, or 0."""
    most = net.round(_DIGITS)
    return pl.when(most != 0).then(most.sign() * math.inf).otherwise(others.fill_null(0.0))


def places(net: Floats, others: Floats, best: Best) -> Floats:
    """(draws, lines) means of `BESIDE` to numbers in the order of `Infinite.order`: minus how many lines are better.

    NaN where `net` is, which is no value; where only `others` is, all values are infinite.
    """
    first = np.round(merit(net, best), _DIGITS)
    second = np.round(merit(others, best), _DIGITS)
    second = np.where(np.isnan(second), -np.inf, second)
    better = [
        ((first > one[:, None]) | ((first == one[:, None]) & (second > other[:, None]))).sum(axis=1)
        for one, other in zip(first.T, second.T, strict=True)
    ]
    return np.where(np.isnan(first), np.nan, -np.stack(better, axis=1).astype(float))
