"""The order of lines at each budget: how far each is behind the best, and whether that may be chance."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from intrabench.metrics.base import Best, merit
from intrabench.statistics.budgets import AtBudgets, Budget, Place, gains
from intrabench.statistics.ranking import of_patients, paired_tests
from intrabench.statistics.resample import AVERAGE
from intrabench.statistics.significance import holm

_DIGITS = 12  # rounded, so that equal lines are tied whatever the order of summation


@dataclass(frozen=True)
class Behind:
    """How much worse a line is than the best one: the difference of their means, and its interval of 95 %.

    patients: that both have. p: of Wilcoxon's signed rank test on these, corrected for all lines that are compared with
    the best (Holm); None of too few to test (`FEW`).
    """

    value: float
    low: float | None
    high: float | None
    patients: int
    p: float | None

    @property
    def certain(self) -> bool | None:
        """Whether the interval does not hold 0; None where there is none."""
        return None if self.low is None else self.low > 0


@dataclass(frozen=True)
class Standing:
    """A line at a budget: its rank (equal values share the better one), and its mean over data sets with its interval.

    counts: `aggregate.COUNTS`. behind: None of the best line.
    """

    line: int
    rank: int
    place: Place
    value: float
    low: float | None
    high: float | None
    counts: Mapping[str, int]
    behind: Behind | None


def standings(found: AtBudgets, best: Best, lines: Collection[int]) -> dict[Budget, list[Standing]]:
    """The standings of these lines at each budget at which some have a value on all data sets, the best first.

    Of equal values, that which costs less is first.
    """
    means = {row["state"]: row for row in found.table.filter(pl.col("dataset") == AVERAGE).iter_rows(named=True)}
    ordered = {
        budget: sorted((_key(means[place.state], place, line, best), line) for line, place in places.items())
        for budget, every in found.places.items()
        if (places := {line: one for line, one in every.items() if line in lines and one.state in means})
    }
    states = {budget: [found.places[budget][line].state for _, line in order] for budget, order in ordered.items()}
    pairs = sorted({(first, other) for first, *others in states.values() for other in others})
    apart = dict(zip(pairs, gains(found.drawn, pairs, best), strict=True))
    numbered, values = of_patients(found.sessions, ["state"], best)
    where = {state: number for number, state in enumerate(numbered.sort("_line")["state"])}
    tested = paired_tests(values, [(where[first], where[other]) for first, other in pairs])
    tests = dict(zip(pairs, tested, strict=True))
    made = {}
    for budget, order in ordered.items():
        first, *others = states[budget]
        corrected = holm([tests[first, other][2] for other in others])
        behind = [
            Behind(*apart[first, other], tests[first, other][0], None if np.isnan(p) else float(p))
            for other, p in zip(others, corrected, strict=True)
        ]
        rows = [means[state] for state in states[budget]]
        merits = [key[0] for key, _ in order]
        made[budget] = [
            _standing(line, 1 + merits.index(key[0]), found.places[budget][line], row, one)
            for (key, line), row, one in zip(order, rows, [None, *behind], strict=True)
        ]
    return made


def _key(row: Mapping[str, Any], place: Place, line: int, best: Best) -> tuple[float, float, int]:
    """What lines are sorted by: how bad the mean is, then what it costs."""
    return -round(merit(row["value"], best), _DIGITS), float("inf") if place.spent is None else place.spent, line


def _standing(line: int, rank: int, place: Place, row: Mapping[str, Any], behind: Behind | None) -> Standing:
    counts = {name: row[name] for name in ("patients", "cases", "targets", "failed")}
    return Standing(line, rank, place, row["value"], row["low"], row["high"], counts, behind)
