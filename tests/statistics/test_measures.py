"""Summaries of sessions by hand, as `table` and `compare` ask for them."""

from __future__ import annotations

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.reporting.comparison import heading
from intrabench.statistics.compare import Settings, compare
from intrabench.statistics.measures import best, described, measured, with_direction
from intrabench.statistics.scores import FailurePolicy
from tests.results import made

ROWS = pl.concat(
    [
        made.curve([0.4, 0.8, 0.7], instance=0, interactions=2.0),
        made.curve([0.9], instance=1, interactions=3.0),
        made.rows({"instance": 2, "status": "oom", "dice": 0.0, "round": 0, "interactions": 0.0}),
        made.rows({"instance": 3, "status": "not_applicable"}),
    ]
)


def values(spec: str, round: int | None = None, policy: FailurePolicy | None = None) -> list[float | None]:
    return measured(ROWS, spec, round, policy).sort("target")["value"].to_list()


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("dice", [0.7, 0.9, 0.0, None]),
        ("noc:threshold=0.8", [4, 3, 20, None]),
        ("noc:threshold=0.8,limit=3", [3, 3, 3, None]),
        ("noc:threshold=0.8,against=round,limit=9", [1, 0, 9, None]),
        ("nof:threshold=0.8", [0, 0, 1, None]),
        ("nof:threshold=0.8,limit=3", [1, 0, 1, None]),
        ("auc:budget=8", [(2 * 0.4 + 2 * 0.8 + 2 * 0.7) / 8, 5 * 0.9 / 8, 0, None]),
        ("auc:budget=2,against=round", [0.6, 0.9, 0, None]),
        ("regressions", [0.5, None, None, None]),
        ("regressions:margin=0.1", [0.0, None, None, None]),
        ("nof:threshold=0.8,limit=4,ritm=yes", [1, 0, 1, None]),
        ("rclicks_auc:metric=dice", [(0.6 + 0.75 + 17 * 0.7) / 19, 0.9, 0, None]),
        ("cvpr25_auc", [0.75 + 3 * 0.7, 3.6, 0, None]),
    ],
)
def test_by_hand(spec: str, expected: list[float | None]) -> None:
    assert values(spec) == [None if value is None else pytest.approx(value) for value in expected]


def test_up_to_a_round_and_without_failures() -> None:
    assert values("noc:threshold=0.8", round=0) == [20, 3, 20, None]
    assert values("nof:threshold=0.8", policy=FailurePolicy(failed="drop")) == [0, 0, None, None]


def test_fewer_clicks_are_better(wording: SnapshotAssertion) -> None:
    assert [best(spec) for spec in ("noc", "nof", "regressions", "hd95", "seconds")] == ["low"] * 5
    assert [best(spec) for spec in ("auc:budget=3", "cvpr25_auc", "dice")] == ["high"] * 3
    assert best("relative_volume_difference") == "zero"
    slow, quick = (made.curve([0.5, *late, 0.9], interactions=1.0) for late in ([0.6], []))
    found = compare(slow, quick, Settings("noc:threshold=0.9"))
    assert found.datasets["difference"].to_list() == [1, 1]
    text = heading({"": found}, "A", "B")
    assert "is 0.9" in text
    assert text == wording


def test_they_are_told(wording: SnapshotAssertion) -> None:
    assert described("dice") == "dice"
    assert described("nsd:tolerance_mm=1") == "nsd:tolerance_mm=1 (NSD, 1 mm)"
    assert described("hd95") == wording
    assert described("relative_volume_difference") == wording
    assert described("seconds") == wording
    assert described("auc:metric=iou") == wording


def test_what_is_unknown(wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        measured(ROWS, "nocs")
    assert caught == wording
    with pytest.raises(IntraBenchError) as caught:
        measured(ROWS, "dice:threshold=1")
    assert caught == wording
    with pytest.raises(IntraBenchError, match="does not fit"):
        measured(ROWS, "noc:threshold=high")
    with pytest.raises(IntraBenchError, match="hd95_mm does not rise from 0"):
        measured(ROWS, "noc:metric=hd95")


@pytest.mark.parametrize("spec", ["dice", "assd", "hd95:miss=diagonal", "relative_volume_difference", "noc", "auc"])
def test_a_description_says_once_which_values_are_best(spec: str) -> None:
    told = with_direction(spec)
    assert told.startswith(described(spec))
    assert told.count(f"{best(spec)} is best") + told.count(f"{best(spec)} values are best") == 1
