"""The report's panel of how difficult targets are: data sets, thirds of the targets, and pictures of the hardest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.mask import Mask
from intrabench.metrics.base import Best, merit
from intrabench.reporting.page.grid import Cell, Grid, digits_of, interval_text, number, word
from intrabench.reporting.page.leading_score import LeadingScore
from intrabench.reporting.page.tables import Notes, thirds_grid
from intrabench.reporting.page.viewer import picture, stored_case
from intrabench.results.masks import read_masks
from intrabench.results.schema import STRATUM, THIRDS
from intrabench.results.selection import Selection
from intrabench.statistics.difficulty import NUMBERS, difficulties, difficulty_table, with_strata
from intrabench.statistics.evaluation import Evaluation
from intrabench.statistics.infinite import pooled
from intrabench.statistics.scores import TARGET, Scale, scores
from intrabench.target import WHOLE_CASE

PICTURES, LISTED = 4, 20
"""So many of the hardest targets of each data set are drawn, and listed."""


def difficulty_panel(evaluation: Evaluation, lead: LeadingScore, notes: Notes, views: int) -> dict[str, Any]:
    """What the page shows of the score of a round that leads; nothing if there are fewer targets than thirds, or if
    some of these are selected.

    views: the most targets of a data set whose scans may be in the page.
    """
    scored = scores(evaluation.rows, lead.scale.column, policy=lead.policy)
    each = divisible(scored, lead.scale, evaluation.selection)
    if each is None:
        return {"difficulty": None}
    means = by_difficulty(evaluation.scored, each, lead.scale_digits)
    return {
        "difficulty": _sets(each, lead),
        "difficulty_thirds": thirds_grid("difficulty-thirds", means, STRATUM, THIRDS, evaluation.lines, notes, lead),
        "difficulty_targets": _targets(each, lead),
        "hardest_listed": LISTED,
        "hardest": _pictures(evaluation, scored, each, lead, min(views, PICTURES)),
    }


def divisible(scored: pl.DataFrame, scale: Scale, selection: Selection) -> pl.DataFrame | None:
    """`difficulties` of these `scores`; None if there are fewer targets than thirds, or some of these are selected."""
    targets = scored.filter(pl.col("target") != WHOLE_CASE).drop_nulls("value").select(TARGET).n_unique()
    if targets < len(THIRDS) or selection.strata:
        return None
    return difficulties(scored, scale.column, scale.best)


def by_difficulty(scored: pl.DataFrame, each: pl.DataFrame, digits: int) -> pl.DataFrame:
    """The means of each line by `STRATUM`, and what this is called, as ``hard, 0.12 to 0.45 (9)``, in ``show``.

    scored: values. each: `difficulties`, whose means have so many decimals.
    """
    thirds = with_strata(scored, each).drop_nulls([STRATUM, "value"])
    return pooled(thirds, ["line", STRATUM]).join(_shown(each, digits), on=STRATUM).sort("line", STRATUM)


def _sets(each: pl.DataFrame, lead: LeadingScore) -> Grid:
    """A row per data set."""
    rows = []
    for one in difficulty_table(each, [], lead.scale.best, interval=True).iter_rows(named=True):
        rows.append([word(one["dataset"]), number(one["targets"]), *_numbers(one, lead)])
    return Grid("difficulty-sets", ["Data set", "Targets", *_heads(lead)], rows)


def _targets(each: pl.DataFrame, lead: LeadingScore) -> Grid:
    """A row for each of the hardest targets."""
    rows = [
        [word(one[name]) for name in ("dataset", "case", "target")] + _numbers(one, lead)
        for one in each.filter(pl.col("rank") <= LISTED).iter_rows(named=True)
    ]
    return Grid("difficulty-targets", ["Data set", "Case", "Target", *_heads(lead)], rows, headed=3)


def _heads(lead: LeadingScore) -> list[str]:
    return [f"Mean {lead.scale.head}", "Deviation", "Within a model", "NSR"]


def _numbers(one: Mapping[str, Any], lead: LeadingScore) -> list[Cell]:
    *scores, noise = NUMBERS
    found = [
        number(one[name], lead.scale_digits, interval_text(*_ends(one, name), lead.scale_digits)) for name in scores
    ]
    nsr = one[noise]
    return [*found, Cell("–") if nsr is None else Cell(f"{nsr:.1f} %", nsr, interval_text(*_ends(one, noise), 1))]


def _ends(one: Mapping[str, Any], name: str) -> tuple[float | None, float | None]:
    return one.get(f"{name}_low"), one.get(f"{name}_high")


def _shown(each: pl.DataFrame, decimals: int) -> pl.DataFrame:
    """By third what it is called, with the means that it has."""
    ends = each.group_by(STRATUM).agg(pl.col("mean").min().alias("low"), pl.col("mean").max().alias("high"), pl.len())
    rows = [
        (third, f"{third}, {' to '.join(dict.fromkeys(digits_of(end, decimals) for end in ends))} ({count})")
        for third, *ends, count in ends.iter_rows()
    ]
    return pl.DataFrame(rows, schema={STRATUM: each.schema[STRATUM], "show": pl.String}, orient="row")


def _pictures(
    evaluation: Evaluation, scored: pl.DataFrame, each: pl.DataFrame, lead: LeadingScore, most: int
) -> list[dict[str, Any]]:
    """A picture of each of the hardest targets, on its largest slice, with the best answer if that was kept."""
    found = []
    for one in each.filter(pl.col("rank") <= most).iter_rows(named=True):
        here = scored.filter(*(pl.col(name) == one[name] for name in ("dataset", "case", "target")))
        try:
            drawn, answered = _picture(evaluation, one, here, lead.scale.best)
        except IntraBenchError:  # the viewer tells why a target cannot be shown
            continue
        digits = lead.scale_digits
        found.append(
            {
                **{name: one[name] for name in ("dataset", "case", "target")},
                "picture": drawn,
                "answered": answered,
                "numbers": f"{digits_of(one['mean'], digits)} ± {digits_of(one['sd'], digits)}",
            }
        )
    return found


def _picture(evaluation: Evaluation, one: Mapping[str, Any], played: pl.DataFrame, best: Best) -> tuple[str, bool]:
    """The address of a picture in the page, and whether it has an answer."""
    dataset = evaluation.datasets[one["dataset"]]
    stored = stored_case(one["dataset"], one["case"], set(played["dataset_version"]), dataset)
    if isinstance(stored, str):
        raise IntraBenchError(stored)
    order = played.drop_nulls("value").sort(merit(pl.col("value"), best), descending=True)
    answer = _last_mask(evaluation, order["session"].to_list())
    target = stored.targets([one["target"]])[0]
    return picture(stored.volume, target, answer), answer is not None


def _last_mask(evaluation: Evaluation, sessions: list[str]) -> Mask | None:
    """The last answer of the first of the sessions; None if it was not kept."""
    masks = read_masks(evaluation.root, sessions[0]) if sessions else []
    return masks[-1] if masks else None
