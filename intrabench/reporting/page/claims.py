"""The report's claims: how sure it is that the best line is better than each other one."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.reporting.comparison import probability
from intrabench.reporting.footnotes import FEW_MARK, FEW_NOTE
from intrabench.reporting.page.grid import Cell, Grid, digits_of, number, word
from intrabench.statistics.aggregate import Aggregation, aggregate
from intrabench.statistics.claims import ENOUGH, differences
from intrabench.statistics.resample import AVERAGE, FEW, with_average
from intrabench.statistics.scores import UNIT
from intrabench.statistics.soundness import check_mixable

CAPTION = (
    "Difference of Dice between the best line, {best}, and each other one, on the targets and seeds that both have, "
    "with its interval of 95 % (t, over patients); and the probability that the claim “the best line is better” is "
    f"false (Claims Reloaded, arXiv 2505.04720). Fewer than {FEW} patients of a data set have neither."
)


def claim_section(scored: pl.DataFrame, lines: pl.DataFrame, how: Aggregation) -> dict[str, Any]:
    """What the page shows: the table `claims`, None without two lines that can be compared, and `claims_caption`.

    scored: `scores` with the column ``line``. The best line is that with the highest mean over all data sets. There is
    no table either if protocols have different definitions.
    """
    with suppress(IntraBenchError):
        check_mixable(scored)
        return _section(scored, lines, how)
    return {"claims": None, "claims_caption": ""}


def _section(scored: pl.DataFrame, lines: pl.DataFrame, how: Aggregation) -> dict[str, Any]:
    means = with_average(aggregate(scored, ["line"], how), ["line"], scored["dataset"].n_unique())
    means = means.filter(pl.col("dataset") == AVERAGE).sort(-pl.col("value"), "line")
    found = against(scored, means["line"][0], how) if len(means) else pl.DataFrame()
    if found.is_empty():
        return {"claims": None, "claims_caption": ""}
    names = dict(lines.select("line", "name").iter_rows())
    marked = bool((found["fewest"] < ENOUGH).any())
    caption = CAPTION.format(best=names[means["line"][0]]) + (f" {FEW_MARK}: {FEW_NOTE}." if marked else "")
    grid = Grid("claims", HEADS, [_row(one, names) for one in found.iter_rows(named=True)])
    return {"claims": grid, "claims_caption": caption}


HEADS = ("The best line is better than", "Data sets", "Patients", "Difference", "Probability that this is false")


def against(scored: pl.DataFrame, best: int, how: Aggregation) -> pl.DataFrame:
    """`differences` of the best line from each other `line`, averaged over the data sets that both have; `datasets`.

    The pairs whose claim is most likely false come first.
    """
    needed = ("line", *UNIT, "patient", "value", "failed", "not_applicable")
    known = scored.select(needed).filter(pl.col("value").is_finite())
    first = known.filter(pl.col("line") == best).select(*UNIT, best="value")
    units = known.filter(pl.col("line") != best).join(first, on=UNIT, nulls_equal=True)
    units = units.with_columns(value=pl.col("best") - pl.col("value"))
    found = []
    for (_,), pair in units.partition_by("line", as_dict=True).items():
        one = differences(pair, ["line"], how).filter(pl.col("dataset") == AVERAGE)
        found.append(one.with_columns(datasets=pl.lit(pair["dataset"].n_unique())))
    return (
        pl.concat(found).sort("false", "line", descending=[True, False], nulls_last=True) if found else pl.DataFrame()
    )


def _row(one: dict[str, Any], names: dict[int, str]) -> list[Cell]:
    mark = FEW_MARK if one["fewest"] < ENOUGH else ""
    interval = "" if one["low"] is None else f"{digits_of(one['low'], 3)} to {digits_of(one['high'], 3)}"
    false = Cell("–") if one["false"] is None else Cell(probability(one["false"]), one["false"])
    difference = number(one["value"], 3, interval, note=mark)
    return [word(names[one["line"]]), number(one["datasets"]), number(one["patients"]), difference, false]
