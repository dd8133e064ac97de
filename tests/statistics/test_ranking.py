"""Rankings against SciPy, and how sure they are."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy.stats import kendalltau, rankdata, wilcoxon
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.statistics.aggregate import AGGREGATIONS
from intrabench.statistics.ranking import average_ranking, pairs, ranking, ranks, tau
from intrabench.statistics.resample import resample
from intrabench.statistics.scores import scores
from intrabench.statistics.significance import holm
from tests.results.made import rows

BY = ["model"]
PROTOCOL, CASE = AGGREGATIONS["protocol"], AGGREGATIONS["case"]


def simulated(better: dict[str, float], cases: int = 12, noise: float = 0.02) -> pl.DataFrame:
    """Scored sessions on two data sets of models that are so good."""
    random, hard = np.random.default_rng(1), np.random.default_rng(0)
    return scores(
        rows(
            *(
                {
                    "model": model,
                    "dataset": dataset,
                    "case": f"{case:02d}",
                    "dice": shared + value + random.normal(0, noise),
                }
                for dataset in "de"
                for case in range(cases)
                for shared in [hard.normal(0.5, 0.1)]
                for model, value in better.items()
            )
        )
    )


def test_clear_differences_are_ranked_for_sure(wording: SnapshotAssertion) -> None:
    found = ranking(simulated({"a": 0.0, "b": 0.2, "c": 0.1}), BY, PROTOCOL)
    assert found.table.select("model", "rank", "low", "high").rows() == [("b", 1, 1, 1), ("c", 2, 2, 2), ("a", 3, 3, 3)]
    assert found.tau == 1
    assert found.describe() == wording


def test_ranks_of_data_sets_are_averaged_with_their_draws() -> None:
    sure = simulated({"a": 0.0, "b": 0.2, "c": 0.1}, noise=0.001)
    moved = pl.when(pl.col("model") == "b", pl.col("dataset") == "e").then(pl.col("value") - 0.3)
    found = average_ranking(sure.with_columns(value=moved.otherwise("value")), BY, CASE)
    assert found.table.select("model", "rank", "low", "high").rows() == [
        ("c", 1.5, 1.5, 1.5),
        ("b", 2.0, 2.0, 2.0),
        ("a", 2.5, 2.5, 2.5),
    ]
    each = dict(zip(found.each.select("model", "dataset").rows(), found.each["rank"], strict=True))
    assert each == {("a", "d"): 3, ("a", "e"): 2, ("b", "d"): 1, ("b", "e"): 3, ("c", "d"): 2, ("c", "e"): 1}
    assert found.tau == 1

    close = average_ranking(simulated({"a": 0.0, "b": 0.001, "c": 0.2}), BY, CASE)
    assert close.table.row(0)[:4] == ("c", 1, 1, 1)
    assert all(2 <= low < high <= 3 for low, high in close.table.select("low", "high").rows()[1:])


def test_average_ranks_agree_with_scipy_and_share_the_better_rank() -> None:
    values = np.random.default_rng(3).integers(0, 4, (5, 6)).astype(float)  # (lines, data sets), with ties
    scored = pl.DataFrame(
        [
            {"model": f"m{line}", "dataset": f"d{at}", "case": "c", "patient": "c", "label": "", "target": "t"}
            | {"seed": 0, "value": value, "failed": False, "not_applicable": False}
            for (line, at), value in np.ndenumerate(values)
        ]
    )
    found = average_ranking(scored, BY, CASE, best="low")
    expected = rankdata(values, method="min", axis=0).mean(axis=1)
    assert found.table.sort("model")["rank"].to_list() == pytest.approx(expected.tolist())
    assert found.table["low"].is_null().all()  # of one patient
    assert found.tau is None
    nothing = average_ranking(scored.clear(), BY, CASE)
    assert (nothing.table.height, nothing.each.height, nothing.describe()) == (0, 0, [])


def test_small_differences_are_not() -> None:
    found = ranking(simulated({"a": 0.0, "b": 0.001, "c": 0.2}), BY, PROTOCOL)
    assert found.table.row(0)[:4] == ("c", 1, 1, 1)
    assert found.table.select("low", "high").rows()[1:] == [(2, 3), (2, 3)]
    assert found.tau is not None
    assert 0.3 < found.tau < 1


def test_ranks_and_tau_are_those_of_scipy() -> None:
    scored = simulated({name: 0.002 * number for number, name in enumerate("abcdef")})
    drawn = resample(scored, BY, CASE, draws=50).average()
    np.testing.assert_array_equal(ranks(drawn), rankdata(-drawn, method="min", axis=1))
    full = np.array([[0.1, 0.3, 0.3, 0.2, 0.9, math.inf]])
    tied = np.round(drawn, 2)
    expected = np.nanmean([kendalltau(draw, np.minimum(full[0], 9)).statistic for draw in tied])
    assert tau(tied, full) == pytest.approx(expected)
    found = ranking(scored, BY, CASE, draws=50)
    means = (
        scored.group_by("model", "dataset").agg(pl.col("value").mean()).group_by("model").agg(pl.col("value").mean())
    )
    values = means.sort("model")["value"].to_numpy()
    assert found.tau == pytest.approx(np.mean([kendalltau(draw, values).statistic for draw in drawn]))
    assert found.table.sort("model")["rank"].to_list() == rankdata(-values, method="min").tolist()


def test_lines_that_lack_a_data_set_are_named(wording: SnapshotAssertion) -> None:
    scored = simulated({"a": 0.0, "b": 0.2, "c": 0.1}).filter((pl.col("model") != "b") | (pl.col("dataset") == "d"))
    found = ranking(scored, BY, PROTOCOL)
    assert found.table["model"].to_list() == ["c", "a"]
    assert found.left_out.rows() == [("b", ["e"])]
    assert found.describe()[-1] == wording
    half = ((pl.col("model") == "b") & (pl.col("dataset") == "d")) | (
        (pl.col("model") == "a") & (pl.col("dataset") == "e")
    )
    with pytest.raises(IntraBenchError) as caught:
        ranking(scored.filter(half), BY, PROTOCOL)
    assert caught == wording


def test_equal_lines_share_a_rank() -> None:
    one = simulated({"a": 0.0})
    scored = pl.concat([one, *(one.with_columns(model=pl.lit(name)) for name in "bc"), simulated({"z": -0.5})])
    found = ranking(scored, BY, PROTOCOL)
    assert found.table["rank"].to_list() == [1, 1, 1, 4]
    assert found.table.select("low", "high").rows() == [(1, 1)] * 3 + [(4, 4)]
    assert found.tau == 1
    assert ranking(scored.filter(pl.col("model") != "z"), BY, PROTOCOL).tau is None


def test_one_line_is_the_best() -> None:
    found = ranking(simulated({"a": 0.0}), BY, PROTOCOL)
    assert found.table.select("rank", "low", "high").rows() == [(1, 1, 1)]
    assert found.tau is None


@pytest.mark.parametrize("cases", [1, 5])
def test_few_patients_give_no_interval(cases: int) -> None:
    found = ranking(simulated({"a": 0.0, "b": 0.2}, cases=cases), BY, PROTOCOL)
    assert found.table.select("model", "rank", "low", "high").rows() == [("b", 1, None, None), ("a", 2, None, None)]
    assert found.tau is None


def test_ranks_of_few_patients_have_wide_tails() -> None:
    """Of six patients one is for `a`; it is drawn four times, and `a` is best, in 0.9 % of draws."""
    values = {"a": [0.5] * 6, "b": [0.6] * 5 + [0.43]}
    made = [{"model": m, "case": str(case), "dice": v} for m, all_ in values.items() for case, v in enumerate(all_)]
    found = ranking(scores(rows(*made)), BY, PROTOCOL)
    assert found.table.select("model", "rank", "low", "high").rows() == [("b", 1, 1, 2), ("a", 2, 1, 2)]


def test_less_is_better_for_distances_and_infinite_ones_are_last() -> None:
    given = [("a", [2.0, 3.0]), ("b", [1.0, 1.0]), ("c", [math.inf, 1.0]), ("d", [math.inf, 9.0])]
    made = [{"model": m, "case": str(case), "hd95_mm": v} for m, values in given for case, v in enumerate(values * 3)]
    found = ranking(scores(rows(*made), "hd95"), BY, PROTOCOL, best="low")
    assert found.table.select("model", "rank").rows() == [("b", 1), ("a", 2), ("c", 3), ("d", 4)]
    assert found.tau is not None


def test_fewer_infinite_values_are_better_then_the_mean_over_the_others() -> None:
    inf = math.inf
    given = {"a": [inf, inf, 1, 1], "b": [inf, 9, 9, 9], "c": [9, 9, inf, 9], "d": [inf, 1, 2, 2], "e": [inf] * 4}
    made = [{"model": m, "case": str(n), "hd95_mm": v} for m, values in given.items() for n, v in enumerate(values * 3)]
    found = ranking(scores(rows(*made), "hd95"), BY, PROTOCOL, best="low")
    assert found.table.select("model", "rank").rows() == [("d", 1), ("b", 2), ("c", 2), ("a", 4), ("e", 5)]
    # e misses everything in every draw, and no draw makes a better than d, whose misses are some of its own
    ends = {model: (low, high) for model, low, high in found.table.select("model", "low", "high").iter_rows()}
    assert ends["e"][1] == 5
    assert ends["d"][1] < 5
    assert found.tau is not None
    assert 0 < found.tau < 1


def test_lines_near_zero_are_best_where_zero_is() -> None:
    given = [("a", [0.5, 0.3]), ("b", [-0.1, -0.2]), ("c", [-0.9, -0.8])]
    made = [{"model": m, "case": str(case), "dice": v} for m, values in given for case, v in enumerate(values)]
    found = ranking(scores(rows(*made)), BY, PROTOCOL, best="zero")
    assert found.table.select("model", "rank", "value").rows() == [
        ("b", 1, pytest.approx(-0.15)),
        ("a", 2, pytest.approx(0.4)),
        ("c", 3, pytest.approx(-0.85)),
    ]
    tested = pairs(scores(rows(*made)), BY, best="zero")
    assert tested.filter(model="a", model_other="b")["rank_biserial"].item() == -1


def test_the_order_of_rows_does_not_matter() -> None:
    scored = simulated({"a": 0.0, "b": 0.001, "c": 0.2})
    mixed = scored.sample(fraction=1, shuffle=True, seed=1)
    found, again = ranking(scored, BY, PROTOCOL), ranking(mixed, BY, PROTOCOL)
    assert_frame_equal(found.table, again.table)
    assert found.tau == again.tau
    assert_frame_equal(pairs(scored, BY), pairs(mixed, BY))


def test_pairs() -> None:
    scored = simulated({"a": 0.0, "b": 0.001, "c": 0.2}).filter((pl.col("model") != "b") | (pl.col("case") != "00"))
    found = pairs(scored, BY)
    assert found.columns == ["model", "model_other", "patients", "rank_biserial", "p", "p_holm"]
    assert sorted(found.select("model", "model_other", "patients").rows()) == [
        ("a", "b", 22),
        ("a", "c", 24),
        ("b", "c", 22),
    ]
    for row in found.iter_rows(named=True):
        one, other = (
            scored.filter(model=row[name]).select("dataset", "case", "value") for name in ("model", "model_other")
        )
        both = one.join(other, on=["dataset", "case"])
        assert row["p"] == pytest.approx(wilcoxon(both["value"] - both["value_right"]).pvalue)
    np.testing.assert_allclose(found["p_holm"], holm(found["p"]))
    assert found.filter(model_other="c")["rank_biserial"].to_list() == [-1, -1]
    assert pairs(scored, BY, best="low").filter(model_other="c")["rank_biserial"].to_list() == [1, 1]
    assert pairs(scored.filter(model="a"), BY).is_empty()
