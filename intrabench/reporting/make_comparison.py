"""The comparisons that options ask for, by the names that they have on the command line and in `intrabench.compare`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from intrabench.reporting.numbers import chosen
from intrabench.reporting.table import layout_of
from intrabench.statistics.compare import Comparison, Settings, compare
from intrabench.statistics.contests import contests


def make_comparison(
    folder: Path, a: str, b: str, *, metric: str, round: int | None, aggregation: str, failed: str, empty: str
) -> dict[str, Comparison]:
    """A comparison for each pair of lines, by what the two have in common; a and b as for `contests`.

    metric: empty is the number that leads in the protocols of the rows, averaged as they do, if they agree; else dice.

    Raises:
        IntraBenchError: a name or an option is unknown, or nothing is in common.
    """
    layout = layout_of(metric or "dice", "", "dataset", round, aggregation, failed, empty)
    lines = contests(folder, a, b)
    ids = {id for line in lines for side in (line.a, line.b) for id in side["protocol"]}
    metric, how = chosen(ids, metric, layout.how)
    settings = Settings(metric, round, how, layout.policy)
    found = {}
    for contest in lines:
        comparison = compare(contest.a, contest.b, settings, (a, b))
        others = (*filter(None, [contest.unlike]), *contest.left_out)
        found[contest.head] = replace(comparison, warnings=(*comparison.warnings, *others), shared=contest.shared)
    return found
