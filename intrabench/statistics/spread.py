"""How much the score of a target varies over seeds, errors of the hand, or groups of clicks, and how bad it gets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from intrabench.errors import IntraBenchError, several
from intrabench.mask import Floats
from intrabench.metrics.base import Best
from intrabench.statistics.aggregate import Aggregation, aggregate
from intrabench.statistics.resample import AVERAGE, intervals, with_average
from intrabench.statistics.robustness import COUNTED_CLICKS, against, each_spread, noise
from intrabench.statistics.scores import TARGET
from intrabench.statistics.sources import Source, levels


def fields_of(of: Source, kind: str, best: Best) -> list[str]:
    """The columns of numbers; ``base`` and ``dsb`` only of sources with a base, ``nsr`` only of scores."""
    compared = ["dsb"] if of.base else []
    noise = [] if kind in COUNTED_CLICKS or best == "zero" else ["nsr"]
    return [*(["base"] if of.base else []), "mean", "sd", "worst", *compared, end_of(of), *noise]


def end_of(of: Source) -> str:
    """The column that compares the worst with the best: of ordered levels the first with the last."""
    return "dgr" if of.complete else "dwb"


def each_target(scored: pl.DataFrame, by: Sequence[str], of: Source, kind: str, best: Best) -> pl.DataFrame:
    """A row for each line and target that has a spread: `by`, the columns of a target, `fields_of`, ``levels``,
    and `value`, which is the mean.

    scored: `scores`. kind: of the metric, as `against` has it. A target needs two levels; where the levels are all that
    there are, all that its line has in the data set; and the base, if its line has one there.

    mean, sd and worst (the mean of the worst tenth) are of the levels. A sample of seeds or of errors has n - 1 in its
    sd, all groups have n, as published. dsb: the mean against the base; dgr: the least against the most probable group;
    dwb: the worst against the best tenth; nsr: sd over mean in percent. Where zero is best, all but mean, base and sd
    are of distances from it.

    Raises:
        IntraBenchError: no target has a spread, or numbers of clicks cannot be compared.
    """
    found, line = levels(scored, by, of), [*dict.fromkeys([*by, "dataset"])]
    target = list(dict.fromkeys([*by, *TARGET, "patient"]))
    has_base = pl.col("level").is_null()
    found = found.with_columns(
        levels=pl.col("level").drop_nulls().len().over(target),
        most=pl.col("level").drop_nulls().n_unique().over(line),
        lacks=has_base.any().over(line) & ~has_base.any().over(target),
    )
    enough = (pl.col("levels") == pl.col("most")) if of.complete else pl.lit(True)
    kept = found.filter((pl.col("levels") > 1) & enough & ~pl.col("lacks"))
    if kept.is_empty():
        raise IntraBenchError(
            f"no target was played with two {of.level}s of one line; run with, for example, {of.command}"
        )
    order = pl.col("level").cast(pl.Int64) if of.complete else pl.col("level")
    each = (
        kept.sort(order)
        .group_by(target, maintain_order=True)
        .agg(
            pl.col("value").filter(~has_base).alias("values"),
            pl.col("value").filter(has_base).first().alias("base"),
            pl.col("levels").first(),
            pl.col("failed").any(),
        )
    )
    each = each.with_columns(_numbers(each, of, kind, best), not_applicable=pl.lit(False))
    return each.with_columns(value="mean").drop("values").sort(target)


def _numbers(each: pl.DataFrame, of: Source, kind: str, best: Best) -> list[pl.Series]:
    """`fields_of`, from the values of each target in the order of their levels."""
    values = [one.to_numpy() for one in each["values"]]
    found = each_spread(values, 0 if of.complete else 1, best)
    mean, base = found["mean"], each["base"].fill_null(float("nan")).to_numpy()
    ends: tuple[Floats, Floats] = (found["worst_tenth"], found["best_tenth"])
    if of.complete:
        ends = np.array([one[0] for one in values]), np.array([one[-1] for one in values])
    far = (mean, base)
    if best == "zero":
        far, ends = (abs(mean), abs(base)), (abs(ends[0]), abs(ends[1]))
    numbers = {
        "base": base,
        "mean": mean,
        "sd": found["sd"],
        "worst": found["worst_tenth"],
        "dsb": against(kind, *far),
        end_of(of): against(kind, *ends),
        "nsr": 100 * noise(mean, found["sd"]),
    }
    # A base is there or not in a whole line; any other NaN makes NaN of the mean that it enters.
    return [pl.Series(name, numbers[name], nan_to_null=name in ("base", "dsb")) for name in fields_of(of, kind, best)]


def spread_table(
    each: pl.DataFrame, by: Sequence[str], of: Source, numbers: Sequence[str], how: Aggregation, interval: bool = False
) -> pl.DataFrame:
    """A line per combination of `by` and data set, and their `AVERAGE` if there are several: means over targets.

    each: `each_target`. numbers: `fields_of`. interval: also the ends of each one's interval of 95 % over patients, as
    ``sd_low`` and ``sd_high``; the levels of a target stay as they are. ``targets`` and ``failed`` are of those that
    have a spread; the column called after the source, such as ``seeds``, has the least number of levels of a target.
    """
    keys = [*by, "dataset"]
    scored, lines = (
        pl.concat(_scored(each, by, name).with_columns(field=pl.lit(name)) for name in numbers),
        [*by, "field"],
    )
    if interval:
        means = intervals(scored, lines, how)
    else:
        means = with_average(aggregate(scored, lines, how), lines, scored["dataset"].n_unique())
    ends = ("value", "low", "high") if interval else ("value",)
    cells = [
        pl.col(end).filter(pl.col("field") == name).first().alias(name if end == "value" else f"{name}_{end}")
        for name in numbers
        for end in ends
    ]
    if scored["dataset"].n_unique() == 1:
        means = means.filter(pl.col("dataset") != AVERAGE)
    counts = pl.col("targets", "failed").filter(pl.col("field") == "mean").first()
    fewest = each.group_by(keys).agg(pl.col("levels").min())
    all_sets = each.group_by(by).agg(pl.col("levels").min(), dataset=pl.lit(AVERAGE)).select(fewest.columns)
    table = means.group_by(keys).agg(*cells, counts)
    table = table.join(pl.concat([fewest, all_sets]), on=keys, how="left", nulls_equal=True)
    return table.rename({"levels": f"{of.level}s"}).sort(*by, pl.col("dataset") == AVERAGE, "dataset", nulls_last=True)


def means_of(each: pl.DataFrame, by: Sequence[str], name: str, how: Aggregation) -> pl.DataFrame:
    """`aggregate` of one of the numbers, per data set and of all together, which says what is infinite."""
    scored = _scored(each, by, name)
    return with_average(aggregate(scored, by, how), by, scored["dataset"].n_unique())


def _scored(each: pl.DataFrame, by: Sequence[str], name: str) -> pl.DataFrame:
    """A number of each target, as the statistics of sessions take it."""
    base = ("dataset", "case", "label", "target", "patient", "failed", "not_applicable")
    return each.select(*dict.fromkeys([*by, *base]), value=pl.col(name))


def without_spread(scored: pl.DataFrame, each: pl.DataFrame, by: Sequence[str], of: Source) -> list[str]:
    """A sentence for each data set in which targets of lines with this source are not in `each_target`."""
    target = list(dict.fromkeys([*by, *TARGET]))
    every = levels(scored, by, of).drop_nulls("level").select(target).unique()
    alone = every.join(each, on=target, how="anti", nulls_equal=True)
    lacked = f"all {of.level}s" if of.complete else f"a second {of.level}"
    lacked += f" or {of.base}" if of.base else ""
    counts = alone.group_by("dataset").agg(pl.struct(by).n_unique().alias("lines"), pl.len().alias("targets"))
    return [
        f"left out in {several(lines, 'line')} of {dataset}: {several(targets, 'target')}, played without {lacked}"
        for dataset, lines, targets in counts.sort("dataset").iter_rows()
    ]
