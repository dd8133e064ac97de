"""Where answers go wrong: slice by slice, and whether they fit another target better than their own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from intrabench.files.names import one_line
from intrabench.metrics.base import Metric
from intrabench.metrics.beyond_ends import BeyondEnds
from intrabench.metrics.dice_away import DiceAway
from intrabench.metrics.dice_prompted import DicePrompted
from intrabench.metrics.other_targets import FITS_BETTER
from intrabench.reporting.page.grid import Grid
from intrabench.reporting.page.tables import Notes, metric_grid
from intrabench.statistics.aggregate import Aggregation
from intrabench.statistics.scores import states

NAMED, SHOWN = 5, 60
"""How many targets a sentence names, and how much of each name it shows."""


def slice_grid(
    scored: Mapping[Metric, pl.DataFrame], lines: pl.DataFrame, how: Aggregation, notes: Notes
) -> Grid | None:
    """Dice by distance from the prompted slices, and voxels beyond the ends; None if nobody asked for these metrics.

    scored: `scores` by metric, of all of them.
    """
    places = {one: place for one in scored if (place := _place(one)) is not None}
    if not places:
        return None
    return replace(
        metric_grid({one: scored[one] for one in sorted(places, key=lambda one: places[one])}, lines, how, notes),
        id="slices",
    )


def _place(metric: Metric) -> tuple[float, float] | None:
    """The order of columns: from the prompted slices to those beyond the ends; None: not slice by slice."""
    match metric:
        case DicePrompted():
            return 0, 0
        case DiceAway(least=least, most=most):
            return least, most or math.inf
        case BeyondEnds():
            return math.inf, 0
    return None


def other_targets(rows: pl.DataFrame, lines: pl.DataFrame) -> list[str]:
    """A sentence for each line with answers, at the ends of sessions, that fit another target better."""
    if FITS_BETTER not in rows.columns:
        return []
    looked = states(rows).filter(pl.col(FITS_BETTER).is_not_null())
    sentences = []
    for line, name in lines.select("line", "name").iter_rows():
        mine = looked.filter(line=line)
        found = (
            mine.filter(pl.col(FITS_BETTER) != "")[FITS_BETTER]
            .value_counts()
            .sort(["count", FITS_BETTER], descending=[True, False])
        )
        if not found.is_empty():
            which = [f"{one_line(text[:SHOWN])} {count}" for text, count in found.head(NAMED).iter_rows()]
            more = [f"and {len(found) - NAMED} more"] if len(found) > NAMED else []
            sentences.append(
                f"{name}: in {found['count'].sum()} of {len(mine)} sessions the answer fits another target better: "
                f"{', '.join([*which, *more])}."
            )
    return sentences
