"""Agreement of raters: published examples, an independent package, and what must always hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from intrabench.statistics.agreement import (
    AGREEMENT,
    bradley_terry,
    d_prime,
    icc,
    krippendorff_alpha,
    spread_per_unit,
    within_one,
)

NAN = np.nan
PUBLISHED = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
        [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
    ]
)
"""Krippendorff (2011), section C."""
SHROUT = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]])
"""Shrout and Fleiss (1979), Table 2: six units, four raters."""

scores = arrays(
    np.float64,
    st.tuples(st.integers(2, 5), st.integers(2, 12)),
    elements=st.one_of(st.just(NAN), st.integers(1, 10).map(float)),
)


def test_published_alphas() -> None:
    assert krippendorff_alpha(PUBLISHED, "nominal") == pytest.approx(0.743, abs=5e-4)
    assert krippendorff_alpha(PUBLISHED, "ordinal") == pytest.approx(0.815, abs=5e-4)
    assert krippendorff_alpha(PUBLISHED, "interval") == pytest.approx(0.849, abs=5e-4)


@given(ratings=scores, level=st.sampled_from(["nominal", "ordinal", "interval"]))
def test_alpha_is_that_of_an_independent_package(ratings: np.ndarray, level: str) -> None:
    krippendorff = pytest.importorskip("krippendorff")
    found = krippendorff_alpha(ratings, level)  # type: ignore[arg-type]
    paired = ratings[:, (~np.isnan(ratings)).sum(axis=0) >= 2]
    if found is None:
        assert np.unique(paired[~np.isnan(paired)]).size < 2
    else:
        assert found == pytest.approx(krippendorff.alpha(paired, level_of_measurement=level), abs=1e-12)
        assert found == pytest.approx(krippendorff_alpha(ratings[::-1], level), abs=1e-12)  # type: ignore[arg-type]


def test_published_intraclass_correlations() -> None:
    found = icc(SHROUT)
    assert found is not None
    assert (round(found.single, 2), round(found.mean, 2), found.units) == (0.29, 0.62, 6)
    lacking = np.vstack([SHROUT, [[5, NAN, 3, 3]]])
    assert icc(lacking) == found


@given(ratings=arrays(np.float64, (7, 3), elements=st.integers(1, 10).map(float)))
def test_intraclass_correlations_are_those_of_variance_components(ratings: np.ndarray) -> None:
    """The same by another way: variances and the covariance of raters (McGraw and Wong 1996)."""
    found = icc(ratings)
    covariance = np.cov(ratings.T)
    common = (covariance.sum() - np.trace(covariance)) / 6
    alone = ratings.var(axis=0, ddof=1).mean()
    total = alone + ratings.mean(axis=0).var(ddof=1) - (alone - common) / 7
    if found is not None and total > 1e-9:
        assert found.single == pytest.approx(common / total, abs=1e-9)


def test_perfect_agreement_and_too_little() -> None:
    same = np.tile([1.0, 5, 9, 9], (3, 1))
    assert krippendorff_alpha(same) == 1
    perfect = icc(same.T)
    assert perfect is not None
    assert (perfect.single, perfect.mean) == (1, 1)
    assert (within_one(same), spread_per_unit(same)) == (1, 0)
    alone = np.array([[1, NAN], [NAN, 2]])
    assert krippendorff_alpha(alone) is within_one(alone) is spread_per_unit(alone) is icc(alone) is None
    assert krippendorff_alpha(np.full((3, 4), 7.0)) is None
    assert icc(np.full((3, 4), 7.0)) is None


@given(ratings=arrays(np.float64, (3, 8), elements=st.one_of(st.just(NAN), st.integers(1, 10).map(float))))
@pytest.mark.parametrize("measure", AGREEMENT)
def test_units_that_are_drawn_twice_count_twice(measure: str, ratings: np.ndarray) -> None:
    """The bootstrap draws sums of units: these are the measure of the drawn units themselves."""
    drawn = np.array([0, 1, 1, 2, 3, 3, 3, 6])
    sums = AGREEMENT[measure](ratings)
    weights = np.bincount(drawn, minlength=8)
    alone = AGREEMENT[measure](ratings[:, drawn]).values()[0]
    found = sums.estimate(weights @ sums.each)[0]
    assert found == pytest.approx(np.nan if alone is None else alone, abs=1e-9, nan_ok=True)
    assert not sums.each[~sums.enters].any()


@pytest.mark.parametrize("measure", AGREEMENT)
def test_intervals_are_over_clusters(measure: str) -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(3, 9, size=48)
    ratings = (truth + rng.integers(-1, 2, size=(3, 48))).astype(float)
    patients = np.repeat([f"p{n}" for n in range(12)], 4)
    sums = AGREEMENT[measure](ratings)
    value, low, high = sums.interval(patients)
    assert value == pytest.approx(sums.values()[0])
    assert low < value < high  # type: ignore[operator]
    order = rng.permutation(48)
    assert AGREEMENT[measure](ratings[:, order]).interval(patients[order]) == pytest.approx((value, low, high))
    assert sums.interval(np.repeat(list("abcde"), [8, 10, 10, 10, 10])) == (pytest.approx(value), None, None)
    # the same units twice within each patient say nothing more of how patients differ
    twice = AGREEMENT[measure](np.hstack([ratings, ratings])).interval([*patients, *patients])
    assert twice[1:] == pytest.approx((low, high), abs=0.02)


def test_points_apart() -> None:
    ratings = np.array([[5, 1, NAN, 8], [6, 4, 3, NAN], [8, NAN, 3, 8]])
    assert within_one(ratings) == pytest.approx(3 / 6)
    spreads = [np.std([5, 6, 8], ddof=1), np.std([1, 4], ddof=1), 0, 0]
    assert spread_per_unit(ratings) == pytest.approx(np.mean(spreads))


def test_telling_good_from_bad() -> None:
    assert d_prime([5, 5], [5, 5]) == 0
    assert d_prime([9, 10], [1, 2]) == pytest.approx(np.sqrt(2) * 1.2815515655)  # z of (4 + 0.5) / 5
    assert d_prime([1, 2], [9, 10]) == -d_prime([9, 10], [1, 2])
    rng = np.random.default_rng(0)
    assert d_prime(rng.normal(1.5, 1, 2000), rng.normal(0, 1, 2000)) == pytest.approx(1.5, abs=0.1)


def test_strengths_of_pairs() -> None:
    assert bradley_terry([[0, 3], [1, 0]]) == pytest.approx([0.75, 0.25])
    strengths = np.array([0.5, 0.3, 0.2])
    wins = 1000 * strengths[:, None] / (strengths[:, None] + strengths)
    np.fill_diagonal(wins, 0)
    assert bradley_terry(wins) == pytest.approx(strengths, abs=1e-9)
    assert bradley_terry([[0, 3], [0, 0]]) is None
    assert bradley_terry([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]) is None


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("shape", [(0, 0), (2, 0), (1, 3)])
@pytest.mark.parametrize("measure", AGREEMENT)
def test_nobody_agrees_about_nothing(measure: str, shape: tuple[int, int]) -> None:
    """As of a study of which only anchors were rated yet."""
    sums = AGREEMENT[measure](np.full(shape, 3.0))
    assert sums.values()[0] is None
    assert sums.interval([str(n) for n in range(shape[1])]) == (None, None, None)
