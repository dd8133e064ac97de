"""Two lines compared: pairs, signs, counts, tests and strata, each against what is computed by hand or by SciPy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import wilcoxon
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.reporting.comparison import comparison_tables, remarks
from intrabench.statistics.aggregate import AGGREGATIONS, aggregate
from intrabench.statistics.compare import Settings, compare
from intrabench.statistics.infinite import Infinite, signed
from intrabench.statistics.resample import AVERAGE
from intrabench.statistics.scores import FailurePolicy, scores
from intrabench.statistics.significance import holm, signed_rank
from tests.results.made import rows


def line(dice: Sequence[float], **shared: Any) -> pl.DataFrame:
    """A line with one target per case."""
    return rows(*({"case": f"{case:02d}", "dice": value} for case, value in enumerate(dice)), **shared)


def noisy(seed: int, better: float, model: str, cases: int = 20) -> pl.DataFrame:
    """A line on two data sets with three targets of different size per case."""
    random, hard = np.random.default_rng(seed), np.random.default_rng(0)
    given = []
    for dataset in "de":
        for case in range(cases):
            for instance in (1, 2, 3):
                dice = float(hard.normal(0.6, 0.1) + random.normal(better, 0.02))
                one = {"dataset": dataset, "case": f"{case:02d}", "instance": instance, "dice": dice}
                given.append({**one, "label": "xy"[case % 2], "target_ml": 10.0**instance + case})
    return rows(*given, model=model)


def test_difference_counts_and_sign() -> None:
    a, b = line([0.5, 0.5, 0.5, 0.5]), line([0.51, 0.49, 0.8, 0.1], model="b")
    found = compare(a, b).datasets.row(0, named=True)
    assert found["difference"] == pytest.approx((0.01 - 0.01 + 0.3 - 0.4) / 4)
    assert (found["wins"], found["ties"], found["losses"], found["units"]) == (1, 2, 1, 4)
    assert found["superiority"] == 0.5
    stricter = compare(a, b, Settings(tie=0.0)).datasets.row(0, named=True)
    assert (stricter["wins"], stricter["ties"], stricter["losses"]) == (2, 0, 2)


def test_less_is_better_for_distances() -> None:
    a = rows(*({"case": str(case), "hd95_mm": 4.0} for case in range(8)))
    b = rows(*({"case": str(case), "hd95_mm": 1.0 + case / 10} for case in range(8)), model="b")
    found = compare(a, b, Settings("hd95"))
    assert found.datasets["difference"][0] == pytest.approx(3 - 0.35)
    assert found.datasets["wins"][0] == 8
    assert not found.worse
    assert compare(b, a, Settings("hd95")).worse


def test_smaller_is_better_on_both_sides_of_zero() -> None:
    name = "relative_volume_difference"
    a, b = (
        rows(*({"case": str(case), "dice": 0.5} for case in range(8)), model=model).with_columns(
            pl.Series(name, values).alias(name)
        )
        for model, values in (("a", [0.5, -0.5, 0.2, -1.0] * 2), ("b", [-0.1, 0.1, -0.2, -0.4] * 2))
    )
    found = compare(a, b, Settings(name))
    assert found.datasets["difference"][0] == pytest.approx((0.4 + 0.4 + 0 + 0.6) / 4)
    assert found.datasets.row(0, named=True)["wins"] == 6
    assert found.datasets.row(0, named=True)["ties"] == 2
    assert compare(b, a, Settings(name)).worse


@pytest.mark.parametrize("how", AGGREGATIONS.values(), ids=AGGREGATIONS)
def test_the_mean_difference_is_the_difference_of_the_means(how: Any) -> None:
    a, b = noisy(1, 0.0, "a"), noisy(2, 0.01, "b")
    found = compare(a, b, Settings(how=how)).datasets
    for dataset in "de":
        means = [
            aggregate(scores(one), ["model"], how).filter(pl.col("dataset") == dataset)["value"].item()
            for one in (a, b)
        ]
        row = found.filter(pl.col("dataset") == dataset).row(0, named=True)
        assert row["difference"] == pytest.approx(means[1] - means[0], abs=1e-9)
        assert row["low"] < row["difference"] < row["high"]
    average = found.filter(dataset=AVERAGE).row(0, named=True)
    assert average["difference"] == pytest.approx(fmean(found["difference"][:2]))
    assert average["units"] == 120


def test_pairing_makes_small_differences_certain() -> None:
    better = compare(noisy(1, 0.0, "a"), noisy(2, 0.01, "b"))
    average = better.datasets.filter(pl.col("dataset") == AVERAGE).row(0, named=True)
    assert 0 < average["low"] < 0.01 < average["high"] < 0.02  # cases differ by 0.1
    assert not better.worse
    assert compare(noisy(2, 0.01, "b"), noisy(1, 0.0, "a")).worse
    assert not compare(noisy(1, 0.0, "a"), noisy(2, 0.0, "b")).worse


def test_only_common_targets_and_seeds_are_compared(wording: SnapshotAssertion) -> None:
    a = pl.concat([line([0.1] * 8), line([0.9], seed=1), line([0.9], dataset="e")])
    b = pl.concat([line([0.3] * 7, model="b"), line([0.9], model="b", label="other")])
    found = compare(a, b)
    assert (found.only_a, found.only_b) == (3, 1)
    assert found.datasets["dataset"].to_list() == ["d", AVERAGE]
    assert found.datasets["units"].to_list() == [7, 7]
    assert found.datasets["difference"].to_list() == [pytest.approx(0.2)] * 2
    missing, _ = remarks({"": found}, "old", "new")
    assert missing == wording


def test_what_counts_nothing_is_not_compared() -> None:
    a = line([0.1] * 3)
    b = pl.concat([line([0.3, 0.3], model="b"), rows({"case": "02", "status": "oom", "dice": 0.0}, model="b")])
    assert compare(a, b).datasets["losses"][0] == 1
    dropped = compare(a, b, Settings(policy=FailurePolicy(failed="drop")))
    assert (dropped.only_a, dropped.only_b, dropped.datasets["losses"][0]) == (1, 0, 0)


def test_nothing_in_common_and_several_lines_are_refused(wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        compare(line([0.1]), line([0.1], dataset="e"))
    assert caught == wording
    with pytest.raises(IntraBenchError, match="B contains several lines"):
        compare(line([0.1]), pl.concat([line([0.1]), line([0.2], model="b")]))


def test_two_failures_are_a_tie_and_one_differs_infinitely() -> None:
    a = rows(*({"case": str(case), "hd95_mm": value} for case, value in enumerate([2.0, math.inf, math.inf, 3.0])))
    b = rows(*({"case": str(case), "hd95_mm": value} for case, value in enumerate([1.0, math.inf, 5.0, math.inf])))
    found = compare(a, b, Settings("hd95"))
    row = found.datasets.row(0, named=True)
    assert (row["difference"], row["others"], row["infinite"], row["of"]) == (None, 1.0, 2, 3)  # of both signs
    assert row["both_infinite"] == 1
    assert (row["wins"], row["ties"], row["losses"]) == (2, 1, 1)
    assert row["rank_biserial"] == pytest.approx((1 + 2.5 - 2.5) / 6)
    (table, *_) = comparison_tables({"": found}, "old", "new")
    assert table.frame["both infinite"].to_list() == [1]
    assert [*table.notes.texts.values()] == [Infinite(2, 3, 1.0, both=1, median=1.0).words(signed)]


def test_a_patient_with_one_infinite_difference_of_each_sign_is_a_tie() -> None:
    def line(*values: float) -> pl.DataFrame:
        return rows(*({"patient": str(n // 2), "case": str(n), "hd95_mm": value} for n, value in enumerate(values)))

    finite = [value for _ in range(5) for value in (9.0, 8.0)]
    a, b = line(*finite, math.inf, 1.0), line(*[1.0] * 10, 1.0, math.inf)
    row = compare(a, b, Settings("hd95")).datasets.row(0, named=True)
    assert (row["rank_biserial"], row["p"]) == (1.0, 2 / 2**5)  # of five patients, in a test of six


def missing(misses: Sequence[int], model: str, add: float = 0.0, count: int = 12) -> pl.DataFrame:
    """A line that misses some of its targets, one of each patient."""
    values = [math.inf if case in misses else 3.0 + case / 7 + add for case in range(count)]
    return rows(*({"case": f"{case:02d}", "hd95_mm": value} for case, value in enumerate(values)), model=model)


def test_missed_targets_stay_in_the_difference_and_ranks_decide() -> None:
    few = compare(missing(range(4), "a"), missing([], "b"), Settings("hd95"))
    row = few.datasets.row(0, named=True)
    assert (row["difference"], row["low"], row["high"], row["false"]) == (math.inf, None, None, None)
    assert Infinite.beside(row) == Infinite(4, 12, 0.0, 4 / 12, median=0.0)
    assert (row["wins"], row["p"]) == (4, 2 / 2**4)
    assert not few.better  # four of four patients by chance: p = 0.125
    many = compare(missing(range(6), "a"), missing([], "b"), Settings("hd95"))
    assert many.better
    assert many.by_ranks
    assert compare(missing([], "b"), missing(range(6), "a"), Settings("hd95")).worse
    # b is a little worse where both find the target, but a misses targets: the larger ranks
    split = compare(missing(range(6), "a"), missing([], "b", 0.5), Settings("hd95"))
    row = split.datasets.row(0, named=True)
    assert row["others"] == pytest.approx(-0.5)
    assert row["rank_biserial"] == pytest.approx((6 * 9.5 - 6 * 3.5) / (12 * 13 / 2))
    assert not split.better
    assert not split.worse


def test_what_both_miss_is_a_tie_and_leaves_the_interval_of_the_others() -> None:
    a, b = missing(range(4), "a"), missing(range(4), "b", -0.5)
    found = compare(a, b, Settings("hd95"))
    row = found.datasets.row(0, named=True)
    assert (row["difference"], row["infinite"], row["both_infinite"]) == (pytest.approx(0.5), 0, 4)
    assert row["low"] == pytest.approx(0.5)
    assert found.better
    assert not found.by_ranks


def test_misses_of_different_targets_do_not_cancel() -> None:
    def line(model: str, *values: float) -> pl.DataFrame:
        given = [{"case": f"{n // 3}", "instance": n % 3 + 1, "hd95_mm": value} for n, value in enumerate(values)]
        return rows(*given, model=model)

    inf = math.inf
    # Means of all six patients are infinite on both sides. In each, a misses two targets and b one, of which one or
    # none is the same.
    a = line("a", *[inf, inf, 2.0] * 6)
    same, other = line("b", *[inf, 2.0, 2.0] * 6), line("b", *[2.0, 3.0, inf] * 6)
    for b in (same, other):
        row = compare(a, b, Settings("hd95")).datasets.row(0, named=True)
        assert (row["rank_biserial"], row["p"]) == (1.0, 2 / 2**6)
        assert compare(a, b, Settings("hd95")).better
    counts = compare(a, other, Settings("hd95")).datasets.row(0, named=True)
    assert (counts["infinite"], counts["wins"], counts["losses"], counts["both_infinite"]) == (18, 12, 6, 0)
    # As many misses on either side: the others decide.
    row = compare(line("a", *[inf, 2.0, 4.0] * 6), line("b", *[2.0, inf, 5.0] * 6), Settings("hd95")).datasets
    assert row["rank_biserial"][0] == -1.0
    assert row["others"][0] == -1.0


def test_equal_lines_differ_by_nothing() -> None:
    found = compare(line([0.3] * 9), line([0.3] * 9, model="b"))
    row = found.datasets.row(0, named=True)
    assert (row["difference"], row["low"], row["high"], row["superiority"]) == (0, 0, 0, 0.5)
    assert (row["rank_biserial"], row["p"], row["p_holm"]) == (0, 1, 1)
    assert not found.worse
    assert found.extremes.is_empty()


def test_one_case_says_nothing(wording: SnapshotAssertion) -> None:
    found = compare(line([0.9]), line([0.1], model="b"))
    assert found.datasets["low"].to_list() == found.datasets["p"].to_list() == [None, None]
    assert found.datasets["p_holm"].to_list() == [None, None]
    assert not found.worse
    assert found.warnings == wording
    assert remarks({"": found}, "old", "new") == [found.warnings[0]]
    assert compare(line([0.9] * 6), line([0.1] * 6, model="b")).warnings == ()


def test_signed_ranks_are_those_of_scipy() -> None:
    random = np.random.default_rng(0)
    a, b = noisy(1, 0.0, "a"), noisy(2, 0.004, "b")
    found = compare(a, b).datasets
    expected = []
    for dataset in "de":
        means = [
            one.filter(pl.col("dataset") == dataset).group_by("case").agg(pl.col("dice").mean()).sort("case")["dice"]
            for one in (a, b)
        ]
        expected.append(wilcoxon((means[1] - means[0]).to_numpy()).pvalue)
    np.testing.assert_allclose(found["p"][:2], expected)
    np.testing.assert_allclose(sorted(found["p_holm"][:2]), [min(expected) * 2, max(max(expected), min(expected) * 2)])
    given = np.round(random.normal(0.3, 1, 50), 1)
    reference = wilcoxon(given[given != 0])
    count = np.count_nonzero(given)
    correlation, p = signed_rank(given)
    assert p == reference.pvalue
    assert correlation == pytest.approx(1 - reference.statistic / (count * (count + 1) / 4))  # the smaller sum of ranks
    assert np.isnan(signed_rank([1, 2, 3, 4, 5])[1])
    assert signed_rank([1, 2, 3, 4, 5, 6]) == (1, 2 / 2**6)
    assert signed_rank([1, 2, 3])[0] == 1
    assert signed_rank([-1, -2, 3])[0] == 0


def test_holm() -> None:
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(holm([0.9, 0.5]), [1, 1])
    assert holm([]).size == 0
    np.testing.assert_array_equal(holm([0.04, np.nan, 0.01]), [0.04, np.nan, 0.02])  # what was not tested is no test


def test_thirds_by_size() -> None:
    found = compare(noisy(1, 0.0, "a"), noisy(2, 0.01, "b")).sizes
    assert found["size"].to_list() == ["small", "medium", "large"]
    assert found["from_ml"].to_list() == [10, 100, 1000]
    assert found["to_ml"].to_list() == [29, 119, 1019]
    assert found["units"].to_list() == [40, 40, 40]
    assert found["cases"].to_list() == [40, 40, 40]  # of both data sets, although they have the same names
    a, b = line([0.1] * 5), line([0.2] * 5, model="b")
    assert compare(a, b).sizes.select("size", "units").rows() == [("small", 5)]
    unknown = [one.with_columns(target_ml=pl.lit(None, pl.Float64)) for one in (a, b)]
    assert compare(*unknown).sizes.is_empty()
    assert compare(unknown[0], b).sizes["units"].to_list() == [5]


def test_the_targets_that_differ_most() -> None:
    a, b = line([0.5] * 6), line([0.5, 0.9, 0.6, 0.2, 0.4, 0.5], model="b")
    seeds = [
        pl.concat([one, one.with_columns(pl.lit(1, pl.Int64).alias("seed"), session="session" + pl.col("session"))])
        for one in (a, b)
    ]
    for first, second in ((a, b), seeds):
        found = compare(first, second, Settings(most=2)).extremes
        assert found["case"].to_list() == ["01", "02", "04", "03"]
        np.testing.assert_allclose(found["difference"], [0.4, 0.1, -0.1, -0.3])
    assert compare(a, b, Settings(most=1)).extremes["case"].to_list() == ["01", "03"]


def test_the_order_of_rows_does_not_matter() -> None:
    a, b = noisy(1, 0.0, "a"), noisy(2, 0.01, "b")
    mixed = compare(a.sample(fraction=1, shuffle=True, seed=1), b.sample(fraction=1, shuffle=True, seed=2))
    assert mixed.datasets.equals(compare(a, b).datasets)
    assert mixed.sizes.equals(compare(a, b).sizes)
    assert mixed.extremes.equals(compare(a, b).extremes)
