"""Curve and summary: equal to davisinteractive; and which frame comes next."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.davis.robot import worst_frame
from intrabench.davis.summary import Curve, curve, summary
from intrabench.errors import IntraBenchError
from tests.davis.golden import GOLDEN, REPORT, read

STORED = read("summaries/summaries.json")
SAMPLES = {
    (name, number): one["num_objects"]
    for name, one in STORED["dataset"].items()
    for number in range(1, one["num_scribbles"] + 1)
}


def golden(name: str) -> pl.DataFrame:
    return pl.read_csv(GOLDEN / "summaries" / f"{name}.csv", schema_overrides=REPORT)


@pytest.mark.parametrize("name", STORED["cases"])
def test_golden_summaries(name: str) -> None:
    given, expected = STORED["cases"][name]["params"], STORED["cases"][name]["summary"]
    metric = given.get("metric_to_optimize", "J_AND_F")
    found = curve(golden(name), SAMPLES, given["max_i"], given["max_t"], metric)
    made = summary(found, metric, given.get("time_threshold", 60))
    assert made["auc"] == pytest.approx(expected["auc"], abs=1e-12)
    assert made["metric_at_threshold"] == pytest.approx(expected["metric_at_threshold"], abs=1e-12)
    for key in ("time", metric):
        assert made["curve"][key] == pytest.approx(expected["curve"][key], abs=1e-12)


def test_steps_credit_nothing_before_the_first_answer() -> None:
    slow = Curve((0.0, 80.0, 100.0), (0.0, 0.6, 0.6))
    assert (slow.auc, slow.auc_step) == pytest.approx(((0.3 * 80 + 0.6 * 20) / 100, 0.6 * 20 / 100))
    assert (slow.at(60), slow.at(60, step=True), slow.at(80, step=True)) == pytest.approx((0.45, 0.0, 0.6))


def test_a_curve_without_any_time_has_no_area() -> None:
    nothing = Curve((0.0, 0.0), (0.0, 0.7))
    assert (nothing.auc, nothing.auc_step) == (0, 0)


def test_failing_is_fast_unless_it_is_given_a_time() -> None:
    report = golden("B_timeouts_i5_t60")
    fast, honest = (curve(report, SAMPLES, 5, 60, failed_time=time) for time in (None, 60.0))
    assert fast.time_s[-2] < honest.time_s[-2]
    assert fast.quality == honest.quality
    assert honest.auc_step < fast.auc_step


def test_the_worst_frame_that_the_robot_has_not_drawn_in() -> None:
    scores = np.array([0.5, 0.2, 0.9, 0.2])
    assert worst_frame(scores, ()) == 1  # the first of equally bad ones
    assert worst_frame(scores, {1}) == 3
    assert worst_frame(scores, {1, 3}) == 0
    assert worst_frame(scores, {0, 1, 2, 3}) == 1  # all were drawn in, so all count again
    assert worst_frame(scores, {0}, [0, 2]) == 2
    assert worst_frame(scores, {0, 2}, [0, 2]) == 0
    assert worst_frame(scores, (), []) == 1  # none means all
    assert worst_frame(scores, (), None, started={1}) == 3
    assert worst_frame(scores, {0, 2, 3}, None, started={1}) == 1


@pytest.mark.parametrize("frame", [-1, 4])
def test_a_candidate_that_is_no_frame(frame: int, wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        worst_frame(np.zeros(4), (), [0, frame])
    assert caught == wording
