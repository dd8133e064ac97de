"""Seconds of actions, recovered from recordings that were made up with known ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest

from intrabench.people.annotating.log import ACTIONS
from intrabench.people.calibrating.fits import APART, fit_seconds, overhead

Line = tuple[str, str, int, str, float]


def actions(lines: Sequence[Line], undone: bool = False) -> pl.DataFrame:
    """A line per action: session, rater, event, kind and seconds."""
    names = ("session", "rater", "event", "kind", "seconds")
    rows = [{**dict.fromkeys(ACTIONS), **dict(zip(names, line, strict=True)), "undone": undone} for line in lines]
    return pl.DataFrame(rows, schema=ACTIONS)


def recorded(
    sessions: int, each: float, once: float, sizes: Sequence[int] = (1, 3), seed: int = 0, scatter: float = 0.3
) -> pl.DataFrame:
    """Sessions of two raters, with a turn of each size; the speed of sessions differs, too."""
    random = np.random.default_rng(seed)
    lines = list[Line]()
    for number in range(sessions):
        pace = random.gamma(100, 0.01)
        for event, size in enumerate(sizes):
            times = pace * (each * random.gamma(1 / scatter**2, scatter**2, size) + once * (np.arange(size) == 0))
            lines += [(f"s{number}", f"r{number % 2}", event, "click", float(one)) for one in times]
    return actions(lines)


def of(kind: str, frame: pl.DataFrame) -> tuple[float, float | None]:
    (one,) = [found for found in fit_seconds(frame) if found.kind == kind]
    return one.each.value, None if one.once is None else one.once.value


def test_times_without_scatter_are_found_exactly() -> None:
    lines = [("a", "r", n, "click", 2.0 + 1.5 * (k == 0)) for n in range(2 * APART) for k in range(1 + n % 2 * 3)]
    assert of("click", actions(lines)) == pytest.approx((2.0, 1.5))
    assert of("box2d", actions(lines)) == (pytest.approx(np.nan, nan_ok=True), None)


def test_neither_number_is_negative() -> None:
    faster = [("a", "r", n, "click", 3.0 if k else 1.0) for n in range(2 * APART) for k in range(1 + n % 2 * 3)]
    each, once = of("click", actions(faster))
    assert (each, once) == (pytest.approx(np.mean([line[-1] for line in faster])), 0)
    fixed = [("a", "r", n, "click", 4.0 if k == 0 else 0.0) for n in range(2 * APART) for k in range(1 + n % 2 * 3)]
    slower = [(*line[:-1], line[-1] * (2 - line[2] % 2)) for line in fixed]  # turns with more clicks take less time
    each, once = of("click", actions(slower))
    assert each == 0
    weights = [1 if n % 2 == 0 else 1 / 4 for n in range(2 * APART)]
    assert once == pytest.approx(np.average([8 if n % 2 == 0 else 4 for n in range(2 * APART)], weights=weights))


def test_what_is_once_per_round_needs_turns_of_both_sizes() -> None:
    for sizes in ((1, 1), (3, 3)):
        frame = recorded(30, 2.0, 1.5, sizes)
        assert of("click", frame) == (pytest.approx(frame["seconds"].mean()), None)
    single = [("a", "r", n, "click", 1.0) for n in range(50)]
    several = [("a", "r", 100 + n, "click", 1.0) for n in range(APART - 1) for _ in range(2)]
    assert of("click", actions(single + several))[1] is None
    several.append(("a", "r", 200, "click", 1.0))
    assert of("click", actions([*single, *several, several[-1]]))[1] is not None


def test_what_was_taken_back_costs_no_action_but_is_told() -> None:
    kept = actions([("a", "r", 0, "box2d", 4.0), ("a", "r", 3, "finish", 2.0), ("a", "r", 2, "undo", 1.0)])
    back = actions([("a", "r", 1, "box2d", 100.0)], undone=True)
    assert of("box2d", pl.concat([kept, back])) == (4.0, None)
    assert overhead(pl.concat([kept, back])) == {
        "seconds_of_actions": 4.0,
        "seconds_taken_back": 100.0,
        "seconds_of_undo": 1.0,
        "seconds_of_finish": 2.0,
    }


def test_few_sessions_have_no_interval_and_do_not_count() -> None:
    (one,) = [one for one in fit_seconds(recorded(5, 2.0, 1.0, (1, 3, 1, 3, 1, 3))) if one.kind == "click"]
    assert (one.each.n, one.each.sessions, one.each.enough) == (60, 5, False)
    assert np.isnan(one.each.low)
    (one,) = [one for one in fit_seconds(recorded(6, 2.0, 1.0, (1, 3))) if one.kind == "click"]
    assert (one.each.n, one.each.enough) == (24, False)
    (one,) = [one for one in fit_seconds(recorded(8, 2.0, 1.0, (1, 3))) if one.kind == "click"]
    assert (one.each.n, one.each.enough, one.each.low < one.each.value < one.each.high) == (32, True, True)


def test_intervals_hold_the_true_seconds() -> None:
    held = np.zeros(2)
    for seed in range(100):
        (one,) = [one for one in fit_seconds(recorded(16, 2.0, 1.5, (1, 3, 1), seed)) if one.kind == "click"]
        assert one.once is not None
        held += [one.each.low <= 2.0 <= one.each.high, one.once.low <= 1.5 <= one.once.high]
    assert held.min() >= 88, held
