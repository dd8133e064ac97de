"""Means of means by hand: instances, cases, classes; failures, empty answers, cases that could not be prepared."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.statistics.aggregate import AGGREGATIONS, aggregate, aggregation
from intrabench.statistics.scores import FailurePolicy, metric, scores
from tests.results.made import curve, rows

LIVER, NODE = {"label": "liver"}, {"label": "node"}
TWO_CASES = [
    {**LIVER, "case": "1", "dice": 0.9},
    {**NODE, "case": "1", "instance": 1, "dice": 0.2},
    {**NODE, "case": "1", "instance": 2, "dice": 0.4},
    {**LIVER, "case": "2", "dice": 0.7},
    {**NODE, "case": "3", "dice": 0.6},
]
BY_HAND = {
    "protocol": ((0.9 + 0.7) / 2 + (0.3 + 0.6) / 2) / 2,
    "class-first": ((0.9 + 0.3) / 2 + 0.7 + 0.6) / 3,
    "case": ((0.9 + 0.2 + 0.4) / 3 + 0.7 + 0.6) / 3,
    "pooled": (0.9 + 0.2 + 0.4 + 0.7 + 0.6) / 5,
}


def mean(
    given: pl.DataFrame, how: str = "protocol", policy: FailurePolicy | None = None, name: str = "dice"
) -> Mapping[str, Any]:
    """The one line of one data set."""
    (line,) = aggregate(scores(given, name, policy=policy), ["model"], aggregation(how)).rows(named=True)
    return line


@pytest.mark.parametrize("how", AGGREGATIONS)
def test_aggregations(how: str) -> None:
    line = mean(rows(*TWO_CASES), how)
    assert line["value"] == pytest.approx(BY_HAND[how])
    assert (line["cases"], line["targets"], line["failed"]) == (3, 5, 0)


def test_a_case_that_could_not_be_prepared_counts_once_for_every_class() -> None:
    lost = {"case": "4", "label": "", "target": "*", "instance": -1, "status": "error", "dice": 0.0}
    line = mean(rows(*TWO_CASES, lost))
    assert line["value"] == pytest.approx(((0.9 + 0.7 + 0) / 3 + (0.3 + 0.6 + 0) / 3) / 2)
    assert (line["cases"], line["targets"], line["failed"]) == (4, 6, 1)
    assert mean(rows(lost))["value"] == 0.0


@pytest.mark.parametrize(
    ("policy", "value"),
    [
        (FailurePolicy(), 0.8 / 3),
        (FailurePolicy(failed="drop"), 0.8 / 2),
        (FailurePolicy(empty="drop"), 0.8 / 2),
        (FailurePolicy("drop", "drop"), 0.8 / 1),
    ],
)
def test_policies(policy: FailurePolicy, value: float) -> None:
    given = rows(
        {"case": "1", "dice": 0.8},
        {"case": "2", "dice": 0.0, "status": "empty"},
        {"case": "3", "dice": 0.3, "status": "oom"},
        {"case": "4", "status": "not_applicable"},
    )
    line = mean(given, policy=policy)
    assert line["value"] == pytest.approx(value)
    counts = [line[name] for name in ("patients", "cases", "targets", "of")]
    assert counts == [round(0.8 / value)] * 4  # those that enter the mean
    assert line["failed"] == 1


def test_policies_tell_themselves(wording: SnapshotAssertion) -> None:
    assert FailurePolicy("drop").describe() == wording


def test_counts_are_of_what_has_a_value() -> None:
    given = rows(
        {"case": "1", "hd95_mm": 2.0},
        {"case": "1", "instance": 2, "hd95_mm": None, "metrics": "dice@1"},
        {"case": "2", "hd95_mm": None, "metrics": "dice@1"},
    )
    line = mean(given, name="hd95")
    assert [line[name] for name in ("value", "patients", "cases", "targets", "of", "failed")] == [2.0, 1, 1, 1, 1, 0]


@pytest.mark.parametrize(
    ("how", "others", "net"),
    [
        # class x: cases 1 and 2; class y: case 1, of which one instance is missed
        ("protocol", ((2.0 + 6.0) / 2 + 4.0) / 2, (0 + 1 / 2) / 2),
        ("class-first", ((2.0 + 4.0) / 2 + 6.0) / 2, ((0 + 1 / 2) / 2 + 0) / 2),
        ("case", ((2.0 + 4.0) / 2 + 6.0) / 2, (1 / 3 + 0) / 2),
        ("pooled", (2.0 + 4.0 + 6.0) / 3, 1 / 4),
    ],
)
def test_beside_an_infinite_mean_stands_that_of_the_others(how: str, others: float, net: float) -> None:
    given = rows(
        {"case": "1", "label": "x", "hd95_mm": 2.0},
        {"case": "1", "label": "y", "hd95_mm": 4.0},
        {"case": "1", "label": "y", "instance": 2, "hd95_mm": math.inf},
        {"case": "2", "label": "x", "hd95_mm": 6.0},
    )
    line = mean(given, how, name="hd95")
    assert (line["value"], line["infinite"], line["of"]) == (math.inf, 1, 4)
    assert (line["others"], line["net"]) == (pytest.approx(others), pytest.approx(net))


def test_the_worst_of_a_distance_is_infinite() -> None:
    assert mean(rows({"dice": 0.0, "status": "error"}), name="hd95")["value"] == float("inf")
    assert metric("hd95_mm") == metric("hd95")


def test_machine_seconds_add_up_over_rounds() -> None:
    given = curve([0.1, 0.5, 0.6])
    assert mean(given, name="seconds")["value"] == pytest.approx(3 * 0.5)
    (line,) = aggregate(scores(given, "seconds", 1), ["model"], aggregation("protocol")).rows(named=True)
    assert line["value"] == pytest.approx(2 * 0.5)


def test_wrong_names(wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        aggregation("pool")
    assert caught == wording
    with pytest.raises(IntraBenchError) as caught:
        metric("dise")
    assert caught == wording
