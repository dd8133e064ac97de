"""Differences, their intervals and the probability that a claim is false, against SciPy, by hand and by simulation."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from benchmarks.claims import KINDS, RARE, SIZES, bootstraps, drawn, held, macro, plain_t, width
from intrabench.statistics.aggregate import AGGREGATIONS, fewest_patients
from intrabench.statistics.compare import Settings, compare
from intrabench.statistics.resample import AVERAGE
from intrabench.statistics.scores import scores
from intrabench.statistics.significance import differences, false_claim, false_claim_of_scores
from tests.results.made import rows

RANDOM = np.random.default_rng(0)
A = RANDOM.beta(8, 2, 12)
B = np.clip(A + RANDOM.normal(0.02, 0.05, 12), 0, 1)


def line(values: np.ndarray, model: str, **shared: object) -> pl.DataFrame:
    return rows(*({"case": f"{n:02d}", "dice": float(value)} for n, value in enumerate(values)), model=model, **shared)


def test_the_published_formula_by_hand() -> None:
    """sqrt(25) * 0.03 / sqrt(0.1^2 + 0.12^2 - 2 * 0.8 * 0.1 * 0.12) = 0.15 / sqrt(0.0052)"""
    found = false_claim_of_scores(0.03, 0.1, 0.12, 0.8, 25)
    assert found == pytest.approx(stats.t.sf(0.15 / math.sqrt(0.0052), 24))
    assert found == pytest.approx(0.0242, abs=5e-5)


def test_it_is_the_one_sided_paired_t_test() -> None:
    row = compare(line(A, "a"), line(B, "b")).datasets.row(0, named=True)
    tested = stats.ttest_rel(B, A, alternative="greater")
    assert row["false"] == pytest.approx(tested.pvalue)
    spread = {"sd_a": A.std(ddof=1), "sd_b": B.std(ddof=1), "correlation": np.corrcoef(A, B)[0, 1]}
    assert {name: row[name] for name in spread} == pytest.approx(spread)
    assert false_claim_of_scores(row["difference"], *(row[name] for name in spread), 12) == pytest.approx(row["false"])
    interval = stats.ttest_rel(B, A).confidence_interval()
    assert (row["low"], row["high"]) == pytest.approx((interval.low, interval.high))


def test_less_is_better_turns_the_claim_round() -> None:
    better, worse = (
        rows(*({"case": str(n), "hd95_mm": float(value)} for n, value in enumerate(values)), model=model)
        for model, values in (("a", 10 * A), ("b", 10 * A + B))
    )
    row = compare(better, worse, Settings("hd95")).datasets.row(0, named=True)
    assert row["false"] == pytest.approx(stats.ttest_1samp(-B, 0, alternative="greater").pvalue)
    assert row["false"] > 0.999


@given(st.floats(-1, 1), st.floats(0.01, 1), st.floats(0.01, 1), st.floats(-0.99, 0.99), st.integers(2, 300))
def test_a_claim_and_its_opposite(difference: float, a: float, b: float, r: float, n: int) -> None:
    one, other = (float(false_claim_of_scores(sign * difference, a, b, r, n)) for sign in (1, -1))
    assert one + other == pytest.approx(1)
    assert (one < 0.5) == (difference > 0 and one != 0.5)
    looser = float(false_claim_of_scores(difference, a, b, -0.99, n))
    assert abs(one - 0.5) >= abs(looser - 0.5) - 1e-12  # correlated scores say more


def test_sure_differences_and_none() -> None:
    assert false_claim([0.1, -0.1, 0.0], 0.0, 5).tolist() == [0, 1, pytest.approx(math.nan, nan_ok=True)]
    assert false_claim_of_scores(0.1, 0.2, 0.2, 1.0, 9) == 0
    equal = compare(line(A, "a"), line(A, "b")).datasets.row(0, named=True)
    assert (equal["low"], equal["high"], equal["false"]) == (0, 0, None)
    moved = compare(line(A / 2, "a"), line(A / 2 + 0.25, "b")).datasets.row(0, named=True)
    assert (moved["low"], moved["high"]) == (pytest.approx(0.25), pytest.approx(0.25))
    assert moved["false"] == 0


def test_of_equal_models_a_claim_below_five_percent_is_made_in_five_percent() -> None:
    a, b = drawn("mild skew", 20, studies=20_000)
    apart = b - a
    found = false_claim(apart.mean(axis=1), apart.std(axis=1, ddof=1) / math.sqrt(20), 19)
    assert (found < 0.05).mean() == pytest.approx(0.05, abs=0.006)
    assert (found < 0.5).mean() == pytest.approx(0.5, abs=0.015)


def test_it_is_how_often_the_mean_lies_below_zero() -> None:
    """With a flat prior, the mean of normal differences is distributed as their t (Claims Reloaded); by simulation."""
    apart = B - A
    sigma2 = 11 * apart.var(ddof=1) / RANDOM.chisquare(11, 200_000)
    means = RANDOM.normal(apart.mean(), np.sqrt(sigma2 / 12))
    expected = compare(line(A, "a"), line(B, "b")).datasets["false"][0]
    assert (means < 0).mean() == pytest.approx(expected, abs=0.003)


def test_an_average_of_data_sets_is_that_of_welch() -> None:
    other = RANDOM.normal(0.05, 0.1, 7)
    a = pl.concat([line(A, "a"), line(np.full(7, 0.5), "a", dataset="e")])
    b = pl.concat([line(B, "b"), line(0.5 + other, "b", dataset="e")])
    row = compare(a, b).datasets.filter(dataset=AVERAGE).row(0, named=True)
    welch = stats.ttest_ind(B - A, -other, equal_var=False, alternative="greater")  # its t is that of the sum
    assert row["false"] == pytest.approx(welch.pvalue)
    assert row["sd_a"] is None


def test_few_patients_have_neither_interval_nor_probability() -> None:
    a, b = (
        pl.concat([line(values, model), line(values[:5], model, dataset="e")]) for values, model in ((A, "a"), (B, "b"))
    )
    found = compare(a, b).datasets
    assert found.select(pl.col("low", "high", "false").null_count()).row(0) == (2, 2, 2)
    assert found["fewest"].to_list() == [12, 5, 5]


@pytest.mark.parametrize(("how", "expected"), [("protocol", 3), ("class-first", 10), ("case", 10), ("pooled", 10)])
def test_an_average_over_classes_is_known_from_the_patients_of_the_rarest(how: str, expected: int) -> None:
    made = [{"case": f"{n}/{scan}", "patient": str(n), "dice": 0.5} for n in range(10) for scan in "ab"]
    rare = [{"case": f"{n}/a", "patient": str(n), "dice": 0.5, "label": "y"} for n in range(3)]
    found = fewest_patients(scores(rows(*made, *rare)), ["model"], AGGREGATIONS[how])
    assert found["fewest"].to_list() == [expected]


def test_infinite_differences_only() -> None:
    a, b = (
        rows(*({"case": str(n), "hd95_mm": value} for n in range(7)), model=model)
        for model, value in (("a", 1.0), ("b", math.inf))
    )
    row = compare(a, b, Settings("hd95")).datasets.row(0, named=True)
    assert (row["low"], row["false"], row["fewest"], row["sd_a"]) == (None, None, 7, None)


HELD = [kind for kind in KINDS if kind != "one model fails"]


@pytest.mark.parametrize("kind", HELD)
def test_t_holds_its_level_for_differences_of_few_cases(kind: str) -> None:
    for cases in SIZES:
        a, b = drawn(kind, cases)
        assert held(plain_t(b - a)) > 0.94


def test_bootstrap_intervals_of_differences_are_too_narrow() -> None:
    a, b = drawn("one in ten fails", 10, studies=400)
    found = {name: held(ends) for name, ends in bootstraps(b - a).items()}
    assert max(found.values()) < 0.94 < held(plain_t(b - a))
    assert found["percentiles"] < 0.9
    assert found["BCa, wide"] < 0.9


def test_no_method_knows_of_rare_failures_that_a_small_study_lacks() -> None:
    a, b = drawn("one model fails", 10, studies=400)
    assert max(held(ends) for ends in {"t": plain_t(b - a), **bootstraps(b - a)}.values()) < 0.85


def test_wide_tails_hold_for_means_where_t_does_not_and_are_narrower_than_studentised_ones() -> None:
    _, values = drawn("strong skew", 10, studies=1000)
    found = bootstraps(values)
    assert held(found["BCa, wide"]) > max(0.93, held(plain_t(values)) + 0.01)
    assert held(found["percentiles"]) < 0.92
    assert width(found["BCa, wide"]) < 0.9 * width(found["studentised"])


def test_averages_over_classes_and_data_sets_hold_their_level() -> None:
    assert macro("strong skew", 10, studies=400, classes=RARE) > 0.93
    assert macro("mild skew", 10, studies=400, datasets=3) > 0.93


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cases", SIZES)
def test_the_coverages_that_the_page_states(kind: str, cases: int) -> None:
    a, b = drawn(kind, cases)
    t, boots = plain_t(b - a), bootstraps(b - a)
    assert held(boots["percentiles"]) <= held(t) + 0.01
    assert held(t) > (0.945 if kind in HELD else 0.73)
    if "fails" not in kind and cases >= 10:
        assert 0.93 < held(bootstraps(b)["BCa, wide"]) < 0.97


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["mild skew", "strong skew"])
@pytest.mark.parametrize("cases", [10, 20, 50])
def test_averages_hold_their_level(kind: str, cases: int) -> None:
    assert macro(kind, cases, studies=2000, classes=RARE) > 0.93
    assert macro(kind, cases, studies=2000, datasets=5) > 0.93


def test_a_comparison_is_better_or_worse_only_where_its_interval_says_so() -> None:
    higher = compare(line(A, "a"), line(A + np.linspace(0.01, 0.04, 12), "b"))
    assert (higher.better, higher.worse) == (True, False)
    lower = compare(line(A + np.linspace(0.01, 0.04, 12), "a"), line(A, "b"))
    assert (lower.better, lower.worse) == (False, True)
    few = compare(line(A[:5], "a"), line(A[:5] - 0.3, "b"))
    assert (few.better, few.worse) == (False, False)
    empty = differences(scores(line(A[:5], "a")).clear(), ["model"], AGGREGATIONS["protocol"])
    assert empty.is_empty()
