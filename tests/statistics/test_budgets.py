"""What lines reach within a budget, on sessions whose scores and efforts are known; and the Pareto front."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from intrabench.statistics.aggregate import AGGREGATIONS
from intrabench.statistics.budgets import AtBudgets, Budget, at_budgets, front, gains
from intrabench.statistics.resample import AVERAGE
from intrabench.statistics.steps import steps
from tests.results.made import curve, rows

HOW = AGGREGATIONS["protocol"]


def played(made: pl.DataFrame, *budgets: Budget, metric: str = "dice") -> AtBudgets:
    """At these budgets; the line of a row is the number at the end of its model's name."""
    return at_budgets(steps(made.with_columns(line=pl.col("model").str.tail(1).cast(pl.Int64)), metric), HOW, budgets)


def mean(found: AtBudgets, budget: Budget, line: int = 0) -> float:
    """The mean over data sets of a line."""
    table = found.table.filter(state=found.places[budget][line].state, dataset=AVERAGE)
    return float(table["value"].item())


def test_a_session_has_the_last_round_that_it_can_afford() -> None:
    made = curve([0.2, 0.5, 0.4], model="m0", interactions=3.0)  # at 3, 6 and 9
    asked = [Budget("interactions", limit) for limit in (3, 5.9, 6, 8, 9, math.inf)]
    found = played(made, *asked)
    assert [mean(found, one) for one in asked] == [0.2, 0.2, 0.5, 0.5, 0.4, 0.4]
    assert [found.places[one][0].spent for one in asked] == [3, 3, 6, 6, 9, 9]
    assert len(found.table) == 2 * 3  # what is the same at two budgets is averaged once
    assert found.cheapest == {"interactions": {0: 3.0}}


def test_a_line_without_any_session_within_the_budget_has_no_value() -> None:
    found = played(curve([0.9], model="m0", interactions=3.0), Budget("interactions", 2.9), Budget("interactions", 3))
    assert Budget("interactions", 2.9) not in found.places
    assert found.places[Budget("interactions", 3)][0].over == 0


def test_a_session_that_costs_more_counts_as_the_worst_value_and_is_told() -> None:
    made = pl.concat(curve([0.8, 0.9], model="m0", case=str(cost), interactions=float(cost)) for cost in (1, 2, 10))
    budget = Budget("interactions", 3)
    place = played(made, budget).places[budget][0]
    assert place.over == 1
    assert mean(played(made, budget), budget) == pytest.approx((0.9 + 0.8 + 0) / 3)
    assert place.spent == (2 + 2) / 2  # of those that were played
    assert mean(played(made.with_columns(hd95_mm=1.0), budget, metric="hd95"), budget) == math.inf


def test_failures_count_and_have_no_effort_but_missing_data_do_not() -> None:
    failed = {"model": "m0", "case": "2", "status": "error", "dice": None, "interactions": None}
    made = pl.concat([curve([0.6], model="m0"), rows(failed), rows({**failed, "case": "3", "status": "no_data"})])
    budget = Budget("interactions", 2)
    found = played(made, budget)
    assert mean(found, budget) == 0.3
    assert (found.places[budget][0].over, found.places[budget][0].spent) == (0, 2.0)
    nothing = rows({**failed, "status": "not_applicable"})
    assert played(nothing, budget).places == {}


def test_other_efforts() -> None:
    made = curve([0.2, 0.5], model="m0", dof=5.0, seconds_human=7.0)
    found = played(made, Budget("dof", 9), Budget("seconds_human", 14))
    assert [mean(found, one) for one in found.places] == [0.2, 0.5]


def test_differences_are_those_of_the_means_and_their_intervals_those_of_paired_differences() -> None:
    values = {"m0": [0.5, 0.6, 0.7, 0.8, 0.65, 0.55, 0.9], "m1": [0.4, 0.62, 0.5, 0.7, 0.6, 0.41, 0.8]}
    made = pl.concat(
        curve([value], model=model, case=str(case))
        for model, every in values.items()
        for case, value in enumerate(every)
    )
    budget = Budget("interactions", 2)
    found = played(made, budget)
    pair = tuple(found.places[budget][line].state for line in (0, 1))
    ((value, low, high),) = gains(found.draws, [(pair[0], pair[1])], "high")
    apart = np.subtract(*values.values())
    half = stats.t(len(apart) - 1).ppf(0.975) * stats.sem(apart)
    assert (value, low, high) == pytest.approx([apart.mean(), apart.mean() - half, apart.mean() + half])
    assert gains(found.draws, [pair], "low")[0][0] == -value  # type: ignore[list-item]
    assert gains(found.draws, [(pair[0], pair[0])], "high")[0] == (0, 0, 0)


def test_few_patients_have_no_interval_of_their_difference() -> None:
    made = pl.concat(curve([0.5 + int(m) / 10], model=f"m{m}", case=str(case)) for m in "01" for case in range(5))
    found = played(made, Budget("interactions", 2))
    ((value, low, high),) = gains(found.draws, [(1, 0)], "high")
    assert (round(value, 12), low, high) == (0.1, None, None)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(-3, 3)), max_size=12))
def test_the_front_is_what_nothing_beats(points: list[tuple[int, int]]) -> None:
    def beaten(one: tuple[int, int]) -> bool:
        return any(other[0] <= one[0] and other[1] >= one[1] and other != one for other in points)

    assert front(points) == [not beaten(one) for one in points]
