"""Intervals of numbers from clusters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intrabench.mask import Floats
from intrabench.statistics.clustered import clustered, proportion_interval


def mean(sums: Floats) -> Floats:
    return np.asarray(sums[..., :1] / sums[..., 1:])


def one_way(values: Floats, strata: list[str]) -> tuple[float, ...]:
    sums = np.column_stack([values, np.ones(len(values))])
    return tuple(float(part[0]) for part in clustered(sums, strata, mean))


def test_the_mean_is_exact_and_its_interval_is_that_of_a_t_test() -> None:
    values = np.random.default_rng(0).normal(5, 1, 40)
    value, low, high = one_way(values, ["a"] * 40)
    assert value == pytest.approx(values.mean())
    half = 2.0227 * values.std(ddof=1) / np.sqrt(40)
    assert (low, high) == pytest.approx((value - half, value + half), abs=0.06)


def test_of_fewer_than_six_there_is_none() -> None:
    value, low, high = one_way(np.arange(5.0), ["a"] * 5)
    assert (value, np.isnan(low), np.isnan(high)) == (2, True, True)
    assert not np.isnan(one_way(np.arange(6.0), ["a"] * 6)[1])


def test_people_who_differ_do_not_widen_the_interval_of_more_of_their_sessions() -> None:
    random = np.random.default_rng(1)
    values = np.concatenate([random.normal(0, 0.1, 20), random.normal(10, 0.1, 20)])
    _, low, high = one_way(values, ["a"] * 20 + ["b"] * 20)
    assert high - low < 0.2
    _, low, high = one_way(values, [f"{n}" for n in range(40)])  # each alone: they are drawn among each other
    assert high - low > 2


def test_intervals_hold_their_level() -> None:
    random = np.random.default_rng(2)
    hits = 0
    for _ in range(300):
        values = random.gamma(4, 0.5, 12)
        _, low, high = one_way(values, ["a"] * 6 + ["b"] * 6)
        hits += low <= 2 <= high
    assert hits / 300 == pytest.approx(0.94, abs=0.04)


@given(st.permutations(range(8)), st.floats(0.1, 100))
def test_the_order_of_clusters_and_the_unit_do_not_matter_to_the_value(order: list[int], unit: float) -> None:
    values = np.arange(8.0) ** 2
    assert one_way(values[order] * unit, ["a"] * 8)[0] == pytest.approx(values.mean() * unit)


@pytest.mark.parametrize(
    ("hits", "count", "low", "high"),
    [(0, 10, 0, 0.3085), (10, 10, 0.6915, 1), (1, 20, 0.0013, 0.2487), (5, 10, 0.1871, 0.8129)],
)
def test_exact_intervals_of_shares(hits: int, count: int, low: float, high: float) -> None:
    assert proportion_interval(hits, count) == pytest.approx((low, high), abs=1e-4)
