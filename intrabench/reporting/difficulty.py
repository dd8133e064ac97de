"""Tables of how difficult targets are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.reporting.footnotes import Place
from intrabench.reporting.table import Layout
from intrabench.specs.specs import nearest
from intrabench.statistics.click_robustness import is_real
from intrabench.statistics.difficulty import PARTS, difficulties, difficulty_table, played_by_few
from intrabench.statistics.measures import best, described
from intrabench.statistics.sources import Source

_BY = ("dataset", *PARTS)
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
