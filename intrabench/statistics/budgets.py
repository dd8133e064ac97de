"""What each line reaches within a budget of effort.

A session has the score of the last round that its budget allows. If even its first round costs more, nothing is
segmented and it has the worst value, as in curves. A line none of whose sessions fits has no value at the budget.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from intrabench.mask import Floats
from intrabench.metrics.base import Best, merit
from intrabench.statistics.aggregate import Aggregation
from intrabench.statistics.bca import LEVEL, Jackknife
from intrabench.statistics.infinite import NOTHING, Infinite
from intrabench.statistics.ranking import of_patients, sides, tests_of_lines
from intrabench.statistics.resample import AVERAGE, Draws, difference, drawn_intervals, resample
from intrabench.statistics.scores import UNIT
from intrabench.statistics.significance import differences, holm, paired_values, sure
from intrabench.statistics.steps import EFFORTS, Steps

Gain: TypeAlias = tuple[float, float | None, float | None]
"""A difference and its interval, None where there is none."""

_WHO = ("line", *UNIT, "patient", "target_ml", "failed", "not_applicable")


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
    cheapest first round. how: the averages.
    """

    sessions: pl.DataFrame
    table: pl.DataFrame
    draws: Draws
    places: Mapping[Budget, Mapping[int, Place]]
    cheapest: Mapping[str, Mapping[int, float]]
    how: Aggregation


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
    return AtBudgets(sessions, table, draws, places, cheapest, how)


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


def paired_gains(
    draws: Draws, scored: pl.DataFrame, by: str, pairs: Sequence[tuple[int, int]], best: Best, how: Aggregation
) -> list[tuple[Gain, Infinite]]:
    """`gains`, and what is infinite among the differences: then the targets of both lines are paired first.

    scored: the sessions of the draws. by: the column of their lines. A gain of infinite differences has no interval;
    of both signs it is NaN.
    """
    found = [(one, NOTHING) for one in gains(draws, pairs, best)]
    infinite = set(scored.filter(pl.col("value").is_infinite())[by].unique())
    if not infinite:
        return found
    lines = draws.lines.with_row_index("_line")
    numbers = set(lines.filter(pl.col(by).is_in(list(infinite)))["_line"])
    parts = sides(scored, lines.filter(pl.col("_line").is_in({n for pair in pairs if numbers & {*pair} for n in pair})))
    return [
        _paired_gain(paired_values(parts[pair[1]], parts[pair[0]], best), how) if numbers & {*pair} else one
        for pair, one in zip(pairs, found, strict=True)
    ]


def _paired_gain(units: pl.DataFrame, how: Aggregation) -> tuple[Gain, Infinite]:
    """The same of `paired_values`."""
    rows = differences(units.with_columns(pair=0), ["pair"], how).filter(pl.col("dataset") == AVERAGE)
    if rows.is_empty():
        return (math.nan, None, None), NOTHING
    row = rows.row(0, named=True) | {"both_infinite": units["both_infinite"].sum()}
    value = math.nan if row["value"] is None else row["value"]
    return (value, row["low"], row["high"]), Infinite.beside(row)


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


@dataclass(frozen=True)
class Behind:
    """How much worse a line is than the best one: the difference of their means, and its interval of 95 %.

    patients: that both have. p: of Wilcoxon's signed rank test on these, corrected for all lines that are compared with
    the best (Holm); None of too few to test (`FEW`). ranks: the rank-biserial correlation. infinite: among the
    differences.
    """

    value: float
    low: float | None
    high: float | None
    patients: int
    p: float | None
    ranks: float = 0.0
    infinite: Infinite = NOTHING

    @property
    def certain(self) -> bool | None:
        """Whether the interval excludes 0, or ranks do where differences are infinite; None where there is neither."""
        if self.infinite.count and self.p is not None:
            return self.p < 1 - LEVEL and self.ranks > 0
        return None if self.low is None else self.low > 0


@dataclass(frozen=True)
class Standing:
    """A line at a budget: its rank (equal values share the better one), and its mean over data sets with its interval.

    counts: `aggregate.COUNTS`. behind: None of the best line. infinite: among the values behind the mean.
    """

    line: int
    rank: int
    place: Place
    value: float
    low: float | None
    high: float | None
    counts: Mapping[str, int]
    behind: Behind | None
    infinite: Infinite = NOTHING


def standings(found: AtBudgets, best: Best, lines: Collection[int]) -> dict[Budget, list[Standing]]:
    """The standings of these lines at each budget at which some have a value on all data sets, the best first.

    Infinite means are ordered by `Infinite.order`. Of equal values, that which costs less is first.
    """
    means = {row["state"]: row for row in found.table.filter(pl.col("dataset") == AVERAGE).iter_rows(named=True)}
    ordered = {
        budget: sorted((_key(means[place.state], place, line, best), line) for line, place in places.items())
        for budget, every in found.places.items()
        if (places := {line: one for line, one in every.items() if line in lines and one.state in means})
    }
    states = {budget: [found.places[budget][line].state for _, line in order] for budget, order in ordered.items()}
    pairs = sorted({(first, other) for first, *others in states.values() for other in others})
    gained = paired_gains(found.draws, found.sessions, "state", pairs, best, found.how)
    apart = dict(zip(pairs, gained, strict=True))
    numbered, values = of_patients(found.sessions, ["state"], best)
    where = {state: number for number, state in enumerate(numbered.sort("_line")["state"])}
    which = [(where[first], where[other]) for first, other in pairs]
    tests = dict(zip(pairs, tests_of_lines(found.sessions, numbered, values, which, best), strict=True))
    made = {}
    for budget, order in ordered.items():
        first, *others = states[budget]
        corrected = holm([tests[first, other][2] for other in others])
        behind = []
        for other, p in zip(others, corrected, strict=True):
            (gain, infinite), (patients, ranks, _) = apart[first, other], tests[first, other]
            behind.append(Behind(*gain, patients, None if np.isnan(p) else float(p), ranks, infinite))
        rows = [means[state] for state in states[budget]]
        merits = [key[0] for key, _ in order]
        made[budget] = [
            _standing(line, 1 + merits.index(key[0]), found.places[budget][line], row, one)
            for (key, line), row, one in zip(order, rows, [None, *behind], strict=True)
        ]
    return made


def _key(row: Mapping[str, Any], place: Place, line: int, best: Best) -> tuple[tuple[float, ...], float, int]:
    """What lines are sorted by: how bad the mean is, then what it costs."""
    bad = tuple(-one for one in Infinite.beside(row).order(best))
    return bad, math.inf if place.spent is None else place.spent, line


def _standing(line: int, rank: int, place: Place, row: Mapping[str, Any], behind: Behind | None) -> Standing:
    counts = {name: row[name] for name in ("patients", "cases", "targets", "failed")}
    value = math.nan if row["value"] is None else row["value"]
    return Standing(line, rank, place, value, row["low"], row["high"], counts, behind, Infinite.beside(row))
