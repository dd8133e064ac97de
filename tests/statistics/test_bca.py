"""Ends of intervals against SciPy, leaving patients out in loops, and simulations of how often they hold the truth."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from scipy import stats

from benchmarks.coverage import KINDS, MILD, Kind, by_scans, coverage, plain, studies
from intrabench.statistics.aggregate import AGGREGATIONS, aggregate
from intrabench.statistics.bca import Jackknife, bca, jackknife, tail
from intrabench.statistics.resample import AVERAGE, intervals, resample
from intrabench.statistics.scores import scores
from tests.results.made import rows

RANDOM = np.random.default_rng(0)
SKEWED = RANDOM.beta(2, 0.5, 9)
OTHER = RANDOM.beta(8, 2, 14)


def part(values: np.ndarray) -> Jackknife:
    """Of one line with a value per patient."""
    return jackknife([(values[:, None], np.ones((len(values), 1)))])


def test_one_data_set_is_that_of_scipy() -> None:
    (quantile,), (acceleration,) = tail([part(SKEWED)])
    assert quantile == pytest.approx(math.sqrt(9 / 8) * stats.t.ppf(0.975, 8))
    deviations = SKEWED - SKEWED.mean()
    assert acceleration == pytest.approx((deviations**3).sum() / (6 * (deviations**2).sum() ** 1.5))
    level = 2 * stats.norm.cdf(quantile) - 1
    expected = stats.bootstrap((SKEWED,), np.mean, n_resamples=9999, confidence_level=level, method="BCa", rng=1)
    low, high = bca(expected.bootstrap_distribution[:, None], [part(SKEWED)])
    assert (low[0], high[0]) == pytest.approx(expected.confidence_interval, abs=0.003)
    symmetric = np.quantile(expected.bootstrap_distribution, [1 - (1 + level) / 2, (1 + level) / 2])
    assert low[0] < symmetric[0] - 0.01  # the correction for skewness has an effect


def test_an_average_of_data_sets_is_that_of_scipy() -> None:
    (quantile,), _ = tail([part(SKEWED), part(OTHER)])
    level = 2 * stats.norm.cdf(quantile) - 1

    def average(one: np.ndarray, other: np.ndarray, axis: int = -1) -> np.ndarray:
        return (one.mean(axis=axis) + other.mean(axis=axis)) / 2

    given = (SKEWED, OTHER)
    expected = stats.bootstrap(given, average, n_resamples=9999, confidence_level=level, method="BCa", rng=1)
    low, high = bca(expected.bootstrap_distribution[:, None], [part(SKEWED), part(OTHER)])
    assert (low[0], high[0]) == pytest.approx(expected.confidence_interval, abs=0.003)
    welch = stats.ttest_ind(SKEWED, -OTHER, equal_var=False)  # its variance and degrees of freedom are those of the sum
    drawn = SKEWED.var() / len(SKEWED) + OTHER.var() / len(OTHER)
    unbiased = SKEWED.var(ddof=1) / len(SKEWED) + OTHER.var(ddof=1) / len(OTHER)
    assert quantile == pytest.approx(stats.t.ppf(0.975, welch.df) * math.sqrt(unbiased / drawn))


@pytest.mark.parametrize("how", AGGREGATIONS.values(), ids=AGGREGATIONS)
def test_the_influence_of_a_patient_is_what_changes_without_it(how: object) -> None:
    given = [
        {"case": f"{patient}/{scan}", "patient": str(patient), "label": label, "dice": RANDOM.random()}
        for patient in range(7)
        for scan in range(1 + patient % 3)
        for label in ("xyz"[: 2 + scan % 2] if patient else "v")
    ]
    scored = scores(rows(*given))
    found = resample(scored, ["model"], how, draws=2).parts["d"]  # type: ignore[arg-type]

    def value(frame: pl.DataFrame) -> float:
        return float(aggregate(frame, ["model"], how)["value"].item())  # type: ignore[arg-type]

    assert (found.value.item(), found.patients.item()) == (pytest.approx(value(scored)), 7)
    for patient in range(7):
        without = value(scored.filter(pl.col("patient") != str(patient)))
        assert found.influence[patient, 0] == pytest.approx((value(scored) - without) * 6 / 7)


@pytest.mark.parametrize(
    "values", [[0.7] * 6, [0] * 5 + [1e-90], [1, 2, 3, 4, 5, math.inf]], ids=["equal", "tiny", "infinite"]
)
def test_values_without_a_variance_have_no_skewness(values: list[float]) -> None:
    (quantile,), (acceleration,) = tail([part(np.array(values))])
    assert (quantile, acceleration) == (pytest.approx(math.sqrt(6 / 5) * stats.t.ppf(0.975, 5)), 0)


def test_an_average_with_an_infinite_value_has_no_skewness() -> None:
    (quantile,), (acceleration,) = tail([part(np.array([1, 2, 3, 4, 5, math.inf])), part(RANDOM.beta(2, 0.5, 6))])
    assert (quantile, acceleration) == (pytest.approx(math.sqrt(6 / 5) * stats.t.ppf(0.975, 10)), 0)


def test_draws_equal_to_the_value_are_half_below_it() -> None:
    draws = np.linspace(-1, 1, 2001)
    draws[np.abs(draws) < 0.6] = 1e-15  # 0, but for rounding
    low, high = bca(draws[:, None], [part(np.array([-1.0, -1, -1, 1, 1, 1]))])
    assert -low[0] == pytest.approx(high[0])


def test_fewer_than_six_patients_have_no_interval_however_many_scans() -> None:
    scored = studies(MILD, 6, count=3, datasets=2, scans=4)
    how = AGGREGATIONS["protocol"]
    assert intervals(scored, ["model"], how)["low"].null_count() == 0
    fewer = scored.filter((pl.col("dataset") == "d0") | (pl.col("patient") != "5"))
    found = intervals(fewer, ["model"], how)
    assert found.filter(dataset="d0")["low"].null_count() == 0
    assert found.filter(pl.col("dataset") != "d0").select("low", "high").null_count().row(0) == (6, 6)
    assert found.filter(dataset="d1").select("value", "patients", "cases").null_count().row(0) == (0, 0, 0)
    assert set(found.filter(dataset=AVERAGE).select("patients", "cases").rows()) == {(11, 44)}


def test_intervals_by_patients_hold_the_truth_where_those_by_scans_do_not() -> None:
    scored = studies(MILD, 8, count=1000)
    assert 0.92 < coverage(MILD, scored) < 0.97
    assert plain(MILD, scored) < 0.90
    assert plain(MILD, by_scans(scored)) < 0.82


@pytest.mark.slow
@pytest.mark.parametrize("kind", [KINDS["mild skew"], KINDS["strong skew"]])
@pytest.mark.parametrize(("patients", "least"), [(6, 0.89), (8, 0.915), (10, 0.93), (20, 0.94), (31, 0.94)])
def test_the_coverages_that_the_page_states(kind: Kind, patients: int, least: float) -> None:
    scored = studies(kind, patients)
    assert least < coverage(kind, scored) < 0.97
    assert plain(kind, by_scans(scored)) < 0.86


@pytest.mark.slow
@pytest.mark.parametrize("patients", [6, 10])
def test_averages_over_data_sets_hold_their_level(patients: int) -> None:
    assert 0.93 < coverage(MILD, studies(MILD, patients, datasets=5)) < 0.97
