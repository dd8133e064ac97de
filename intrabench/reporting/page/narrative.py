"""The sentences about a budget."""

from __future__ import annotations

from collections.abc import Sequence, Set
from math import isfinite, isinf
from typing import Any

import polars as pl

from intrabench.errors import several
from intrabench.metrics.base import Metric, merit
from intrabench.reporting.page.evidence import Given
from intrabench.reporting.page.grid import digits_of
from intrabench.reporting.page.leading_score import Lead
from intrabench.reporting.page.sentences import Sentence, amount, chance, listed, name, span, text
from intrabench.reporting.page.tables import EFFORT
from intrabench.reporting.page.weaknesses import Spot
from intrabench.statistics.budgets import Budget
from intrabench.statistics.resample import AVERAGE, FEW
from intrabench.statistics.standings import Behind, Standing

_WORSE = {"high": "lower", "low": "higher", "zero": "farther from 0"}


def title(lead: Lead) -> str:
    """The heading of the score of a round, without its unit."""
    return lead.rounds.head.removesuffix(f", {unit(lead)}")


def unit(lead: Lead) -> str:
    """The unit of the score of a round; empty if it has none."""
    return lead.rounds.unit if isinstance(lead.rounds, Metric) else "s"


def limit(budget: Budget) -> str:
    """How much a budget is, as a number or in words."""
    return "no limit" if isinf(budget.limit) else f"{budget.limit:g}"


def best(given: Given, budget: Budget, ranked: Sequence[Standing]) -> Sentence:
    """Which line is best, how much worse the next is, and what is known of that."""
    first, counts = ranked[0], ranked[0].counts
    sets = given.found.table.filter(state=first.place.state)["dataset"].n_unique() - 1
    over = f", mean of {sets} data sets" if sets > 1 else ""
    of = f"{several(counts['targets'], 'target')} in {several(counts['cases'], 'case')}{over}"
    within = f"95 % interval {_span(given.lead, first.low, first.high)}" if first.low is not None else "no interval"
    spent = (
        ""
        if first.place.spent is None or isinf(budget.limit)
        else f", with {_effort(budget, first.place.spent)} on average"
    )
    said = [text(_at(budget)), *given.names.of(first.line)]
    said.append(text(f" reaches {_score(given.lead, first.value)} ({within}; {of}){spent}"))
    if len(ranked) == 1:
        return [*said, text("; no other line is within this budget."), *_over(given, first)]
    return [*said, *_next(given, ranked), *_over(given, first)]


def _next(given: Given, ranked: Sequence[Standing]) -> Sentence:
    second = ranked[1]
    assert second.behind is not None
    ties = [one for one in ranked[1:] if one.rank == 1]
    if ties:
        who = listed([given.names.of(one.line) for one in ties], 2)
        return [text(". Equally good " + ("is " if len(ties) == 1 else "are ")), *who, text(".")]
    worse, value = _WORSE[given.lead.rounds.best], second.behind.value
    by = f"{digits_of(value, _finer(given.lead))} {worse}" if isfinite(value) else f"infinitely {worse}"
    said = [
        text(". The next, "),
        *given.names.of(second.line),
        text(f", is {by} ({_chance(given.lead, second.behind)}). "),
    ]
    unsure = sum(1 for one in ranked[2:] if one.behind is not None and one.behind.certain is False)
    others = (
        f" Nor can {several(unsure, 'other line')} be told from the best."
        if unsure and second.behind.certain is False
        else ""
    )
    return [*said, text(_verdict(second.behind) + others)]


def _chance(lead: Lead, behind: Behind) -> str:
    p, patients = chance(behind.p), several(behind.patients, "patient")
    tested = f"p {p if '<' in p else f'= {p}'}, {patients}" if behind.p is not None else f"{patients}, too few to test"
    return f"{span(behind.low, behind.high, _finer(lead))}; {tested}" if behind.low is not None else tested


def _finer(lead: Lead) -> int:
    """Decimals of differences."""
    return 2 if unit(lead) else 3


def _verdict(behind: Behind) -> str:
    if behind.certain is None and behind.p is not None:
        return (
            f"There is no interval, because a data set has fewer than {FEW} patients; the test is of the patients of "
            "all data sets."
        )
    if behind.certain is None:
        return f"With fewer than {FEW} patients of a data set nobody can tell whether that is chance."
    if not behind.certain:
        return "The interval of the difference holds 0, so it may be chance."
    if behind.p is None:
        return "The interval of the difference lies above 0, but the patients that both have are too few to test."
    if behind.p < 0.05:
        return "The difference is more than chance."
    return "The interval of the difference lies above 0, but the test does not exclude chance."


def _over(given: Given, first: Standing) -> Sentence:
    if not first.place.over:
        return []
    over = several(first.place.over, "session")
    worst = _score(given.lead, given.lead.rounds.worst)
    return [text(f" In {over} even the first prompts cost more; that counts as {worst}.")]


def flattered(ranked: Sequence[Standing]) -> Sentence:
    """What to think of a lead; nothing if there is none."""
    if len(ranked) == 1 or ranked[1].rank == 1:
        return []
    tested = ranked[1].behind is not None and ranked[1].behind.p is not None
    on = "chosen and tested on the same patients" if tested else "chosen on these patients"
    return [text(f"The best is {on}, so expect a smaller lead on others.")]


def of_datasets(given: Given, budget: Budget, first: Standing) -> Sentence:
    """The data sets on which another line is best, and looks better."""
    states = {place.state: line for line, place in given.found.places[budget].items() if line in given.compared}
    table = given.found.table.filter(pl.col("state").is_in(list(states)), pl.col("dataset") != AVERAGE).drop_nulls(
        "value"
    )
    others: list[Sentence] = []
    for (dataset,), one in table.sort("dataset").group_by("dataset", maintain_order=True):
        one = one.with_columns(merit=merit(pl.col("value"), given.lead.rounds.best).round(12))
        leading = one.filter(pl.col("merit") == pl.col("merit").max())
        if first.place.state in leading["state"]:
            continue
        row = leading.sort("state").row(0, named=True)
        own = one.filter(state=first.place.state)["value"].to_list()
        if own and _amount(given.lead, own[0]) == _amount(given.lead, row["value"]):
            continue
        within = f", {_span(given.lead, row['low'], row['high'])}" if row["low"] is not None else ""
        worth = text(f" ({_amount(given.lead, row['value'])}{within})")
        others.append([text("on "), name(str(dataset)), text(" it is "), *given.names.of(states[row["state"]]), worth])
    return [text("The best is not the same everywhere: "), *listed(others), text(".")] if others else []


def weak(given: Given, spots: Sequence[Spot]) -> Sentence:
    """Where the best line is worst."""
    kinds: dict[str, list[Spot]] = {}
    for spot in spots:
        kinds.setdefault(spot.kind, []).append(spot)
    parts: list[Sentence] = []
    if labels := kinds.get("label"):
        parts.append(
            listed(
                [[text("on "), name(one.name or "no label"), text(f" ({_spot(given, one)})")] for one in labels],
                len(labels),
            )
        )
    for kind, before in (("size", "on "), ("modality", "on "), ("dataset", "on ")):
        if len(pair := kinds.get(kind, [])) == 2:
            worst, best = pair
            than = text(f" ({_spot(given, worst)}; best on ")
            parts.append(
                [text(before), *_which(worst), than, *_which(best), text(f", {_amount(given.lead, best.value)})")]
            )
    if not parts:
        return []
    said: Sentence = [text("Its mean over targets is worst ")]
    for number, part in enumerate(parts):
        said += [text("; ")] if number else []
        said += part
    return [*said, text(".")]


def _which(spot: Spot) -> Sentence:
    if spot.kind != "size":
        return [name(spot.name)]
    if spot.least is None or spot.most is None:  # of photographs, whose pixels have no volume
        return [text(f"{spot.name} targets")]
    volumes = dict.fromkeys(f"{volume:.3g}" for volume in (spot.least, spot.most))
    return [text(f"{spot.name} targets of {' to '.join(volumes)} ml")]


def _spot(given: Given, spot: Spot) -> str:
    within = f", {_span(given.lead, spot.low, spot.high)}" if spot.low is not None else ""
    return f"{_amount(given.lead, spot.value)}{within}, {several(spot.targets, 'target')}"


def too_dear(given: Given, budget: Budget, outside: Sequence[tuple[float, int]], any_inside: bool) -> Sentence:
    """The prompters whose first prompts cost more than there is, the cheapest first."""
    cheapest: dict[str, float] = {}
    for cost, line in outside:
        cheapest.setdefault(given.names.prompter(line), cost)
    if not cheapest:
        return []
    items = [[name(prompter), text(f" ({_number(cost)})")] for prompter, cost in cheapest.items()]
    if any_inside:
        return [text(f"First prompts that cost more {EFFORT[budget.against]}: "), *listed(items), text(".")]
    return [
        text(f"No first prompts cost as little as {_effort(budget, budget.limit)}; there are "),
        *listed(items),
        text("."),
    ]


def of_front(given: Given, against: str, point: Sequence[Any]) -> Sentence:
    """A point of the front: what it costs, what it is, and what it reaches. point: of `curve_data`."""
    _, line, number, value, low, high, *spent = point
    cost = _effort(Budget(against, 0), spent[[*EFFORT].index(against)])
    after = f"after {several(number, 'correction')}" if number else "after the first prompts"
    within = f" ({_span(given.lead, low, high)})" if low is not None else ""
    return [
        text(f"{cost}: "),
        *given.names.of(line),
        text(f" {after}, {_score(given.lead, value, finer=True)}{within}"),
    ]


def not_compared(given: Given, compared: Set[int]) -> list[Sentence]:
    """Why lines are not in the comparison."""
    lines = given.names.lines
    places = {line for places in given.found.places.values() for line in places}
    whole = {row["state"] for row in given.found.table.filter(pl.col("dataset") == AVERAGE).to_dicts()}
    there = {line for every in given.found.places.values() for line, one in every.items() if one.state in whole}
    notes: list[Sentence] = []
    groups = [line for line in lines["line"] if line not in compared]
    if groups:
        notes.append(
            [text("Groups of clicks are left out, because no user chooses one; they are under Where people click.")]
        )
    for why, absent in (
        ("have no value on any data set", [line for line in lines["line"] if line in compared and line not in places]),
        ("lack a data set", [line for line in lines["line"] if line in compared & places and line not in there]),
    ):
        if absent:
            notes.append(
                [
                    text(f"Not compared, because they {why}: "),
                    *listed([given.names.of(line) for line in absent]),
                    text("."),
                ]
            )
    return notes


def _at(budget: Budget) -> str:
    return "Whatever it costs, " if isinf(budget.limit) else f"At {_effort(budget, budget.limit)} "


def _effort(budget: Budget, spent: float) -> str:
    words = EFFORT[budget.against]
    if spent == 1:
        words = {"interactions": "interaction", "dof": "degree of freedom", "seconds_human": "second of the user"}[
            budget.against
        ]
    return f"{_number(spent)} {words}"


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _span(lead: Lead, low: float | None, high: float | None) -> str:
    return span(low, high, 1 if unit(lead) else 2)


def _amount(lead: Lead, value: float) -> str:
    digits = 1 if unit(lead) else 2
    return amount(value, digits) if isfinite(value) else "∞"


def _score(lead: Lead, value: float, finer: bool = False) -> str:
    ending = f"\u00a0{unit(lead)}" if unit(lead) else ""
    return f"{title(lead)} {digits_of(value, _finer(lead)) if finer else _amount(lead, value)}{ending}"
