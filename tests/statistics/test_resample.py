"""The bootstrap against plain loops over the same draws, and what it promises."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from statistics import fmean

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from intrabench.randomness import stream
from intrabench.statistics import resample as module
from intrabench.statistics.aggregate import AGGREGATIONS, aggregate
from intrabench.statistics.bca import percentiles
from intrabench.statistics.resample import AVERAGE, drawn_weights, intervals, resample
from intrabench.statistics.scores import scores
from tests.results.made import rows

BY = ["model"]
PROTOCOL, POOLED = AGGREGATIONS["protocol"], AGGREGATIONS["pooled"]

one_session = st.tuples(
    st.sampled_from("ab"),  # model
    st.sampled_from("de"),  # data set
    st.sampled_from("1234"),  # case
    st.sampled_from("xyz"),  # label
    st.integers(1, 2),  # instance
)
PATIENTS = {"1": "p", "2": "p", "3": "q", "4": "r"}
some_sessions = st.dictionaries(one_session, st.floats(0, 1), min_size=1, max_size=40)


def made(sessions: dict[tuple[str, str, str, str, int], float]) -> pl.DataFrame:
    """Scored rows of such sessions; every tenth failed, every ninth stands for a case that could not be prepared."""
    given = []
    for number, ((model, dataset, case, label, instance), dice) in enumerate(sessions.items()):
        one = {"model": model, "dataset": dataset, "case": case, "label": label, "instance": instance, "dice": dice}
        one["patient"] = PATIENTS[case]
        if number % 10 == 9:
            one["status"] = "oom"
        if number % 9 == 8:
            one |= {"status": "error", "target": "*", "label": "", "case": f"whole{number}", "patient": None}
        given.append(one)
    return scores(rows(*given))


def by_hand(scored: pl.DataFrame, how: str, drawn: list[str]) -> float:
    """The value of one line on one data set whose patients were drawn as listed, in loops."""
    values: dict[tuple[str, str], list[float]] = defaultdict(list)  # by case and label
    for case, label, value in scored.select("case", "label", "value").iter_rows():
        values[case, label].append(value)
    times = {case: Counter(drawn)[PATIENTS.get(case, case)] for case in scored["case"]}
    if how == "protocol":
        classes = []
        for label in {label for _, label in values}:
            cases = [fmean(v) for (case, other), v in values.items() if other == label for _ in range(times[case])]
            classes += [fmean(cases)] if cases else []
        return fmean(classes) if classes else math.nan
    per_case = defaultdict(list)
    for (case, _), v in values.items():
        per_case[case] += [fmean(v)] if how == "class-first" else v
    if how == "pooled":
        pooled = [value for case, v in per_case.items() for value in v * times[case]]
        return fmean(pooled) if pooled else math.nan
    cases = [fmean(v) for case, v in per_case.items() for _ in range(times[case])]
    return fmean(cases) if cases else math.nan


def spread(scored: pl.DataFrame) -> pl.DataFrame:
    """Failures of whole cases counted for every class of the data set, in loops."""
    out = []
    for row in scored.iter_rows(named=True):
        known = scored.filter((pl.col("dataset") == row["dataset"]) & (pl.col("target") != "*"))
        labels = known["label"].unique().to_list() or [None]
        out += [{**row, "label": label} for label in labels] if row["target"] == "*" else [row]
    return pl.DataFrame(out, schema=scored.schema)


@given(some_sessions, st.sampled_from(list(AGGREGATIONS)))
def test_every_draw_is_what_loops_make_of_it(sessions: dict[tuple[str, str, str, str, int], float], how: str) -> None:
    scored = made(sessions)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "FEW", 2)
        drawn = resample(scored, BY, AGGREGATIONS[how], draws=20)
    counted = spread(scored)
    for dataset, values in drawn.values.items():
        here = counted.filter(pl.col("dataset") == dataset)
        patients = sorted(here["patient"].unique())
        picked = stream("bootstrap", dataset).integers(len(patients), size=(20, len(patients)))
        for column, model in enumerate(drawn.lines["model"]):
            line = here.filter(pl.col("model") == model)
            expected = [by_hand(line, how, [patients[i] for i in draw]) for draw in picked]
            if line["patient"].n_unique() < 2:
                expected = [math.nan] * 20
            np.testing.assert_allclose(values[:, column], expected, atol=1e-12)


@given(some_sessions, st.sampled_from(list(AGGREGATIONS)), st.sampled_from([["model"], ["model", "label"]]))
def test_without_chance_a_draw_is_the_aggregate(
    sessions: dict[tuple[str, str, str, str, int], float], how: str, by: list[str]
) -> None:
    scored = made(sessions)
    found = intervals(scored, by, AGGREGATIONS[how], draws=5)
    expected = aggregate(scored, by, AGGREGATIONS[how])
    both = found.filter(pl.col("dataset") != AVERAGE).join(expected, on=[*by, "dataset"], validate="1:1")
    assert both.height == expected.height
    np.testing.assert_allclose(both["value"].to_numpy(), both["value_right"].to_numpy(), atol=1e-12)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "drawn_weights", lambda dataset, patients, draws: [np.ones((draws, patients))])
        patch.setattr(module, "FEW", 2)
        drawn = resample(scored, by, AGGREGATIONS[how], draws=1)
    for dataset, values in drawn.values.items():
        line = drawn.lines.with_columns(pl.Series("drawn", values[0]).fill_nan(None), dataset=pl.lit(dataset))
        both = line.drop_nulls("drawn").join(expected.drop_nulls("value"), on=[*by, "dataset"])
        np.testing.assert_allclose(both["drawn"], both["value"], atol=1e-12)


def test_the_average_needs_all_data_sets() -> None:
    given = [
        {"model": "a", "dataset": dataset, "case": str(case), "dice": dice}
        for dataset, values in (("d", (0.2, 0.4)), ("e", (0.5, 0.9)))
        for case, dice in enumerate(values * 4)
    ]
    scored = scores(rows(*given, {"model": "b", "dataset": "d", "dice": 0.9}))
    found = intervals(scored, BY, PROTOCOL)
    assert found["dataset"].to_list() == ["d", "e", AVERAGE, "d"]
    average = found.row(2, named=True)
    assert (average["value"], average["cases"], average["targets"]) == (pytest.approx(0.5), 16, 16)
    assert 0.35 < average["low"] < 0.45 < 0.55 < average["high"] < 0.65
    drawn = resample(scored, BY, PROTOCOL)
    together = (drawn.values["d"] + drawn.values["e"]) / 2
    np.testing.assert_allclose(drawn.average(), together)
    assert np.corrcoef(drawn.values["d"][:, 0], drawn.values["e"][:, 0])[0, 1] == pytest.approx(0, abs=0.1)


def test_one_case_has_no_interval() -> None:
    scored = scores(rows({"dice": 0.2}, {"dice": 0.4, "instance": 2}, {"dice": 0.5, "seed": 1}))
    found = intervals(scored, BY, POOLED).select("dataset", "low", "high").rows()
    assert found == [("d", None, None), (AVERAGE, None, None)]


def test_no_value_has_no_interval() -> None:
    scored = scores(rows({"status": "not_applicable"}, {"status": "ok", "case": "2"}))
    (line,) = intervals(scored, BY, PROTOCOL).rows(named=True)
    assert (line["value"], line["low"], line["cases"]) == (None, None, 0)
    assert intervals(scored.clear(), BY, PROTOCOL).is_empty()


def test_equal_values_have_an_interval_without_width() -> None:
    scored = scores(rows(*({"case": str(case), "dice": 0.5} for case in range(8))))
    assert intervals(scored, BY, PROTOCOL).select("value", "low", "high").rows() == [(0.5, 0.5, 0.5)] * 2


def test_neither_the_order_of_rows_nor_other_data_nor_blocks_change_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    given = [
        {"model": m, "dataset": d, "case": str(c), "label": x, "instance": i, "dice": random.random()}
        for m in "ab"
        for d in "de"
        for c in range(12)
        for x in "xy"
        for i in (1, 2)
    ]
    scored = scores(rows(*given))
    found = intervals(scored, BY, PROTOCOL)
    assert_frame_equal(found, intervals(scored.sample(fraction=1, shuffle=True, seed=3), BY, PROTOCOL), abs_tol=1e-12)
    alone = intervals(scored.filter(pl.col("dataset") == "e"), BY, PROTOCOL)
    assert_frame_equal(found.filter(dataset="e"), alone.filter(dataset="e"), abs_tol=1e-12)
    one = intervals(scored.filter(pl.col("model") == "b"), BY, PROTOCOL)
    assert_frame_equal(found.filter(model="b"), one, abs_tol=1e-12)
    monkeypatch.setattr(module, "_BLOCK", 50)
    assert_frame_equal(found, intervals(scored, BY, PROTOCOL), abs_tol=1e-12)


def test_drawn_lines_are_ordered_by_what_is_infinite_and_by_the_others() -> None:
    random, inf = np.random.default_rng(3), math.inf
    values = np.where(random.random((3, 9)) < 0.3, inf, random.normal(5, 1, (3, 9)))
    made = [
        {"model": m, "case": str(n), "hd95_mm": v}
        for m, row in zip("abc", values, strict=True)
        for n, v in enumerate(row)
    ]
    drawn = resample(scores(rows(*made), "hd95"), BY, PROTOCOL, draws=40).merits("low")
    (weights,) = drawn_weights("d", 9, 40)
    for merits, times in zip(drawn, weights.astype(int), strict=True):
        picked = [np.repeat(row, times) for row in values]
        keys = [
            (np.isinf(one).sum(), one[np.isfinite(one)].mean() if np.isfinite(one).any() else inf) for one in picked
        ]
        expected = [-sum((m, round(o, 9)) < (k, round(v, 9)) for m, o in keys) for k, v in keys]
        assert merits.tolist() == expected


def test_an_infinite_value_counts_in_the_draws_that_hold_it() -> None:
    given = [{"case": str(case), "hd95_mm": float(case)} for case in range(1, 9)]
    given[0]["hd95_mm"] = math.inf
    scored = scores(rows(*given), "hd95")
    line = intervals(scored, BY, PROTOCOL).row(0, named=True)
    assert (line["value"], line["high"]) == (math.inf, math.inf)
    assert 3 < line["low"] < 8
    drawn = resample(scored, BY, PROTOCOL).values["d"]
    assert np.isinf(drawn).mean() == pytest.approx(1 - (7 / 8) ** 8, abs=0.03)
    given[1]["hd95_mm"] = -math.inf
    line = intervals(scores(rows(*given), "hd95"), BY, PROTOCOL).row(0, named=True)
    assert (line["value"], line["low"], line["high"]) == (None, None, None)


def test_percentiles_leave_out_what_was_not_drawn() -> None:
    values = np.array([np.arange(100.0), np.where(np.arange(100) < 60, np.nan, 7.0), np.full(100, np.nan)]).T
    low, high = percentiles(values)
    np.testing.assert_array_equal(low, [2, 7, np.nan])
    np.testing.assert_array_equal(high, [97, 7, np.nan])
    assert all(np.isnan(end).all() for end in percentiles(np.empty((0, 3))))


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    random = np.random.default_rng(0)
    cases = random.normal(0.6, 0.1, (400, 40, 1)) + random.normal(0, 0.05, (400, 40, 3))
    line, case, instance = (axis.ravel() for axis in np.indices(cases.shape))
    scored = pl.DataFrame({"model": line, "case": case, "target": instance, "value": cases.ravel()}).with_columns(
        pl.col("case", "target").cast(pl.String),
        patient=pl.col("case").cast(pl.String),
        dataset=pl.lit("d"),
        label=pl.lit("x"),
        failed=pl.lit(False),
        not_applicable=pl.lit(False),
    )
    found = intervals(scored, BY, POOLED).filter(dataset="d")
    held = (found["low"] <= 0.6) & (found["high"] >= 0.6)
    assert 0.90 < held.mean() < 0.97  # type: ignore[operator]
    width = (found["high"] - found["low"]).mean()
    assert width == pytest.approx(2 * 1.96 * math.sqrt((0.1**2 + 0.05**2 / 3) / 40), rel=0.1)
