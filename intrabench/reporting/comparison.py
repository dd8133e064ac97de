"""Comparisons as tables: differences, sizes and extremes of all pairs of lines, and what to know of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.reporting.display import Part, ResultTable, Section, as_html, as_text
from intrabench.reporting.footnotes import Footnotes, few_patients, text_marks
from intrabench.reporting.formats import plain
from intrabench.reporting.reference.claims import PublishedClaims, published_claims
from intrabench.reporting.table import names_in
from intrabench.results.origin import datasets_of
from intrabench.results.selection import EVERYTHING, Selection
from intrabench.statistics.compare import Comparison, Settings, compare
from intrabench.statistics.contests import contests, folders_of
from intrabench.statistics.evaluation import about, in_strata, pictures_of, selected_rows
from intrabench.statistics.infinite import MISSED, Infinite, signed
from intrabench.statistics.measures import best, described
from intrabench.statistics.resample import AVERAGE, FEW
from intrabench.statistics.soundness import check_round
from intrabench.statistics.statistic import averaged_otherwise, statistic_of

FALSE = "P(false)"
"""Heading of the probability that the claim "B is better than A" is false."""

RIGHT = ("difference", "95 % interval", FALSE, "p", "superiority")
"""Columns of texts that are numbers."""

_COUNTS = (
    "wins",
    "ties",
    "losses",
    "units",
    "infinite",
    "both_infinite",
    "missed_a",
    "missed_b",
    "others",
    "superiority",
)


class Comparisons(dict[str, Comparison]):
    """A comparison for each pair of lines, by what the two have in common; together they show themselves as the
    terminal shows them. a, b: the lines.
    """

    def __init__(self, found: Mapping[str, Comparison], a: str, b: str) -> None:
        super().__init__(found)
        self.a, self.b = a, b

    @property
    def parts(self) -> list[Part]:
        """What people see: tables, each definition once, and what to know of single pairs."""
        a, b = self.a, self.b
        tables = comparison_tables(self, a, b)
        return [heading(self, a, b), *tables, *definitions(self, a, b), *remarks(self, a, b)]

    def __str__(self) -> str:
        return as_text(self.parts)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return as_html(self.parts)


def heading(found: Mapping[str, Comparison], a: str, b: str) -> str:
    """What the numbers are, once for all tables."""
    one = next(iter(found.values()))
    settings, only = one.settings, one.selection
    what = described(settings.metric) + (", its distance from 0," if best(settings.metric) == "zero" else "")
    common = _common(found)
    among = f" ({', '.join(common.values())})" if common else ""
    return (
        f"{what} of {b} minus {a}{among}, positive if {b} is better: {settings.how.description}; "
        f"{settings.policy.describe()}{f'; {only}' if only else ''}"
    )


def comparison_tables(found: Mapping[str, Comparison], a: str, b: str) -> list[Section]:
    """The tables for people: by data set, by size, and the targets that differ most."""
    heads = [name for name in _heads(found) if name not in _common(found)]
    datasets, sizes = (_stacked(found, part) for part in ("datasets", "sizes"))
    pixels = all(one.pixels for one in found.values())
    unit, text_of = ("pixels", _whole) if pixels else ("ml", _three)
    bounds = pl.format("{} to {}", *(pl.col(name).map_elements(text_of, pl.String) for name in ("from_ml", "to_ml")))
    places, kinds = [*heads, "dataset"], [*heads, "size", unit]
    tables = [
        Section("", _in_words(datasets, places), _marks(datasets, a, b), places, RIGHT),
        Section(
            "by size, all targets with equal weight:",
            _in_words(sizes.with_columns(bounds.alias(unit)), kinds),
            _marks(sizes, a, b),
            kinds,
            RIGHT,
        ),
        *(_most(head if heads else "", one, a, b) for head, one in found.items()),
    ]
    return [one for one in tables if not one.frame.is_empty()]


def _most(head: str, one: Comparison, a: str, b: str) -> Section:
    who = ["dataset", "case", "target"]
    sides = [pl.col(name).alias(head) for name, head in zip("ab", (a, b), strict=True)]
    frame = one.extremes.select(*who, *sides, _signed("difference").alias("difference"))
    title = f"the targets that differ most{f', {head}' if head else ''}:"
    return Section(title, frame, keys=who, right=RIGHT)


def _marks(table: pl.DataFrame, a: str, b: str) -> Footnotes:
    """Marks at differences that are infinite, of misses, or of few patients, which `definitions` explains, once."""
    few = replace(few_patients(table["fewest"], ["difference"]), texts={})
    texts = [
        Infinite.beside(row).words(signed) if row["infinite"] or row["both_infinite"] else _missed(row, a, b)
        for row in table.iter_rows(named=True)
    ]
    return text_marks(texts, "difference").with_marks(few)


def _missed(row: Mapping[str, Any], a: str, b: str) -> str:
    """How many misses with a finite value are behind a difference; empty: none."""
    one, other = row["missed_a"], row["missed_b"]
    return f"{MISSED} in {one} of {row['units']} by {a}, in {other} by {b}" if one or other else ""


def definitions(found: Mapping[str, Comparison], a: str, b: str) -> list[str]:
    """What the columns and marks mean."""
    one = next(iter(found.values()))
    tests = one.datasets.filter(pl.col("dataset") != AVERAGE)["p"].count()
    infinite = "" if all(part["infinite"].sum() == 0 for part in _parts(found)) else ", nor of infinite differences"
    corrected = f"; those of single data sets are corrected for {tests} of them (Holm)" if tests > 1 else ""
    return [
        f"better, worse: targets, for each seed, on which {b} differs by more than {one.settings.tie:g}; "
        "superiority: share of those on which it is better, a tie counts half",
        f"interval: over patients, none for fewer than {FEW} of a data set{infinite}; p: signed ranks of patients, "
        f"none for fewer than {FEW}{corrected}",
        f'{FALSE}: probability that the claim "{b} is better than {a}" is false (Claims Reloaded, arXiv 2505.04720); '
        f"that of the opposite claim is 1 - {FALSE}",
        *few_patients(pl.concat(part["fewest"] for part in _parts(found)), ()).lines(),
    ]


def _parts(found: Mapping[str, Comparison]) -> list[pl.DataFrame]:
    return [part for one in found.values() for part in (one.datasets, one.sizes)]


def remarks(found: Mapping[str, Comparison], a: str, b: str) -> list[str]:
    """What to know of single pairs: other prompts, few patients, what is not compared, where B is worse or better."""
    by_text: dict[str, list[str]] = {}
    for head, one in found.items():
        for text in _remarks(one, a, b):
            by_text.setdefault(text, []).append(head)
    return [text if len(heads) == len(found) else f"{'; '.join(heads)}: {text}" for text, heads in by_text.items()]


def _remarks(one: Comparison, a: str, b: str) -> list[str]:
    lines = [f"not compared: {one.only_a} only in {a}, {one.only_b} only in {b}"] if one.only_a or one.only_b else []
    verdict = "worse" if one.worse else "better" if one.better else ""
    why = f"the interval of the average is {'below' if one.worse else 'above'} 0"
    if one.by_ranks:
        why = "so say the signed ranks of patients; an average of infinite differences has no interval"
        lines += [] if verdict else ["differences are infinite, and the signed ranks of patients tell neither better"]
    return [*lines, *one.warnings, *([f"{b} is {verdict}: {why}"] if verdict else [])]


def published_parts(claims: PublishedClaims, a: str, b: str) -> list[Part]:
    """What people see of our numbers beside published ones, and what the probabilities assume."""
    frame = claims.frame
    assumed = [name for name in frame.columns if name.startswith("r=")]
    shown = frame.with_columns(
        *(pl.col(name).map_elements(probability, pl.String).fill_null("-") for name in assumed), _signed("difference")
    )
    title = f"dice of {b} beside {a} as published:"
    return [Section(title, shown, claims.notes, frame.columns[:4], frame.columns[4:]), *claims.said]


def long(found: Mapping[str, Comparison]) -> pl.DataFrame:
    """All data sets and sizes of all pairs with all digits, for files."""
    heads = _heads(found)
    parts = [_stacked(found, "datasets").with_columns(size=pl.lit(None, pl.String))]
    parts += [_stacked(found, "sizes").with_columns(dataset=pl.lit("all"))]
    columns = [
        *heads,
        "dataset",
        "size",
        "difference",
        "low",
        "high",
        "false",
        "patients",
        "cases",
        "targets",
        "fewest",
    ]
    table = pl.concat(parts, how="diagonal_relaxed")
    return table.select(*columns, *_COUNTS, "rank_biserial", "p", "p_holm", "sd_a", "sd_b", "correlation")


def as_json(found: Mapping[str, Comparison], a: str, b: str) -> list[dict[str, Any]]:
    """All of each pair, each number as `json_number`."""
    return [
        {
            **{"a": a, "b": b, "shared": dict(one.shared), "metric": one.settings.metric, "round": one.settings.round},
            **{"aggregation": one.settings.how.name, "failures": one.settings.policy.describe()},
            **{"selection": one.selection},
            **{part: plain(getattr(one, part)) for part in ("datasets", "sizes", "extremes")},
            **{"only_a": one.only_a, "only_b": one.only_b, "adapted": dict(zip("ab", one.adapted, strict=True))},
            **{"warnings": list(one.warnings), "worse": one.worse, "better": one.better},
        }
        for one in found.values()
    ]


def _heads(found: Mapping[str, Comparison]) -> list[str]:
    return list(dict.fromkeys(name for one in found.values() for name in one.shared))


def _common(found: Mapping[str, Comparison]) -> dict[str, str]:
    """What all pairs have in common, so that it needs no column."""
    values = {name: {one.shared.get(name, "") for one in found.values()} for name in _heads(found)}
    return {name: next(iter(of)) for name, of in values.items() if len(of) == 1}


def _stacked(found: Mapping[str, Comparison], part: str) -> pl.DataFrame:
    """One part of all comparisons, with a column for each thing that tells pairs apart."""
    frames = []
    for one in found.values():
        frame: pl.DataFrame = getattr(one, part)
        if part == "datasets" and frame.height == 2:  # a single data set needs no average
            frame = frame.filter(pl.col("dataset") != AVERAGE)
        frames.append(frame.select(*(pl.lit(one.shared.get(name, "")).alias(name) for name in _heads(found)), pl.all()))
    return pl.concat(frames)


def _in_words(table: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """The numbers of data sets or sizes as people read them."""
    interval = pl.when(pl.col("low").is_not_null()).then(pl.format("[{}, {}]", _signed("low"), _signed("high")))
    both = pl.when(pl.col("infinite") > 0).then(pl.lit("±inf")).otherwise(pl.lit("-"))  # infinite ones of both signs
    columns = [_signed("difference").fill_null(both)]
    columns += [interval.fill_null("-").alias("95 % interval")] if table["low"].count() else []
    false = pl.col("false").map_elements(probability, pl.String)
    columns += [false.fill_null("-").alias(FALSE)] if table["false"].count() else []
    if "p_holm" in table.columns and table["p_holm"].count():
        columns.append(pl.col("p_holm").map_elements(lambda p: f"{p:.2g}", pl.String).fill_null("-").alias("p"))
    counts = [pl.col("wins").alias("better"), pl.col("losses").alias("worse"), pl.col("units").alias("of")]
    counts += [pl.col("superiority").map_elements(lambda share: f"{share:.2f}", pl.String)]
    counts += [pl.col("both_infinite").alias("both infinite")] if table["both_infinite"].sum() else []
    return table.select(*keys, *columns, *counts)


def probability(value: float) -> str:
    """A probability with three decimals; what is neither impossible nor sure is not rounded to it."""
    return "<0.001" if 0 < value < 0.001 else ">0.999" if 0.999 < value < 1 else f"{value:.3f}"


def _signed(name: str) -> pl.Expr:
    return pl.col(name).map_elements(signed, pl.String)


def _three(value: float) -> str:
    return f"{value:.3g}"


def _whole(value: float) -> str:
    return f"{1000 * value:.0f}"  # a pixel counts as 1 mm³


def make_comparison(
    folder: Path,
    a: str,
    b: str,
    *,
    metric: str,
    round: int | None,
    aggregation: str,
    failed: str,
    empty: str,
    by: str = "",
    size_bins: str | Sequence[float] = "",
    selection: Selection = EVERYTHING,
) -> Comparisons:
    """A comparison for each pair of lines, by what the two have in common; a, b and by as for `contests`.

    metric: empty is the number that leads in the protocols of the rows, averaged as they do, if they agree; else dice.

    Raises:
        IntraBenchError: a name or an option is unknown, or nothing is in common.
    """
    asked = statistic_of(metric, aggregation, failed, empty, round, size_bins)
    parts = names_in(by)
    lines = contests(folder, a, b, asked, selection, parts)
    played = pl.concat((side for line in lines for side in (line.a, line.b)), how="diagonal_relaxed")
    places = folders_of(folder, a, b)
    check_round(played, round, *places)
    ids = {id for line in lines for side in (line.a, line.b) for id in side["protocol"]}
    statistic = asked.of_protocols(ids)
    settings = Settings(statistic.metric, round, statistic.how, statistic.policy, ends=statistic.ends)
    pictures = {name for place in places for name in pictures_of(datasets_of(place, played))}
    found = {}
    for contest in lines:
        comparison = compare(contest.a, contest.b, settings, (a, b))
        protocols = [*contest.a["protocol"], *contest.b["protocol"]]
        others = (*filter(None, [contest.unlike]), *averaged_otherwise(protocols, settings.how), *contest.left_out)
        found[contest.head] = replace(
            comparison,
            warnings=(*comparison.warnings, *others),
            shared=contest.shared,
            selection=about(selection, settings.metric, parts),
            pixels={*contest.a["dataset"], *contest.b["dataset"]} <= pictures,
        )
    return Comparisons(found, a, b)


def make_published_comparison(
    folder: Path,
    a: str,
    b: str,
    *,
    reference: str,
    correlation: Sequence[float],
    metric: str,
    round: int | None,
    aggregation: str,
    failed: str,
    empty: str,
    selection: Selection = EVERYTHING,
) -> PublishedClaims:
    """The model B of a results folder beside A, a model of the published numbers called `reference`.

    Raises:
        IntraBenchError: a name or an option is unknown, or nothing is in common.
    """
    if metric not in ("", "dice"):
        raise IntraBenchError("published numbers are Dice; omit --metric with --reference")
    statistic = statistic_of("dice", aggregation, failed, empty, round)
    rows, left_out = selected_rows(folder, selection.without_strata)
    rows = in_strata(rows, statistic, selection, ())
    found = published_claims(
        rows, a, b, statistic.how, statistic.policy, name=reference, round=round, correlations=correlation
    )
    found = replace(found, said=[*filter(None, [about(selection, "dice")]), *found.said, *left_out])
    return replace(found, frame=ResultTable.of(found.frame, published_parts(found, a, b)))
