"""The comparisons that options ask for, by the names that they have on the command line and in `intrabench.compare`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.reporting.reference.claims import PublishedClaims, published_claims
from intrabench.results.current import current
from intrabench.results.origin import datasets_of
from intrabench.statistics.compare import Comparison, Settings, compare
from intrabench.statistics.contests import contests, folders_of
from intrabench.statistics.evaluation import pictures_of
from intrabench.statistics.soundness import check_round, some_rows
from intrabench.statistics.statistic import averaged_otherwise, statistic_of


def make_comparison(
    folder: Path, a: str, b: str, *, metric: str, round: int | None, aggregation: str, failed: str, empty: str
) -> dict[str, Comparison]:
    """A comparison for each pair of lines, by what the two have in common; a and b as for `contests`.

    metric: empty is the number that leads in the protocols of the rows, averaged as they do, if they agree; else dice.

    Raises:
        IntraBenchError: a name or an option is unknown, or nothing is in common.
    """
    asked = statistic_of(metric, aggregation, failed, empty, round)
    lines = contests(folder, a, b, asked.how, round)
    played = pl.concat((side for line in lines for side in (line.a, line.b)), how="diagonal_relaxed")
    places = folders_of(folder, a, b)
    check_round(played, round, *places)
    ids = {id for line in lines for side in (line.a, line.b) for id in side["protocol"]}
    statistic = asked.of_protocols(ids)
    settings = Settings(statistic.metric, round, statistic.how, statistic.policy)
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
            pixels={*contest.a["dataset"], *contest.b["dataset"]} <= pictures,
        )
    return found


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
) -> PublishedClaims:
    """The model B of a results folder beside A, a model of the published numbers called `reference`.

    Raises:
        IntraBenchError: a name or an option is unknown, or nothing is in common.
    """
    if metric not in ("", "dice"):
        raise IntraBenchError("published numbers are Dice; omit --metric with --reference")
    statistic = statistic_of("dice", aggregation, failed, empty, round)
    rows, left_out = current(some_rows(folder))
    found = published_claims(
        rows, a, b, statistic.how, statistic.policy, name=reference, round=round, correlations=correlation
    )
    return replace(found, said=[*found.said, *left_out])
