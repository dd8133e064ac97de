"""Correlations between numbers of lines, against scipy's and by hand."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from scipy import stats

from intrabench.statistics.correlations import correlations, pearson

COLUMNS = ["noc", "auc", "dsb"]


def numbers(lines: int, seed: int = 0, dataset: str = "d") -> pl.DataFrame:
    drawn = np.random.default_rng(seed).normal(size=(lines, len(COLUMNS))) @ [[1, -0.8, 0], [0, 0.4, 0], [0, 0, 5]]
    named = pl.DataFrame({"model": [f"m{n}" for n in range(lines)], "dataset": dataset})
    return named.with_columns(pl.Series(name, drawn[:, n]) for n, name in enumerate(COLUMNS))


def test_as_scipy_has_them() -> None:
    given = numbers(33).with_columns(dsb=pl.col("dsb").round(0))  # with ties
    found = correlations(given, COLUMNS, interval=True)
    assert [(row["a"], row["b"]) for row in found.to_dicts()] == [("noc", "auc"), ("noc", "dsb"), ("auc", "dsb")]
    for row in found.to_dicts():
        expected = stats.pearsonr(given[row["a"]], given[row["b"]])
        assert row["lines"] == 33
        assert row["pearson"] == pytest.approx(expected.statistic)
        assert (row["pearson_low"], row["pearson_high"]) == pytest.approx(tuple(expected.confidence_interval()))
        assert row["spearman"] == pytest.approx(stats.spearmanr(given[row["a"]], given[row["b"]]).statistic)
        away = 1.959964 * math.sqrt((1 + row["spearman"] ** 2 / 2) / 30)  # Bonett and Wright
        ends = [math.tanh(math.atanh(row["spearman"]) + sign * away) for sign in (-1, 1)]
        assert [row["spearman_low"], row["spearman_high"]] == pytest.approx(ends)


def test_spearman_is_of_the_order_only() -> None:
    given = numbers(9)
    bent = given.with_columns(pl.col("noc").exp(), -pl.col("auc").pow(3))
    plain, other = (correlations(one, COLUMNS[:2]).row(0, named=True) for one in (given, bent))
    assert other["spearman"] == pytest.approx(-plain["spearman"])
    assert other["pearson"] != pytest.approx(-plain["pearson"], abs=1e-3)


def test_data_sets_are_apart_and_averaged_over_lines_that_have_all() -> None:
    first, second = numbers(6, 1, "d"), numbers(5, 2, "e")
    found = correlations(pl.concat([second, first]), COLUMNS[:2])
    assert found.select("dataset", "lines").rows() == [("d", 6), ("e", 5), ("average", 5)]
    for row, one in zip(found.to_dicts(), (first, second), strict=False):
        assert row["pearson"] == pytest.approx(stats.pearsonr(one["noc"], one["auc"]).statistic)
    means = [(first[name][:5] + second[name]) / 2 for name in COLUMNS[:2]]
    assert found["pearson"][2] == pytest.approx(stats.pearsonr(*means).statistic)
    clicks = pl.concat([first.with_columns(clicks=pl.lit(name)) for name in "ab"])
    assert len(correlations(clicks, COLUMNS[:2], ("clicks", "dataset"))) == 2


@pytest.mark.parametrize("value", [None, math.nan])
def test_a_line_that_lacks_a_number_is_left_out(value: float | None) -> None:
    given = numbers(7)
    holed = given.with_columns(noc=pl.when(pl.col("model") == "m3").then(pl.lit(value, pl.Float64)).otherwise("noc"))
    (row,) = correlations(holed, COLUMNS[:2]).to_dicts()
    rest = given.filter(pl.col("model") != "m3")
    assert (row["lines"], row["pearson"]) == (6, pytest.approx(stats.pearsonr(rest["noc"], rest["auc"]).statistic))


def test_what_has_no_correlation() -> None:
    for given in (numbers(2), numbers(5).with_columns(auc=0.3 * pl.lit(1 / 3)), numbers(5).with_columns(auc=math.inf)):
        (row,) = correlations(given, COLUMNS[:2], interval=True).to_dicts()
        assert (row["pearson"], row["spearman"], row["pearson_low"]) == (None, None, None)
    assert pearson(np.array([0.1 + 0.2, 0.3, 0.3]), np.array([1.0, 2.0, 3.0])) is None  # constant but for rounding
    assert pearson(1e-9 * np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 4.0])) == pytest.approx(1)


def test_an_interval_needs_four_lines_and_is_exact_of_a_line() -> None:
    three, line = (
        correlations(one, COLUMNS[:2], interval=True).row(0, named=True)
        for one in (numbers(3), numbers(6).with_columns(auc=2 * pl.col("noc") + 1))
    )
    assert three["pearson"] is not None
    assert three["pearson_low"] is None
    assert (line["spearman_low"], line["spearman_high"]) == (1, 1)
