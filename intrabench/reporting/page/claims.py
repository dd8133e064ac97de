"""The report's claims: how sure it is that the best model of a prompter is better than each other one."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.reporting.comparison import probability
from intrabench.reporting.footnotes import FEW_MARK, FEW_NOTE
from intrabench.reporting.page.grid import Cell, Grid, digits_of, number, word
from intrabench.reporting.page.leading_score import LeadingScore
from intrabench.statistics.aggregate import Aggregation, aggregate
from intrabench.statistics.claims import ENOUGH, differences
from intrabench.statistics.resample import AVERAGE, FEW, with_average
from intrabench.statistics.scores import UNIT
from intrabench.statistics.soundness import check_mixable

CAPTION = (
    "Claims: within each prompter, the model with the best mean is better than each other one. Difference: by how much "
    "its mean {title} is better, on the targets and seeds that both have, and below it the 95 % interval (t, over "
    "patients). Probability: that the claim is false (Claims Reloaded, arXiv 2505.04720). With fewer than "
    f"{FEW} patients of a data set there is neither."
)
HEADS = ("The best", "Is better than", "Data sets", "Patients", "Difference", "Probability that this is false")


def claim_section(scored: pl.DataFrame, lines: pl.DataFrame, lead: LeadingScore) -> dict[str, Any]:
    """What the page shows: the table `claims`, None if nothing can be claimed, and `claims_caption`.

    scored: `scores` or `measured` of the score that leads, with the column ``line``. The best model of a prompter is
    that with the best mean over all data sets. Nothing can be claimed of fewer than two models with a prompter, of too
    few patients, and of protocols with different definitions.
    """
    with suppress(IntraBenchError):
        check_mixable(scored, lead.column)
        return _section(scored, lines, lead)
    return {"claims": None, "claims_caption": ""}


def _section(scored: pl.DataFrame, lines: pl.DataFrame, lead: LeadingScore) -> dict[str, Any]:
    names = dict(lines.select("line", "name").iter_rows())
    sign = -1 if lead.best == "low" else 1
    rows: list[list[Cell]] = []
    for group in lines.partition_by("shown", maintain_order=True):
        within = scored.filter(pl.col("line").is_in(group["line"].to_list()))
        means = with_average(aggregate(within, ["line"], lead.how), ["line"], within["dataset"].n_unique())
        means = means.filter((pl.col("dataset") == AVERAGE) & pl.col("value").is_finite())
        if len(means) < 2:
            continue
        best = means.sort(-sign * pl.col("value"), "line")["line"][0]
        for one in against(within, best, lead.how, sign).iter_rows(named=True):
            rows.append([word(names[best]), *_row(one, names, lead)])
    if all(row[-1].value is None for row in rows):
        return {"claims": None, "claims_caption": ""}
    marked = f" {FEW_MARK}: {FEW_NOTE}." if any(cell.note for row in rows for cell in row) else ""
    return {"claims": Grid("claims", HEADS, rows), "claims_caption": CAPTION.format(title=lead.title) + marked}


def against(scored: pl.DataFrame, best: int, how: Aggregation, sign: int = 1) -> pl.DataFrame:
    """`differences` of the best line from each other `line`, averaged over the data sets that both have; `datasets`.

    sign: -1 if low values are best, so that a difference says by how much the best line is better.
    The pairs whose claim is most likely false come first.
    """
    needed = ("line", *UNIT, "patient", "value", "failed", "not_applicable")
    known = scored.select(needed).filter(pl.col("value").is_finite())
    first = known.filter(pl.col("line") == best).select(*UNIT, best="value")
    units = known.filter(pl.col("line") != best).join(first, on=UNIT, nulls_equal=True)
    units = units.with_columns(value=sign * (pl.col("best") - pl.col("value")))
    found = []
    units = units.with_columns(_shared=pl.col("dataset").unique().sort().str.join("\n").over("line"))
    for alike in units.partition_by("_shared"):
        every = differences(alike.drop("_shared"), ["line"], how).filter(pl.col("dataset") == AVERAGE)
        found.append(every.with_columns(datasets=pl.lit(alike["dataset"].n_unique())))
    return (
        pl.concat(found).sort("false", "line", descending=[True, False], nulls_last=True) if found else pl.DataFrame()
    )


def _row(one: dict[str, Any], names: dict[int, str], lead: LeadingScore) -> list[Cell]:
    mark = FEW_MARK if one["low"] is not None and one["fewest"] < ENOUGH else ""
    interval = (
        "" if one["low"] is None else f"{digits_of(one['low'], lead.digits)} to {digits_of(one['high'], lead.digits)}"
    )
    false = Cell("–") if one["false"] is None else Cell(probability(one["false"]), one["false"])
    difference = number(one["value"], lead.digits, interval, note=mark)
    return [word(names[one["line"]]), number(one["datasets"]), number(one["patients"]), difference, false]
