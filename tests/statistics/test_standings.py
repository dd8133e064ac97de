"""The order of lines at a budget, against SciPy."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.stats import wilcoxon

from intrabench.statistics.budgets import Budget, Standing, standings
from intrabench.statistics.significance import holm
from tests.results.made import curve
from tests.statistics.test_budgets import played

BUDGET = Budget("interactions", 2)


def of(values: dict[str, list[float]], **shared: object) -> list[Standing]:
    """The standings of models with these scores of their cases."""
    made = pl.concat(
        curve([value], model=model, case=f"{case:02d}", **shared)
        for model, every in values.items()
        for case, value in enumerate(every)
    )
    return standings(played(made, BUDGET), "high", range(len(values)))[BUDGET]


def test_each_line_is_compared_with_the_best() -> None:
    random = np.random.default_rng(1)
    values = {f"m{n}": np.clip(random.normal(0.5 + n / 20, 0.1, 9), 0, 1).tolist() for n in range(4)}
    order = of(values)
    means = {n: float(np.mean(values[f"m{n}"])) for n in range(4)}
    assert [one.line for one in order] == sorted(means, key=lambda n: -means[n])
    assert [one.rank for one in order] == [1, 2, 3, 4]
    first = order[0].line
    assert order[0].behind is None
    raw = [wilcoxon(np.subtract(values[f"m{first}"], values[f"m{one.line}"])).pvalue for one in order[1:]]
    for one, p in zip(order[1:], holm(raw), strict=True):
        assert one.behind is not None
        assert one.behind.p == pytest.approx(p)
        assert one.behind.value == pytest.approx(means[first] - means[one.line])
        assert one.behind.patients == 9
        assert one.behind.certain == (one.behind.low is not None and one.behind.low > 0)
    assert order[0].counts["cases"] == 9


def test_equal_lines_share_a_rank_and_the_cheaper_is_first() -> None:
    made = pl.concat(
        curve([0.5], model=model, case=str(case), interactions=cost)
        for model, cost in (("m0", 2.0), ("m1", 1.0))
        for case in range(6)
    )
    order = standings(played(made, BUDGET), "high", {0, 1})[BUDGET]
    assert [(one.line, one.rank) for one in order] == [(1, 1), (0, 1)]
    assert order[1].behind is not None
    assert (order[1].behind.value, order[1].behind.p) == (0, 1)


def test_few_patients_are_not_tested() -> None:
    values = {"m0": [0.5, 0.6, 0.7, 0.8, 0.9], "m1": [0.4, 0.5, 0.6, 0.7, 0.8]}
    (_, few), (_, enough) = of(values), of({model: [*every, every[0]] for model, every in values.items()})
    assert few.behind is not None
    assert (few.behind.patients, few.behind.p, few.behind.certain) == (5, None, None)
    assert enough.behind is not None
    assert (enough.behind.patients, enough.behind.p) == (6, 2 / 2**6)


def test_only_lines_that_are_asked_for_and_have_all_data_sets_are_compared() -> None:
    made = pl.concat(
        [
            *(curve([0.5], model=f"m{n}", dataset=name) for n in range(2) for name in "de"),
            curve([0.9], model="m2", dataset="d"),
        ]
    )
    found = played(made, BUDGET)
    assert [one.line for one in standings(found, "high", {0, 1, 2})[BUDGET]] == [0, 1]
    assert [one.line for one in standings(found, "high", {1})[BUDGET]] == [1]
    assert standings(found, "high", set()) == {}
