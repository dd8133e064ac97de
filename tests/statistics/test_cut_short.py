"""Numbers of clicks of sessions that ended before the cap: which are bounds, and what is said of them."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.protocols import PROTOCOLS
from intrabench.reporting.footnotes import footnotes, with_words
from intrabench.reporting.numbers import numbers_places, numbers_table
from intrabench.reporting.table import Layout, effort_table, places
from intrabench.statistics.compare import Settings, compare
from intrabench.statistics.notes import CUT_SHORT, cut_short
from tests.results import made

NOC = "noc:threshold=0.9,metric=iou"
BOUND = "fewer than 20 interactions were played without reaching iou 0.9, which counts as {}, so means are upper bounds"


def session(iou: list[float], case: str, **shared: Any) -> pl.DataFrame:
    """One click per round."""
    given = [{"iou": one, "round": at, "interactions": at + 1.0} for at, one in enumerate(iou)]
    return made.rows(*given, case=case, **shared)


PLAYED = pl.concat(
    [
        session([0.5, 0.92], "reached"),
        session([0.5, 0.6, 0.7], "short"),
        session([0.5] * 20, "all"),
        session([0.5, 0.5], "failed").with_columns(
            status=pl.when(pl.col("round") == 1).then(pl.lit("error")).otherwise("status")
        ),
    ]
)


def test_only_what_could_have_been_reached_is_a_bound() -> None:
    (told,) = cut_short(PLAYED, ["model"], NOC).to_dicts()
    assert (told["note"], told["sessions"], told["of"]) == (CUT_SHORT + BOUND.format("20"), 1, 4)
    (told,) = cut_short(PLAYED, ["model"], NOC.replace("noc", "nof")).to_dicts()
    assert (told["note"], told["sessions"]) == (CUT_SHORT + BOUND.format("a failure"), 1)
    (told,) = cut_short(PLAYED, ["model"], "rclicks_auc").to_dicts()
    assert told["sessions"] == 2  # that which reached 0.9 might have gone on, too
    assert cut_short(PLAYED, ["model"], NOC, round=1)["sessions"].to_list() == [2]
    assert cut_short(PLAYED, ["model"], f"{NOC},limit=3").is_empty()
    assert cut_short(PLAYED.filter(pl.col("case") != "short"), ["model"], NOC).is_empty()


@pytest.mark.parametrize("metric", ["iou", "dice", "regressions", "cvpr25_final"])
def test_other_numbers_are_facts(metric: str) -> None:
    found = cut_short(PLAYED, ["model"], metric)
    assert found.is_empty()
    assert found.columns[0] == "model"


def test_it_is_said_at_the_number(wording: SnapshotAssertion) -> None:
    rows = PLAYED.filter(pl.col("case") != "failed")
    layout = Layout(NOC)
    table, noted = effort_table(rows, layout), places(rows, layout)
    notes = footnotes(table, noted)
    assert notes.marks["d"] == ["a"]
    assert notes.texts == {"a": wording}
    assert with_words(table, noted)["cut_short"].to_list() == wording
    whole = rows.filter(pl.col("case") == "all")
    assert "cut_short" not in with_words(effort_table(whole, layout), places(whole, layout)).columns


def test_a_protocol_marks_only_the_numbers_that_it_is_about() -> None:
    rows, preset = PLAYED.with_columns(protocol=pl.lit("rclicks@1")), [PROTOCOLS["rclicks@1"]]
    rows = rows.filter(pl.col("case").is_in(["short", "all"]))
    table = numbers_table(rows, Layout(), preset)
    marks = footnotes(table, numbers_places(rows, Layout(), preset)).marks
    assert table["NoC20@90"].to_list() == [20]
    assert {name: mark for name, (mark,) in marks.items() if mark} == {"NoC20@90": "a", "IoU-AuC": "b"}


def test_a_comparison_warns() -> None:
    long = pl.concat([session([0.5] * 20, name) for name in "abc"])
    short = pl.concat([session([0.5] * 5, name) for name in "abc"])
    warnings = compare(long, short, Settings(NOC), ("m", "n")).warnings
    assert f"n: {CUT_SHORT}{BOUND.format('20')}, in all sessions" in warnings
    assert not [one for one in warnings if one.startswith("m:")]
