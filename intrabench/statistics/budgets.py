"""What each line reaches within a budget of effort.

A session has the score of the last round that its budget allows. If even its first round costs more, nothing is
segmented and it has the worst value, as in curves. A line none of whose sessions fits has no value at the budget.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from intrabench.mask import Floats
from intrabench.metrics.base import Best, merit
from intrabench.statistics.aggregate import Aggregation
from intrabench.statistics.bca import Jackknife
from intrabench.statistics.ranking import of_patients, paired_tests
from intrabench.statistics.resample import AVERAGE, Draws, difference, drawn_intervals, resample
from intrabench.statistics.significance import holm, sure
from intrabench.statistics.steps import EFFORTS, Steps

Gain: TypeAlias = tuple[float, float | None, float | None]
"""A difference and its interval, None where there is none."""

_WHO = ("line", "dataset", "patient", "case", "label", "target", "target_ml", "failed", "not_applicable")


@dataclass(frozen=True)
class Budget:
    """An effort, one of `steps.EFFORTS`, and how much of it there is."""

    against: str
    limit: float


@dataclass(frozen=True)
class Place:
    """A line at a budget.

    state: what its sessions had reached, a number that budgets share at which nothing differs. over: how many of its
    sessions have a first round that costs more. spent: mean effort of the others that did not fail, None if all did.
    """

    state: int
    over: int
    spent: float | None


@dataclass(frozen=True)
class AtBudgets:
    """What lines reached at budgets.

    sessions: the columns of a session, its `value`, and the number of its `state`. table: `intervals` by state. draws:
    the draws behind it. places: by budget, those of the lines that have one. cheapest: by effort and line, that of the
    cheapest first round.
    """

    sessions: pl.DataFrame
    table: pl.DataFrame
    draws: Draws
    places: Mapping[Budget, Mapping[int, Place]]
    cheapest: Mapping[str, Mapping[int, float]]


def at_budgets(played: Steps, how: Aggregation, budgets: Sequence[Budget]) -> AtBudgets:
    """What the lines (`line` of the sessions) have reached at each budget.

    All budgets share the draws of patients. What is the same at several budgets is averaged and drawn once.
    """
    lines = played.sessions["line"].to_numpy()
    valued = played.sessions["value"].is_not_null().to_numpy()
    members = {int(line): np.flatnonzero((lines == line) & valued) for line in np.unique(lines[valued])}
    usual = ~played.sessions["failed"].to_numpy()
    states: dict[tuple[int, bytes], int] = {}
    parts: list[pl.DataFrame] = []
    places: dict[Budget, dict[int, Place]] = {}
    for budget in budgets:
        rounds = _rounds(played, budget)
        spent, values = _efforts(played, budget.against, rounds), played.at(budget.against, budget.limit)
        for line, rows in members.items():
            counts = rounds[rows]
            if not counts.any():
                continue
            # Where a budget allows each session of a line as many rounds as another budget does, all values are the
            # same. Such budgets share a state, and the bootstrap, which takes nearly all of the time, is done once for
            # them.
            key = line, counts.tobytes()
            if key not in states:
                states[key] = len(states)
                one = played.sessions[rows].select(_WHO)
                parts.append(one.with_columns(state=pl.lit(states[key]), value=pl.Series(values[rows])))
            paid = rows[(counts > 0) & usual[rows]]
            mean = float(spent[paid].mean()) if paid.size else None
            places.setdefault(budget, {})[line] = Place(states[key], int((counts == 0).sum()), mean)
    empty = pl.lit(0, pl.Int32).alias("state"), pl.lit(None, pl.Float64).alias("value")
    sessions = pl.concat(parts) if parts else played.sessions.clear().select(*_WHO, *empty)
    draws = resample(sessions, ["state"], how)
    table = drawn_intervals(sessions, ["state"], how, draws)
    cheapest = {against: _cheapest(played, against, members) for against in {one.against for one in budgets}}
    return AtBudgets(sessions, table, draws, places, cheapest)


def within(rows: pl.DataFrame, budget: Budget) -> pl.DataFrame:
    """The rows of the rounds that the budget allows; of a session, effort never falls, and one without any is free."""
    effort = pl.col(EFFORTS[budget.against]).cast(pl.Float64).fill_null(0)
    return rows.filter(effort.cum_max().over("session", order_by="round") <= budget.limit)


def _rounds(played: Steps, budget: Budget) -> NDArray[np.int64]:
    """(sessions) The number of rounds that the budget allows."""
    allowed = played.session[played.effort(budget.against) <= budget.limit]
    return np.bincount(allowed, minlength=played.sessions.height)


def _efforts(played: Steps, against: str, rounds: NDArray[np.int64]) -> Floats:
    """(sessions) The effort after so many rounds; NaN after none."""
    first = np.searchsorted(played.session, np.arange(played.sessions.height))
    effort = np.append(played.effort(against), np.nan)
    return np.where(rounds > 0, effort[first + rounds - 1], np.nan)


def _cheapest(played: Steps, against: str, members: Mapping[int, NDArray[np.int64]]) -> dict[int, float]:
    first = np.full(played.sessions.height, np.nan)
    first[played.session[played.first]] = played.effort(against)[played.first]
    return {line: float(np.nanmin(first[rows])) for line, rows in members.items()}


def gains(draws: Draws, pairs: Sequence[tuple[int, int]], best: Best) -> list[Gain]:
    """How much better the first line of each pair is in its mean over data sets, with the interval of 95 %.

    pairs: numbers of rows of `Draws.lines`. The interval is that of paired patients, as in `claims`; None where there
    is none.
    """
    if not pairs:
        return []
    one, other = (np.array(side) for side in zip(*pairs, strict=True))
    parts = [_apart(part, one, other, best) for part in draws.parts.values()]
    low, high, _ = sure(parts)
    full = np.mean([part.value for part in parts], axis=0)
    return [
        (float(value), *((None, None) if np.isnan(ends).any() else map(float, ends)))
        for value, *ends in zip(full, low, high, strict=True)
    ]


def _apart(part: Jackknife, one: NDArray[np.int64], other: NDArray[np.int64], best: Best) -> Jackknife:
    """The same of the differences of merits."""
    # What a patient adds to a merit is what they add to the value times the slope of the merit there (delta method);
    # the merit is -|value| where zero is best.
    slope = {"high": np.ones_like(part.value), "low": -np.ones_like(part.value), "zero": -np.sign(part.value)}[best]
    merits, influence = merit(part.value, best), part.influence * slope
    return Jackknife(
        difference(merits[one], merits[other]),
        np.minimum(part.patients[one], part.patients[other]),
        difference(influence[:, one], influence[:, other]),
    )


def front(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Which points (effort, merit) are on the Pareto front: no other is as good and cheaper, or better and as cheap."""
    # From the cheapest on, a point is on the front if none before it is as good. Of equal costs the best comes first;
    # points that are equal in both are all on the front.
    on, last = [False] * len(points), None
    for effort, merits, place in sorted((effort, -merits, n) for n, (effort, merits) in enumerate(points)):
        if last is None or merits < last[1] or (effort, merits) == last:
            on[place], last = True, (effort, merits)
    return on


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
    apart = dict(zip(pairs, gains(found.draws, pairs, best), strict=True))
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
