"""Tables of how difficult targets are, and rows divided by that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from intrabench.errors import IntraBenchError, several
from intrabench.reporting.footnotes import Place
from intrabench.reporting.table import Layout
from intrabench.specs.specs import nearest
from intrabench.statistics.click_robustness import is_real
from intrabench.statistics.difficulty import (
    STRATA,
    STRATUM,
    WITHIN_LABEL,
    difficulties,
    difficulty_table,
    played_by_few,
    with_strata,
)
from intrabench.statistics.measures import best, described, scored_by
from intrabench.statistics.sources import Source
from intrabench.target import WHOLE_CASE

_BY = ("dataset", "label", *STRATA)
"""What targets can be put together by."""


def make_difficulty(
    rows: pl.DataFrame, layout: Layout, by: Sequence[str], of: Source | None, users: bool, interval: bool
) -> tuple[pl.DataFrame, str, list[str], list[Place]]:
    """A line per target, or per combination of `by`; its heading, what is to be known of it, and its notes.

    of: what varies within a model and prompter; None: prompters and seeds within a model. users: only real first
    clicks.

    Raises:
        IntraBenchError: `by` is not of targets, there is no interval of single targets, or nothing varies.
    """
    for name in by:
        if name not in ("target", *_BY):
            raise IntraBenchError(
                f"--difficulty is of targets, so {name!r} cannot define its lines{nearest(name, _BY)}; give --by with "
                f"{', '.join(_BY)}, or omit it"
            )
    whole = not by or "target" in by
    if whole and interval:
        raise IntraBenchError("a single target has no interval over patients; give --by dataset or label, too")
    if users:
        real = [name for name in rows["prompter"].unique() if is_real(name)]
        rows, layout = rows.filter(pl.col("prompter").is_in(real)), replace(layout, round=0)
        if rows.is_empty():
            raise IntraBenchError("no model was given real first clicks; omit --users, or run --prompter recorded:FILE")
    each = difficulties(layout.measured(rows), layout.metric.partition(":")[0], best(layout.metric), of)
    table = each.drop("patient") if whole else difficulty_table(each, by, best(layout.metric), interval)
    return table, _heading(layout, of, users, whole), played_by_few(each), _places(rows, layout) if whole else []


def _heading(layout: Layout, of: Source | None, users: bool, whole: bool) -> str:
    inside = f"the {of.level}s of a prompter" if of else "clicks" if users else "prompters and seeds"
    lines = "models and prompters" if of else "models"
    after = " after the first click" if users else ""
    means = "" if whole else "; means over targets"
    return (
        f"{described(layout.metric)}{after} of targets, the hardest first: mean over {lines}; sd over all of them and "
        f"{inside}; spread: sd over {inside}, mean over {lines}; nsr: spread over mean in percent{means}; "
        f"{layout.policy.describe()}"
    )


def _places(rows: pl.DataFrame, layout: Layout) -> list[Place]:
    keys = ["dataset", "case", "target"]
    return [Place(notes(rows, keys), keys, ["mean"]) for notes in (layout.adapted, layout.cut_short)]


def divided(rows: pl.DataFrame, layout: Layout) -> tuple[pl.DataFrame, list[str]]:
    """The rows with the columns `STRATA`, and what they mean; without them if the layout has neither of these columns.

    They are of the score that the metric is made of, after the round of the layout, over all these rows. Sessions
    without one are left out.
    """
    names = [name for name in STRATA if name in (*layout.by, layout.columns)]
    if not names:
        return rows, []
    of = replace(layout, metric=scored_by(layout.metric))
    found = with_strata(rows, difficulties(of.measured(rows), of.metric, best(of.metric)))
    kept = found.drop_nulls(names)
    lost = found.filter(pl.col(names[0]).is_null()).select("dataset", "case", "target").unique()
    cases = lost.filter(pl.col("target") == WHOLE_CASE).height
    few = [f"left out, for nobody knows their targets: {several(cases, 'case')} without data"] if cases else []
    among = {STRATUM: "of a data set", WITHIN_LABEL: "with the same label in a data set"}
    by = f"by the mean {of.metric} of the models in this table"
    return kept, [*(f"{name}: thirds of the targets {among[name]} {by}" for name in names), *few]
