"""Counts of sessions whose prompts were converted or refused."""

from __future__ import annotations

import polars as pl
import pytest

from intrabench.statistics.notes import adapted, conversions, shares
from tests.results.made import rows


@pytest.mark.parametrize(
    ("stored", "said"),
    [
        ("", []),
        ("box2d->point", ["box2d->point"]),
        ("assumed CT,box3d->box2d", ["assumed CT", "box3d->box2d"]),
        ("ignored", ["ignored: click"]),
        ("ignored,scribble->box", ["ignored: scribble"]),
        ("point->box2d,scribble->box", ["scribble->box2d"]),
        ("point->box2d", ["point->box2d"]),
        ("diverged:3", ["diverged"]),
        ("mine: so", ["mine: so"]),
    ],
)
def test_what_a_row_says(stored: str, said: list[str]) -> None:
    assert conversions(stored) == said


def test_sessions_and_corrections_are_counted() -> None:
    def session(case: str, *notes: str) -> list[dict[str, object]]:
        return [{"case": case, "round": at, "adapted": note, "dice": 0.5} for at, note in enumerate(notes)]

    given = rows(
        *session("1", "box3d->box2d", "ignored,scribble->box", "ignored,scribble->box"),
        *session("2", "box3d->box2d", "", "point->box2d,scribble->box"),
        *session("3", "", "", ""),
        {"case": "4", "status": "not_applicable", "error": "no", "dice": None},
        {"case": "5", "target": "*", "status": "error", "dice": 0.0},
    )
    found = adapted(given, ["model"]).select("note", "sessions", "of", "turns", "corrections")
    assert found.rows() == [
        ("box3d->box2d", 2, 3, 0, 6),
        ("ignored: scribble", 1, 3, 2, 6),
        ("n/a: no", 1, 4, 0, 6),
        ("scribble->box2d", 1, 3, 1, 6),
    ]
    assert adapted(given, ["model"], 0)["note"].to_list() == ["box3d->box2d", "n/a: no"]
    plain = given.with_columns(adapted=pl.lit(None, pl.String)).filter(pl.col("status") == "ok")
    assert adapted(plain, ["model"]).is_empty()


def test_a_session_that_is_refused_later_does_not_count_as_converted() -> None:
    given = rows(
        {"adapted": "box3d->box2d", "dice": 0.5}, {"round": 1, "status": "not_applicable", "error": "no", "dice": None}
    )
    assert adapted(given, ["model"])["note"].to_list() == ["n/a: no"]
    assert adapted(given, ["model"], 0)["note"].to_list() == ["box3d->box2d"]


def test_shares_in_words() -> None:
    assert shares([1.0, 1.0]) == "all sessions"
    assert shares([0.25]) == "25 % of the sessions"
    assert shares([0.2, 1.0]) == "20 to 100 % of the sessions"
    assert shares([0.001, 0.999]) == "<1 to >99 % of the sessions"
