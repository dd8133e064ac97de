"""Sentences of the page: about a budget, and their parts; names stand out, and carry their marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite, isinf
from typing import Any, TypeAlias

import polars as pl

from intrabench.errors import several
from intrabench.reporting.page.grid import digits_of
from intrabench.reporting.page.leading_score import LeadingScore
from intrabench.reporting.page.strata import Spot
from intrabench.reporting.page.tables import EFFORT
from intrabench.statistics.budgets import AtBudgets, Behind, Budget, Standing
from intrabench.statistics.infinite import NOTHING, Infinite
from intrabench.statistics.resample import AVERAGE, FEW
from intrabench.statistics.sources import group_of

Part: TypeAlias = tuple[str, str]
"""A kind, and a text: ``text``, ``name``, ``note`` (letters of footnotes), or ``seen``."""

Sentence: TypeAlias = list[Part]


@dataclass(frozen=True)
class Names:
    """What lines are called. seen: lines trained on any of the data. notes: marks of footnotes by line."""

    lines: pl.DataFrame
    seen: frozenset[int]
    notes: Mapping[int, str] = field(default_factory=dict)

    def of(self, line: int) -> Sentence:
        """``model with prompter (notes)`` and its marks."""
        row = self.lines.filter(pl.col("line") == line).row(0, named=True)
        more = [text(f" ({row['notes']})")] if row["notes"] else []
        marks = [("note", note)] if (note := self.notes.get(line)) else []
        marks += [("seen", "†")] if line in self.seen else []
        return [name(row["label"]), text(" with "), name(row["shown"]), *more, *marks]

    def prompter(self, line: int) -> str:
        """The prompter as it is shown."""
        return str(self.lines.filter(pl.col("line") == line)["shown"][0])


def text(words: str) -> Part:
    """Plain words."""
    return "text", words


def name(words: str) -> Part:
    """A name, which stands out."""
    return "name", words


def plain(sentence: Sequence[Part]) -> str:
    """A sentence as text, names in backquotes."""
    return "".join(f"`{words}`" if kind == "name" else words for kind, words in sentence)


def amount(value: float, digits: int = 2) -> str:
    """A number of a sentence; what is not 0 does not look like it."""
    shown = digits_of(value, digits)
    return digits_of(value, digits + 1) if value and float(f"{value:.{digits}f}") == 0 else shown


def span(low: float | None, high: float | None, digits: int = 2) -> str:
    """``0.66 to 0.75``; empty without an interval."""
    return "" if low is None or high is None else f"{amount(low, digits)} to {amount(high, digits)}"


def chance(p: float | None) -> str:
    """A p-value with three decimals, or ``< 0.001``; a dash where there was no test."""
    if p is None:
        return "–"
    return "<\u00a00.001" if p < 0.001 else digits_of(p, 3)


def listed(items: Sequence[Sentence], most: int = 3) -> Sentence:
    """``A, B and C``, or ``A, B, C and 4 more``."""
    kept = [*items[:most], *([[text(f"{len(items) - most} more")]] if len(items) > most else [])]
    sentence: Sentence = []
    for number, item in enumerate(kept):
        sentence += [text(" and " if number == len(kept) - 1 else ", ")] if number else []
        sentence += item
    return sentence


@dataclass(frozen=True)
class BudgetResults:
    """What answers are made from. rows: of all `names.lines`. reached: at all `budgets`. modalities: by data set.

    speed: `speeds`.
    """

    lead: LeadingScore
    rows: pl.DataFrame
    names: Names
    reached: AtBudgets
    budgets: Mapping[str, Sequence[Budget]]
    modalities: Mapping[str, str]
    speed: pl.DataFrame

    def with_notes(self, notes: Mapping[int, str]) -> BudgetResults:
        """The same with these marks at the names of lines."""
        return replace(self, names=replace(self.names, notes=notes))

    @cached_property
    def compared(self) -> set[int]:
        """The lines that are compared: those with rows; groups of clicks are none that a user may choose."""
        lines = self.names.lines.filter(pl.col("line").is_in(self.rows["line"].unique().implode()))
        return {line for line, prompter in lines.select("line", "prompter").iter_rows() if group_of(prompter) is None}


_WORSE = {"high": "lower", "low": "higher", "zero": "farther from 0"}


def limit(budget: Budget) -> str:
    """How much a budget is, as a number or in words."""
    return "no limit" if isinf(budget.limit) else f"{budget.limit:g}"


def best(results: BudgetResults, budget: Budget, ranked: Sequence[Standing]) -> Sentence:
    """Which line is best, how much worse the next is, and what is known of that."""
    first, counts = ranked[0], ranked[0].counts
    sets = results.reached.table.filter(state=first.place.state)["dataset"].n_unique() - 1
    over = f", mean of {sets} data sets" if sets > 1 else ""
    of = f"{several(counts['targets'], 'target')} in {several(counts['cases'], 'case')}{over}"
    within = f"95 % interval {_span(results.lead, first.low, first.high)}" if first.low is not None else "no interval"
    spent = (
        ""
        if first.place.spent is None or isinf(budget.limit)
        else f", with {_effort(budget, first.place.spent)} on average"
    )
    sentence = [text(_at(budget)), *results.names.of(first.line)]
    sentence.append(
        text(f" reaches {_score(results.lead, first.value, infinite=first.infinite)} ({within}; {of}){spent}")
    )
    if len(ranked) == 1:
        return [*sentence, text("; no other line is within this budget."), *_over(results, first)]
    return [*sentence, *_next(results, ranked), *_over(results, first)]


def _next(results: BudgetResults, ranked: Sequence[Standing]) -> Sentence:
    second = ranked[1]
    assert second.behind is not None
    ties = [one for one in ranked[1:] if one.rank == 1]
    if ties:
        who = listed([results.names.of(one.line) for one in ties], 2)
        return [text(". Equally good " + ("is " if len(ties) == 1 else "are ")), *who, text(".")]
    sentence = [text(". The next, "), *results.names.of(second.line), text(f"{_by(results.lead, second.behind)}. ")]
    unsure = sum(1 for one in ranked[2:] if one.behind is not None and one.behind.certain is False)
    others = (
        f" Nor can {several(unsure, 'other line')} be told from the best."
        if unsure and second.behind.certain is False
        else ""
    )
    return [*sentence, text(_verdict(second.behind) + others)]


def _by(lead: LeadingScore, behind: Behind) -> str:
    """By how much the best line is better than the next."""
    worse, digits, known = _WORSE[lead.scale.best], _finer(lead), f" ({_chance(lead, behind)})"
    if behind.infinite:
        return f", differs: {behind.infinite.words(lambda one: f'{digits_of(one, digits)} {worse}')}{known}"
    return f", is {digits_of(behind.value, digits)} {worse}{known}"


def _chance(lead: LeadingScore, behind: Behind) -> str:
    p, patients = chance(behind.p), several(behind.patients, "patient")
    tested = f"p {p if '<' in p else f'= {p}'}, {patients}" if behind.p is not None else f"{patients}, too few to test"
    return f"{span(behind.low, behind.high, _finer(lead))}; {tested}" if behind.low is not None else tested


def _finer(lead: LeadingScore) -> int:
    """Decimals of differences."""
    return 2 if lead.unit else 3


def _verdict(behind: Behind) -> str:
    if behind.infinite.count and behind.p is not None:
        tell = "say that this is more than chance" if behind.certain else "do not exclude chance"
        return f"There is no interval of infinite differences; the signed ranks of patients {tell}."
    if behind.certain is None and behind.p is not None:
        return (
            f"There is no interval, because a data set has fewer than {FEW} patients with a difference; the test "
            "is of the patients of all data sets."
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


def _over(results: BudgetResults, first: Standing) -> Sentence:
    if not first.place.over:
        return []
    over = several(first.place.over, "session")
    worst = _score(results.lead, results.lead.scale.worst)
    return [text(f" In {over} even the first prompts cost more; that counts as {worst}.")]


def caution(ranked: Sequence[Standing]) -> Sentence:
    """What to think of a lead; nothing if there is none."""
    if len(ranked) == 1 or ranked[1].rank == 1:
        return []
    tested = ranked[1].behind is not None and ranked[1].behind.p is not None
    on = "chosen and tested on the same patients" if tested else "chosen on these patients"
    return [text(f"The best is {on}, so expect a smaller lead on others.")]


def of_datasets(results: BudgetResults, budget: Budget, first: Standing) -> Sentence:
    """The data sets on which another line is best, and looks better."""
    states = {place.state: line for line, place in results.reached.places[budget].items() if line in results.compared}
    table = results.reached.table.filter(pl.col("state").is_in(list(states)), pl.col("dataset") != AVERAGE).drop_nulls(
        "value"
    )
    others: list[Sentence] = []
    for (dataset,), one in table.sort("dataset").group_by("dataset", maintain_order=True):
        order = {row["state"]: Infinite.beside(row).order(results.lead.scale.best) for row in one.to_dicts()}
        leading = one.filter(
            pl.col("state").is_in([state for state, key in order.items() if key == max(order.values())])
        )
        if first.place.state in leading["state"]:
            continue
        row = leading.sort("state").row(0, named=True)
        mine = one.filter(state=first.place.state).to_dicts()
        if mine and _worth(results.lead, mine[0]) == _worth(results.lead, row):
            continue
        within = f", {_span(results.lead, row['low'], row['high'])}" if row["low"] is not None else ""
        worth = text(f" ({_worth(results.lead, row)}{within})")
        others.append(
            [text("on "), name(str(dataset)), text(" it is "), *results.names.of(states[row["state"]]), worth]
        )
    return [text("The best is not the same everywhere: "), *listed(others), text(".")] if others else []


def weak(results: BudgetResults, spots: Sequence[Spot]) -> Sentence:
    """Where the best line is worst."""
    kinds: dict[str, list[Spot]] = {}
    for spot in spots:
        kinds.setdefault(spot.kind, []).append(spot)
    parts: list[Sentence] = []
    if labels := kinds.get("label"):
        parts.append(
            listed(
                [[text("on "), name(one.name or "no label"), text(f" ({_spot(results, one)})")] for one in labels],
                len(labels),
            )
        )
    for kind, before in (("size", "on "), ("modality", "on "), ("dataset", "on ")):
        if len(pair := kinds.get(kind, [])) == 2:
            worst, best = pair
            than = text(f" ({_spot(results, worst)}; best on ")
            parts.append([text(before), *_which(worst), than, *_which(best), text(f", {_value(results, best)})")])
    if not parts:
        return []
    sentence: Sentence = [text("Its mean over targets is worst ")]
    for number, part in enumerate(parts):
        sentence += [text("; ")] if number else []
        sentence += part
    return [*sentence, text(".")]


def finds(found: pl.DataFrame) -> Sentence:
    """Which share of the targets it finds, by their size; found: `found_by_size`. Nothing if it finds all."""
    if found.is_empty() or found["found"].min() == 1:
        return []
    parts = [text(f"{100 * share:.0f} % of {_sized(size)} ({count})") for size, share, count in found.iter_rows()]
    several = "Of labels with several targets in a case it finds, with any overlap, "
    return [text(several), *listed([[part] for part in parts]), text(".")]


def _sized(name: str) -> str:
    """Targets of a group of `with_sizes`."""
    return f"targets of {name}" if name.endswith(" ml") else f"{name} targets"


def _which(spot: Spot) -> Sentence:
    if spot.kind != "size":
        return [name(spot.name)]
    if spot.least is None or spot.most is None:
        return [text(_sized(spot.name))]
    volumes = dict.fromkeys(f"{volume:.3g}" for volume in (spot.least, spot.most))
    return [text(f"{spot.name} targets of {' to '.join(volumes)} ml")]


def _spot(results: BudgetResults, spot: Spot) -> str:
    within = f", {_span(results.lead, spot.low, spot.high)}" if spot.low is not None else ""
    return f"{_value(results, spot)}{within}, {several(spot.targets, 'target')}"


def _value(results: BudgetResults, spot: Spot) -> str:
    if spot.infinite:
        return spot.infinite.words(lambda one: _amount(results.lead, one))
    return _amount(results.lead, spot.value)


def too_dear(
    results: BudgetResults, budget: Budget, outside: Sequence[tuple[float, int]], any_inside: bool
) -> Sentence:
    """The prompters whose first prompts cost more than there is, the cheapest first."""
    cheapest: dict[str, float] = {}
    for cost, line in outside:
        cheapest.setdefault(results.names.prompter(line), cost)
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


def of_front(results: BudgetResults, against: str, point: Sequence[Any]) -> Sentence:
    """A point of the front: what it costs, what it is, and what it reaches. point: of `curve_data`."""
    _, line, number, value, low, high, *spent = point
    cost = _effort(Budget(against, 0), spent[[*EFFORT].index(against)])
    after = f"after {several(number, 'correction')}" if number else "after the first prompts"
    within = f" ({_span(results.lead, low, high)})" if low is not None else ""
    return [
        text(f"{cost}: "),
        *results.names.of(line),
        text(f" {after}, {_score(results.lead, value, finer=True)}{within}"),
    ]


def not_compared(results: BudgetResults, compared: Set[int]) -> list[Sentence]:
    """Why lines are not in the comparison."""
    lines = results.names.lines
    places = {line for places in results.reached.places.values() for line in places}
    whole = {row["state"] for row in results.reached.table.filter(pl.col("dataset") == AVERAGE).to_dicts()}
    there = {line for every in results.reached.places.values() for line, one in every.items() if one.state in whole}
    notes: list[Sentence] = []
    groups = [prompter for prompter in lines["prompter"] if group_of(prompter) is not None]
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
                    *listed([results.names.of(line) for line in absent]),
                    text("."),
                ]
            )
    return notes


def _worth(lead: LeadingScore, row: Mapping[str, Any]) -> str:
    """A mean with what is infinite, row by row of `intervals`."""
    infinite = Infinite.beside(row)
    return infinite.words(lambda one: _amount(lead, one)) if infinite else _amount(lead, row["value"])


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


def _span(lead: LeadingScore, low: float | None, high: float | None) -> str:
    return span(low, high, 1 if lead.unit else 2)


def _amount(lead: LeadingScore, value: float) -> str:
    digits = 1 if lead.unit else 2
    return amount(value, digits) if isfinite(value) else "∞"


def _score(lead: LeadingScore, value: float, finer: bool = False, infinite: Infinite = NOTHING) -> str:
    ending = f"\u00a0{lead.unit}" if lead.unit else ""
    if infinite:
        return f"{lead.scale_title} {infinite.words(lambda one: _amount(lead, one) + ending)}"
    return f"{lead.scale_title} {digits_of(value, _finer(lead)) if finer else _amount(lead, value)}{ending}"
