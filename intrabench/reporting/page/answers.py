"""What the page says first: which line is best at a budget, where it fails, and what it costs; for every budget."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import isfinite, isnan
from typing import Any

import numpy as np
import polars as pl

from intrabench.files.documents import json_number
from intrabench.metrics.base import merit
from intrabench.reporting.footnotes import Footnotes, Place, footnotes
from intrabench.reporting.page import narrative
from intrabench.reporting.page.curve_data import finite
from intrabench.reporting.page.grid import digits_of
from intrabench.reporting.page.narrative import BudgetResults, Sentence, chance
from intrabench.reporting.page.speed import speed_sentence
from intrabench.reporting.page.strata import Spot, weak_spots
from intrabench.reporting.page.tables import EFFORT
from intrabench.reporting.page.viewer import spread
from intrabench.statistics.budgets import Budget, Standing, front, standings, within
from intrabench.statistics.infinite import Infinite
from intrabench.statistics.notes import adapted
from intrabench.statistics.sizes import found_by_size
from intrabench.statistics.steps import Steps

STOPS = {
    "interactions": (1, 3, 5, 10, 20, 50, 100, 200),
    "dof": (3, 10, 20, 50, 100, 200, 500),
    "seconds_human": (5, 10, 30, 60, 120, 300, 600),
}
"""The budgets of each effort, up to the most that any session costs; then there is no limit."""

ROWS = 12
"""Lines that the table of a budget shows."""
FRONT = 8
"""Points of the front that are told, the cheapest and the best among them."""

_DOTS = 40  # so many scores are drawn one by one


def budgets_of(played: Steps) -> dict[str, list[Budget]]:
    """The budgets of each effort that sessions have; interactions, if they have none."""
    most = {against: float(played.effort(against).max(initial=0)) for against in STOPS}
    return {
        against: [
            *(Budget(against, limit) for limit in STOPS[against] if limit < most[against]),
            Budget(against, np.inf),
        ]
        for against in STOPS
        if most[against] > 0 or against == "interactions"
    }


def answers(results: BudgetResults, curves: Mapping[str, Any]) -> dict[str, Any]:
    """The sentences of every budget by effort, notes on all, and the plain data behind the table and the pictures.

    curves: `curve_data`, whose points the front consists of.
    """
    best, compared = results.lead.scale.best, results.compared
    order = standings(results.reached, best, compared)
    firsts = {budget: ranked[0] for budget, ranked in order.items()}
    winners = results.reached.sessions.filter(pl.col("state").is_in({one.place.state for one in firsts.values()}))
    spots = weak_spots(winners, results.modalities, best, results.lead.ends)
    units = [_unit(results, against, order, spots, curves) for against in results.budgets]
    shown = {row["state"] for unit in units for stop in unit["stops"] for row in stop["rows"]}
    return {
        "units": units,
        "notes": narrative.not_compared(results, compared),
        "board": {
            "title": results.lead.scale_title,
            "unit": results.lead.unit,
            "best": best,
            "range": [end if isfinite(end) else None for end in results.lead.scale.bounds],
            "compared": sorted(compared),
            "lines": [_line(results, line) for line in results.names.lines["line"].sort()],
            "boxes": _boxes(results.reached.sessions, shown, compared),
            "units": [_script_data(unit) for unit in units],
        },
    }


def _unit(
    results: BudgetResults,
    against: str,
    order: Mapping[Budget, Sequence[Standing]],
    spots: Mapping[int, Sequence[Spot]],
    curves: Mapping[str, Any],
) -> dict[str, Any]:
    """What is said of one effort: at each of its budgets, and of the front."""
    stops = [_stop(results, budget, order.get(budget, ()), spots) for budget in results.budgets[against]]
    on = _front(results, against, curves)
    points = [curves["points"][on[place]] for place in spread(len(on), FRONT)]
    marks, notes = notes_after(results.rows, [(line, after) for _, line, after, *_ in points], results.lead.column)
    return {
        "key": against,
        "name": EFFORT[against],
        "stops": stops,
        "start": _start(results, against),
        "front": on,
        "front_says": [
            narrative.of_front(results.with_notes({point[1]: mark}), against, point)
            for point, mark in zip(points, marks, strict=True)
        ],
        "front_more": len(on) - len(points),
        "front_notes": notes,
    }


def _stop(
    results: BudgetResults, budget: Budget, ranked: Sequence[Standing], spots: Mapping[int, Sequence[Spot]]
) -> dict[str, Any]:
    inside = {one.line for one in ranked}
    costs = results.reached.cheapest[budget.against]
    outside = sorted(
        (cost, line) for line, cost in costs.items() if line in results.compared - inside and cost > budget.limit
    )
    inside_too = results.compared & set(results.reached.places.get(budget, ()))  # of which one may lack a data set
    marks, notes = notes_at(results.rows, budget, inside_too, results.lead.column)
    results = results.with_notes(marks)
    sentences: list[tuple[str, Sentence]] = []
    if ranked:
        first = ranked[0]
        sentences = [
            ("", narrative.best(results, budget, ranked)),
            ("", narrative.caution(ranked)),
            ("", narrative.of_datasets(results, budget, first)),
            ("Where it fails", narrative.weak(results, spots.get(first.place.state, ()))),
            ("", narrative.finds(found_by_size(_last(results, budget, first.line), results.lead.ends))),
            ("How long it takes", speed_sentence(results.speed, results.names, first.line)),
        ]
    sentences.append(("", narrative.too_dear(results, budget, outside, bool(ranked))))
    return {
        "label": narrative.limit(budget),
        "sentences": [(heading, one) for heading, one in sentences if one],
        "notes": notes,
        "rows": [_row(one, marks[one.line], 1 if results.lead.unit else 3) for one in ranked[:ROWS]],
        "outside": [[line, cost] for cost, line in outside][: max(ROWS - len(ranked), 0)],
        "more": max(len(ranked) + len(outside) - ROWS, 0),
    }


def _last(results: BudgetResults, budget: Budget, line: int) -> pl.DataFrame:
    """The last round of each session of a line that the budget allows."""
    allowed = within(results.rows.filter(line=line), budget)
    return allowed.filter(pl.col("round") == pl.col("round").max().over("session"))


def _start(results: BudgetResults, against: str) -> int:
    """The budget that is shown first: the least that suffices most lines, on average, for all their rounds."""
    ends = results.reached.places.get(Budget(against, np.inf), {})
    spent = sorted(one.spent for line, one in ends.items() if line in results.compared and one.spent is not None)
    most = spent[len(spent) // 2] if spent else 0
    return next(at for at, budget in enumerate(results.budgets[against]) if budget.limit >= most)


def _front(results: BudgetResults, against: str, curves: Mapping[str, Any]) -> list[int]:
    """The numbers of the points of the curves (a line after a round) on the front of an effort, the cheapest first."""
    spent, compared, best = 6 + [*EFFORT].index(against), results.compared, results.lead.scale.best
    points = [
        (at, point[spent], merit(point[3], best))
        for at, point in enumerate(curves["points"])
        if point[0] == 0 and point[1] in compared and point[spent] is not None
    ]
    on = [point for point, yes in zip(points, front([point[1:] for point in points]), strict=True) if yes]
    return [at for at, *_ in sorted(on, key=lambda point: point[1])]


def _row(one: Standing, note: str, digits: int) -> dict[str, Any]:
    """A row of the table of a budget, as plain data. note: letters of footnotes. digits: decimals of words."""
    behind = one.behind

    def words(infinite: Infinite) -> str:
        return infinite.words(lambda value: digits_of(value, digits)) if infinite else ""

    return {
        "line": one.line,
        "note": note,
        "rank": one.rank,
        "state": one.place.state,
        "value": [_number(number) for number in (one.value, one.low, one.high)],
        "infinite": words(one.infinite),
        "spent": finite(one.place.spent),
        "over": one.place.over,
        "behind": behind and [*map(_number, (behind.value, behind.low, behind.high)), chance(behind.p), behind.certain],
        "behind_infinite": words(behind.infinite) if behind else "",
        "mixed": behind is not None and bool(behind.infinite.count) and isnan(behind.value),
    }


def _number(value: float | None) -> float | str | None:
    """A number with seven digits, as `json_number`."""
    return None if value is None else json_number(float(f"{value:.7g}"))


def _script_data(unit: Mapping[str, Any]) -> dict[str, Any]:
    """What scripts need of an effort."""
    stops = [{key: stop[key] for key in ("label", "rows", "outside", "more")} for stop in unit["stops"]]
    return {"name": unit["name"], "start": unit["start"], "front": unit["front"], "stops": stops}


def _line(results: BudgetResults, line: int) -> dict[str, Any]:
    row = results.names.lines.filter(pl.col("line") == line).row(0, named=True)
    whose = {"model": row["label"], "prompter": row["shown"], "which": row["notes"]}
    return whose | {"seen": line in results.names.seen}


def _boxes(sessions: pl.DataFrame, states: set[int], compared: set[int]) -> dict[str, list[list[float | str | None]]]:
    """By state: five quantiles of the scores (5, 25, 50, 75 and 95 %), and the scores, if they are few."""
    shown = sessions.filter(pl.col("state").is_in(states), pl.col("line").is_in(compared))
    value = pl.col("value")
    ends = [value.quantile(q, "linear").alias(f"q{q}") for q in (0.05, 0.25, 0.5, 0.75, 0.95)]
    dots = pl.when(pl.len() <= _DOTS).then(value.sort().implode())
    found = shown.group_by("state").agg(*ends, dots.alias("dots")).sort("state")
    return {
        str(state): [[_number(end) for end in box], [_number(dot) for dot in dots or ()]]
        for state, *box, dots in found.iter_rows()
    }


Marks = Mapping[int, str]
"""Letters of footnotes by line."""


def notes_at(
    rows: pl.DataFrame, budget: Budget, lines: Collection[int], column: str
) -> tuple[Marks, Mapping[str, str]]:
    """The marks of these lines at a budget, and the texts of the marks.

    rows: of all sessions, with `line`. column: of the metric, as for `adapted`.
    """
    allowed = within(rows.filter(pl.col("line").is_in(list(lines))), budget)
    frame = pl.DataFrame({"line": sorted(lines)}, schema={"line": rows.schema["line"]})
    found = footnotes(frame, [Place(adapted(allowed, ["line"], column=column), ["line"], ["answer"])])
    return dict(zip(frame["line"], _marks(found, frame), strict=True)), found.texts


def notes_after(
    rows: pl.DataFrame, points: Sequence[tuple[int, int]], column: str
) -> tuple[list[str], Mapping[str, str]]:
    """The mark of each point, a line after a round, and the texts of the marks; else as `notes_at`."""
    frame = pl.DataFrame(points, schema={"line": rows.schema["line"], "after": pl.Int64}, orient="row")
    notes = [
        adapted(rows.filter(line=line), ["line"], after, column).with_columns(after=pl.lit(after, pl.Int64))
        for line, after in points
    ]
    found = footnotes(frame, [Place(pl.concat(notes), ["line", "after"], ["answer"])] if notes else [])
    return _marks(found, frame), found.texts


def _marks(found: Footnotes, frame: pl.DataFrame) -> list[str]:
    return list(found.marks.get("answer", [""] * frame.height))
