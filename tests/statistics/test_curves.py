"""Curves, areas and clicks by hand: steps, early stops, missing rounds, ties, what is never reached."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.results.current import IDENTITY
from intrabench.statistics.aggregate import AGGREGATIONS, Aggregation, aggregate
from intrabench.statistics.curves import curve, reached, regressions
from intrabench.statistics.measures import Area, ChallengeArea, Clicks, ClicksArea, DavisArea, Failures
from intrabench.statistics.resample import AVERAGE
from intrabench.statistics.scores import FailurePolicy, scores
from intrabench.statistics.steps import EFFORTS, steps
from tests.results import made

BY = ["model"]
POOLED, PROTOCOL = AGGREGATIONS["pooled"], AGGREGATIONS["protocol"]
BOUNDED = [one().of for one in (Area, ChallengeArea, ClicksArea, Clicks, Failures)]


def played(*sessions: Sequence[float], **shared: Any) -> pl.DataFrame:
    """One target per session, a Dice per round; every round takes one interaction."""
    parts = [made.curve(dice, instance=number, interactions=1.0, **shared) for number, dice in enumerate(sessions)]
    return pl.concat(parts)


def values(frame: pl.DataFrame) -> list[float]:
    """Per session, in the order in which they were made."""
    return frame.sort("dataset", "case", "target", "seed")["value"].to_list()


def test_a_curve_is_a_mean_of_steps_that_are_carried_forward() -> None:
    rows = played([0.2, 0.4, 0.9], [0.6])  # the second stopped early
    found = curve(steps(rows), BY, POOLED).filter(dataset="d")
    assert found["spent"].to_list() == [1, 2, 3]
    np.testing.assert_allclose(found["value"], [0.4, 0.5, 0.75])
    asked = curve(steps(rows), BY, POOLED, grid=[0, 0.5, 1, 2.5, 10]).filter(dataset="d")
    np.testing.assert_allclose(asked["value"], [0, 0, 0.4, 0.5, 0.75])
    short = curve(steps(rows), BY, POOLED, grid=[2]).filter(dataset="d")
    np.testing.assert_allclose(short["value"], [0.5])


def test_sessions_that_begin_later_have_nothing_until_then() -> None:
    rows = pl.concat([played([0.5, 0.7]), made.curve([0.8], instance=7, interactions=6.0)])
    found = curve(steps(rows), BY, POOLED).filter(dataset="d")
    assert found["spent"].to_list() == [1, 2, 6]
    np.testing.assert_allclose(found["value"], [0.25, 0.35, 0.75])


def test_every_effort_is_so_far() -> None:
    rows = played([0.2, 0.4]).with_columns(encode_s=pl.Series([3.0, 0.0]), segment_s=pl.Series([1.0, 0.5]))
    for against, expected in (
        ("interactions", [1, 2]),
        ("dof", [5, 10]),
        ("seconds_human", [7, 14]),
        ("seconds", [4, 4.5]),
        ("round", [0, 1]),
    ):
        assert curve(steps(rows), BY, POOLED, against).filter(dataset="d")["spent"].to_list() == expected
    with pytest.raises(IntraBenchError, match="no effort 'clicks'"):
        curve(steps(rows), BY, POOLED, "clicks")


def test_lines_may_differ_in_their_table_of_effort() -> None:
    tables = ("seconds@1", "mine@1")
    played = steps(pl.concat(made.curve([0.5, 0.7], effort=table, session=table) for table in tables))
    found = curve(played, IDENTITY, POOLED).filter(dataset="d")
    assert found.group_by("effort", maintain_order=True).agg("value").sort("effort")["value"].to_list() == [
        [0.5, 0.7],
        [0.5, 0.7],
    ]


def test_many_efforts_become_a_grid() -> None:
    random = np.random.default_rng(0)
    rows = played(*random.random((60, 6))).with_columns(segment_s=pl.Series(random.random(360)))
    found = curve(steps(rows), BY, POOLED, "seconds").filter(dataset="d")
    assert len(found) == 200
    assert found["spent"][0] == 0
    assert found["value"][-1] == pytest.approx(scores(rows)["value"].mean())


one_session = st.tuples(st.sampled_from("ab"), st.sampled_from("de"), st.sampled_from("12"), st.sampled_from("xy"))
some_sessions = st.dictionaries(one_session, st.lists(st.floats(0, 1), min_size=1, max_size=4), min_size=1)


@given(some_sessions, st.sampled_from(list(AGGREGATIONS.values())), st.sampled_from([["model"], ["model", "label"]]))
def test_after_every_round_a_curve_is_the_aggregate(
    sessions: dict[Any, list[float]], how: Aggregation, by: list[str]
) -> None:
    parts = [
        made.curve(dice, model=model, dataset=dataset, case=case, label=label)
        for (model, dataset, case, label), dice in sessions.items()
    ]
    rows = pl.concat([*parts, made.rows({"status": "error", "target": "*", "label": "", "case": "3", "model": "a"})])
    rows = rows.with_columns(
        status=pl.when(pl.col("dice") > 0.9).then(pl.lit("oom")).otherwise("status"),
        hd95_mm=pl.when(pl.col("dice") < 0.1).then(math.inf).otherwise(pl.col("dice") * 10),
    )
    for name in ("dice", "hd95"):
        found = curve(steps(rows, name), by, how, "round", grid=range(4))
        for number in range(4):
            expected = aggregate(scores(rows, name, number), by, how).drop_nulls("value")
            both = found.filter(spent=number).join(expected, on=[*by, "dataset"])
            assert both.height == expected.height
            np.testing.assert_allclose(both["value"], both["value_right"], atol=1e-9)


def test_the_average_needs_all_data_sets() -> None:
    rows = pl.concat([played([0.2]), played([0.6, 0.8], dataset="e"), played([0.2], model="b")])
    found = curve(steps(rows), BY, POOLED).filter(dataset=AVERAGE)
    assert found["model"].to_list() == ["m", "m"]
    np.testing.assert_allclose(found["value"], [0.4, 0.5])


def test_failures_and_what_counts_nothing() -> None:
    failed = made.rows({"instance": 9, "status": "oom", "dice": 0.0, "round": 0, "interactions": 0.0})
    not_applicable = made.rows({"instance": 8, "status": "not_applicable"})
    rows = pl.concat([played([0.4, 0.8]), failed, not_applicable])
    found = curve(steps(rows), BY, POOLED).filter(dataset="d")
    assert found["spent"].to_list() == [0, 1, 2]
    np.testing.assert_allclose(found["value"], [0, 0.2, 0.4])
    kept = curve(steps(rows, policy=FailurePolicy(failed="drop")), BY, POOLED).filter(dataset="d")
    np.testing.assert_allclose(kept["value"], [0.4, 0.8])
    assert values(Area(budget=2).of(steps(rows))) == [pytest.approx(0.2), None, 0.0]
    empty = steps(not_applicable)
    assert curve(empty, BY, POOLED).is_empty()
    assert values(Clicks().of(empty)) == [None]
    assert reached(empty, BY).is_empty()
    assert regressions(empty, BY).is_empty()


def test_area_under_the_steps() -> None:
    rows = played([0.2, 0.4, 0.9, 1.0], [0.6])
    # 0 in [0, 1), 0.2 in [1, 2), 0.4 in [2, 3), 0.9 in [3, 4)
    assert values(Area(budget=4).of(steps(rows))) == [pytest.approx(1.5 / 4), pytest.approx(1.8 / 4)]
    assert values(Area(budget=2.5).of(steps(rows))) == [pytest.approx(0.4 / 2.5), pytest.approx(0.9 / 2.5)]
    assert values(Area(budget=1).of(steps(rows))) == [0, 0]
    assert values(Area(budget=8).of(steps(rows))) == [pytest.approx(5.5 / 8), pytest.approx(4.2 / 8)]
    assert values(Area(against="round", budget=2).of(steps(rows))) == [pytest.approx(0.3), pytest.approx(0.6)]


def test_no_area_over_nothing(wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        Area(against="round", budget=0).of(steps(played([0.5])))
    assert caught == wording


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6), st.floats(0.5, 9))
def test_an_area_is_the_integral_of_the_curve(dice: list[float], budget: float) -> None:
    made_of = steps(played(dice, dice[::-1]))
    fine = (np.arange(2000) + 0.5) * budget / 2000
    mean = curve(made_of, BY, POOLED, grid=fine).filter(dataset="d")["value"].mean()
    assert np.mean(values(Area(budget=budget).of(made_of))) == pytest.approx(mean, abs=0.005)


def test_the_area_of_the_challenge() -> None:
    rows = played([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.99], [0.5], [0.2, 0.8])
    by_hand = [0.2 / 2 + 0.3 + 0.4 + 0.5 + 0.6 / 2, 0.5 * 4, 0.8 * 4]
    np.testing.assert_allclose(values(ChallengeArea().of(steps(rows))), by_hand)
    without = rows.filter((pl.col("target") != "x.0") | ~pl.col("round").is_in([0, 3]))
    by_hand[0] = 0.2 / 2 + 0.3 + 0.3 + 0.5 + 0.6 / 2
    np.testing.assert_allclose(values(ChallengeArea().of(steps(without))), by_hand)
    late = rows.filter((pl.col("target") != "x.0") | (pl.col("round") > 1))
    by_hand[0] = 0.3 + 0.4 + 0.5 + 0.6 / 2
    np.testing.assert_allclose(values(ChallengeArea().of(steps(late))), by_hand)


def test_number_of_clicks() -> None:
    rows = played(
        [0.9, 0.5],  # at once, exactly
        [0.1, 0.2, 0.9, 0.95],  # with the third, the last allowed
        [0.1, 0.2, 0.3, 0.9],  # one too late
        [0.1, 0.2, 0.3, 0.4],  # never
        [0.8],  # stopped too early
        [0.1, 0.95, 0.95],  # a tie: the first counts
    )
    made_of = steps(rows, "iou")
    assert values(Clicks(0.9, limit=3).of(made_of)) == [1, 3, 3, 3, 3, 2]
    assert values(Failures(0.9, limit=3).of(made_of)) == [0, 0, 1, 1, 1, 0]
    assert values(Failures(0.9, limit=3, ritm=True).of(made_of)) == [0, 1, 1, 1, 1, 0]
    assert aggregate(Clicks(0.9, limit=3).of(made_of), BY, POOLED)["value"].item() == 2.5
    assert aggregate(Failures(0.9, limit=3).of(made_of), BY, POOLED)["value"].item() == 0.5
    assert values(Clicks(0.9, limit=100, against="seconds_human").of(made_of)) == [7, 21, 28, 100, 100, 14]


def test_what_is_reached() -> None:
    rows = played([0.7, 0.8, 0.9], [0.1, 0.2, 0.75], [0.1, 0.2, 0.3])
    found = reached(steps(rows), BY)
    assert found.columns == ["model", "dataset", "threshold", "reached", "median", "never"]
    assert [row[2:] for row in found.rows()] == [(0.7, 2, 2, 1), (0.8, 1, 2, 2), (0.9, 1, 3, 2)]
    assert reached(steps(rows), BY, [0.99])["median"].to_list() == [None]


def test_corrections_that_made_it_worse() -> None:
    rows = played([0.5, 0.7, 0.4], [0.5, 0.49, 0.47], [0.9])
    (line,) = regressions(steps(rows), BY).rows(named=True)
    assert (line["corrections"], line["worse"]) == (4, 0.5)
    assert line["worst_drop"] == pytest.approx(0.3)
    (line,) = regressions(steps(rows), BY, margin=0.0).rows(named=True)
    assert line["worse"] == 0.75
    distances = rows.with_columns(hd95_mm=pl.Series([5.0, 2.0, 4.0, math.inf, math.inf, 3.0, 1.0]))
    (line,) = regressions(steps(distances, "hd95"), BY).rows(named=True)
    assert (line["corrections"], line["worse"], line["worst_drop"]) == (4, 0.25, 2)
    signed = rows.with_columns(relative_volume_difference=pl.Series([-0.5, 0.25, -0.75, 2.0, 0.0, 0.0, -1.0]))
    (line,) = regressions(steps(signed, "relative_volume_difference"), BY).rows(named=True)
    assert (line["corrections"], line["worse"], line["worst_drop"]) == (4, 0.25, 0.5)
    failed = pl.concat([rows, made.rows({"instance": 2, "round": 1, "status": "oom", "dice": 0.0})])
    assert regressions(steps(failed), BY)["worst_drop"].item() == 0.9


def test_thresholds_need_a_metric_that_rises_and_areas_one_that_is_finite() -> None:
    distances = steps(played([0.5]), "hd95")
    for use in (Clicks().of, Failures().of, lambda one: reached(one, BY), DavisArea().of):
        with pytest.raises(IntraBenchError, match="hd95_mm does not rise from 0"):
            use(distances)
    for area in (Area, ChallengeArea, ClicksArea):
        with pytest.raises(IntraBenchError, match=r"hd95_mm is infinite .* take hd95:miss=diagonal"):
            area().of(distances)
    signed = steps(played([0.5]).with_columns(relative_volume_difference=0.5), "relative_volume_difference")
    with pytest.raises(IntraBenchError, match="relative_volume_difference is signed"):
        Area().of(signed)


def test_a_finite_miss_is_where_areas_and_curves_of_distances_begin() -> None:
    """By hand: a distance of 10 mm from interaction 1 on, of 4 mm from 3 on; nothing before, which is a miss."""
    rows = played([0.5, 0.6]).with_columns(interactions=pl.Series([1.0, 3.0]))
    rows = rows.with_columns(pl.Series("hd95:miss=100mm", [10.0, 4.0]), pl.Series("hd95:miss=diagonal", [10.0, 4.0]))
    for spec, start in (("hd95:miss=100mm", 100), ("hd95:miss=diagonal", 50)):
        area = Area(metric=spec, budget=5)
        assert area.best == "low"
        found = steps(rows.with_columns(diagonal_mm=50.0), spec)
        np.testing.assert_allclose(area.of(found)["value"], (start + 2 * 10 + 2 * 4) / 5)
        drawn = curve(found, BY, POOLED, grid=[0, 1, 3]).filter(dataset="d")
        np.testing.assert_allclose(drawn["value"], [start, 10, 4])
    unknown = steps(rows.with_columns(diagonal_mm=pl.lit(None, pl.Float64)), "hd95:miss=diagonal")
    assert values(Area(metric="hd95:miss=diagonal", budget=5).of(unknown)) == [math.inf]


def test_curves_of_signed_values_begin_at_the_value_of_an_empty_answer() -> None:
    rows = played([0.5, 0.6]).with_columns(pl.Series("relative_volume_difference", [-0.5, 0.25]))
    found = curve(steps(rows, "relative_volume_difference"), BY, POOLED, grid=[0, 1, 2]).filter(dataset="d")
    np.testing.assert_allclose(found["value"], [-1, -0.5, 0.25])


def test_the_order_of_rows_does_not_matter() -> None:
    random = np.random.default_rng(0)
    rows = pl.concat([played(*random.random((9, 5)), model=model, dataset=d) for model in "ab" for d in "de"])
    mixed = rows.sample(fraction=1, shuffle=True, seed=1)
    for against in EFFORTS:
        one, other = (curve(steps(some), BY, PROTOCOL, against) for some in (rows, mixed))
        assert one.drop("value").equals(other.drop("value"))
        np.testing.assert_allclose(one["value"], other["value"], atol=1e-12)
    for use in BOUNDED:
        for one, other in ((use(steps(rows)), use(steps(mixed))),):
            both = one.join(other, on="session")
            assert both["value"].equals(both["value_right"])


def test_of_two_versions_of_a_target_the_newest_session_counts() -> None:
    older = played([0.1, 0.2, 0.3])
    newer = played([0.5, 0.6]).with_columns(session=pl.lit("newer"), written_at=pl.lit(2, pl.Int64))
    found = curve(steps(pl.concat([older, newer])), BY, POOLED).filter(dataset="d")
    np.testing.assert_allclose(found["value"], [0.5, 0.6])


def test_effort_never_falls() -> None:
    rows = played([0.1, 0.2, 0.3, 0.0]).with_columns(interactions=pl.Series([3.0, 1.0, None, 4.0]))
    assert steps(rows).effort("interactions").tolist() == [3, 3, 3, 4]
    assert curve(steps(rows), BY, POOLED).filter(dataset="d").select("spent", "value").rows() == [(3, 0.3), (4, 0)]
