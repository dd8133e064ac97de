"""Rank lines over the data sets, with the uncertainty of the ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.mask import Floats
from intrabench.metrics.base import Best, merit
from intrabench.statistics.aggregate import COUNTS, Aggregation, aggregate
from intrabench.statistics.bca import Jackknife, percentiles, tail
from intrabench.statistics.infinite import BESIDE, places
from intrabench.statistics.resample import AVERAGE, DRAWS, Draws, difference, resample, with_average
from intrabench.statistics.scores import UNIT
from intrabench.statistics.significance import (
    holm,
    paired_values,
    patient_differences,
    per_patient,
    signed_rank,
    signed_ranks,
)

DIGITS = 12
"""To which values are rounded, so that equal lines are tied whatever the order of summation."""


@dataclass(frozen=True)
class Ranking:
    """Lines ranked by their average over data sets, the best first.

    table: the columns of a line, `rank` (1 is best; equal values share the better rank) and its interval of 95 %, `low`
    to `high`, `value`, `COUNTS` and `BESIDE`. Of infinite values, those with fewer infinite ones behind them are
    better, then those with a better mean over the others. The interval is that of drawn ranks, with the wider tails of
    the average (`tail`).
    tau: mean over draws of Kendall's tau-b between the drawn ranking and this one; 1 where no draw changes it. Draws
    that miss all patients of some line are left out; where a line has fewer than `FEW` patients of a data set there is
    neither an interval nor a tau, and no tau where all lines are tied.
    left_out: lines without a value on some data sets, which are listed in `missing`.
    """

    table: pl.DataFrame
    tau: float | None
    left_out: pl.DataFrame

    def describe(self) -> list[str]:
        """Notes on the table, as lines for a terminal."""
        lines = [] if self.tau is None else [f"Kendall's tau between drawn rankings and this one: {self.tau:.2f}"]
        for *line, missing in self.left_out.iter_rows():
            name = " ".join(str(part) for part in line if part not in (None, ""))
            lines.append(f"not ranked: {name}, because it has no value on {', '.join(missing)}")
        return lines


def ranking(
    scored: pl.DataFrame, by: Sequence[str], how: Aggregation, *, best: Best = "high", draws: int = DRAWS
) -> Ranking:
    """Rank lines by their mean over data sets, also in every draw of patients; all lines share the draws.

    scored: `scores`. Means of ranks are not used, so the order is that of tables, and that of two lines does not
    depend on a third. Stability as in Wiesenfarth et al., Scientific Reports 11:2369 (2021).

    Raises:
        IntraBenchError: no line has a value on all data sets.
    """
    names = scored.select("dataset").unique()
    found = aggregate(scored, by, how)
    table = with_average(found, by, names.height).filter(pl.col("dataset") == AVERAGE).sort(by)
    if table.is_empty():
        raise IntraBenchError("no line has a value on all data sets, so there is no ranking; choose fewer data sets")
    left_out = _left_out(scored.select(by).unique().join(names, how="cross"), found, by)
    return ranked(table, by, resample(scored, by, how, draws), left_out, best)


def ranked(table: pl.DataFrame, by: Sequence[str], draws: Draws, left_out: pl.DataFrame, best: Best) -> Ranking:
    """The ranking of the lines of a table of averages, some or all of those that were drawn."""
    from scipy.special import ndtr

    table = table.sort(by)
    lines = draws.lines.with_row_index("_line").join(table, on=by, how="semi", nulls_equal=True, maintain_order="left")
    which = lines["_line"].to_numpy()
    wide = ndtr(tail(list(draws.parts.values()))[0][which])
    full = places(table["net"].to_numpy()[None], table["others"].to_numpy()[None], best)
    values = np.round(draws.merits(best)[:, which], DIGITS)
    values = values[~np.isnan(values).any(axis=1)]
    # As for values, plain percentiles are too narrow for few patients; so each line has its ends further out (`tail`).
    low, high = (pl.Series(end).fill_nan(None).cast(pl.Int64) for end in percentiles(ranks(values), 1 - wide, wide))
    table = table.with_columns(rank=pl.Series(ranks(full)[0], dtype=pl.Int64), low=low, high=high)
    table = table.select(*by, "rank", "low", "high", "value", *COUNTS, *BESIDE).sort("rank", *by)
    return Ranking(table, tau(values, full), left_out)


@dataclass(frozen=True)
class AverageRanking(Ranking):
    """Lines ranked on each data set, and the averages of these ranks over data sets; the best average first.

    table: as of `Ranking`, but `rank` is the average, of lines with a value on all data sets; there may be none. each:
    the columns of a line, `dataset`, `value`, and `rank` there among all lines with a value, with its interval.
    """

    each: pl.DataFrame


def average_ranking(
    scored: pl.DataFrame, by: Sequence[str], how: Aggregation, *, best: Best = "high", draws: int = DRAWS
) -> AverageRanking:
    """Rank lines on each data set, and average their ranks, also in every draw of patients; all lines share the draws.

    The scales of data sets do not matter, but the order of two lines may depend on a third. Equal values share the
    better rank.
    """
    found, drawn = aggregate(scored, by, how), resample(scored, by, how, draws)
    lines, placed, parts = drawn.lines, list[tuple[Floats, Floats]](), list[pl.DataFrame]()
    for name, values in sorted(drawn.values.items()):
        here = lines.join(found.filter(dataset=name), on=by, how="left", nulls_equal=True, maintain_order="left")
        value = here["value"].cast(pl.Float64).fill_null(np.nan).to_numpy()
        full, of_draws = (_ranks_of_some(merit(one, best)) for one in (value[None], values))
        placed.append((full, of_draws))
        ends = _with_ends(lines, full, of_draws, [drawn.parts[name]])
        parts.append(ends.with_columns(dataset=pl.lit(name), value=value))
    if not placed:
        numbers = dict.fromkeys(("rank", "low", "high", "value"), pl.Float64)
        table = pl.DataFrame(schema={**lines.schema, **numbers, **dict.fromkeys(COUNTS, pl.UInt32)})
        each = pl.DataFrame(schema={**lines.schema, "dataset": pl.String, **numbers})
        return AverageRanking(table, None, lines.with_columns(missing=pl.lit("")), each)
    full, of_draws = (np.mean(part, axis=0) for part in zip(*placed, strict=True))
    table = with_average(found, by, len(placed)).filter(pl.col("dataset") == AVERAGE)
    table = _with_ends(lines, full, of_draws, list(drawn.parts.values())).join(table, on=by, nulls_equal=True)
    complete = ~np.isnan(full[0])
    full, of_draws = full[:, complete], of_draws[:, complete]
    return AverageRanking(
        table.select(*by, "rank", "low", "high", "value", *COUNTS).sort("rank", *by),
        tau(-of_draws[~np.isnan(of_draws).any(axis=1)], -full),
        _left_out(lines.join(scored.select("dataset").unique(), how="cross"), found, by),
        pl.concat(parts).fill_nan(None).drop_nulls("rank").select(*by, "dataset", "rank", "low", "high", "value"),
    )


def _with_ends(lines: pl.DataFrame, full: Floats, drawn: Floats, parts: Sequence[Jackknife]) -> pl.DataFrame:
    """The lines with `rank`, (1, lines), and its interval, from (draws, lines) drawn ranks; `parts` as of `Draws`."""
    from scipy.special import ndtr

    wide = ndtr(tail(parts)[0])
    low, high = (pl.Series(end, dtype=pl.Float64).fill_nan(None) for end in percentiles(drawn, 1 - wide, wide))
    return lines.with_columns(pl.Series("rank", full[0]), low.alias("low"), high.alias("high"))


def _ranks_of_some(values: Floats) -> Floats:
    """`ranks` of (draws, lines) values among those that are not NaN; NaN of these."""
    return np.where(np.isnan(values), np.nan, ranks(np.round(values, DIGITS)))


def rankings(
    scored: pl.DataFrame, draws: Draws, within: Mapping[int, str], how: Aggregation, *, best: Best = "high"
) -> tuple[dict[str, Ranking], pl.DataFrame]:
    """`ranking` by ``line`` within each group, and the lines of all groups that are left out.

    draws: `resample` of `scored`. within: the group of each line, such as its prompter. A group without a rank is not
    there.
    """
    names, by = scored.select("dataset").unique(), ["line"]
    found = aggregate(scored, by, how)
    table = with_average(found, by, names.height).filter(pl.col("dataset") == AVERAGE)
    left_out = _left_out(scored.select(by).unique().join(names, how="cross"), found, by)
    groups = table.with_columns(_group=pl.col("line").replace_strict(within, return_dtype=pl.String))
    made = {
        str(name): ranked(group.drop("_group"), by, draws, left_out.clear(), best)
        for (name,), group in groups.sort("_group").group_by("_group", maintain_order=True)
    }
    return made, left_out


def pairs(scored: pl.DataFrame, by: Sequence[str], *, best: Best = "high") -> pl.DataFrame:
    """Every two lines (the columns of the second end in `_other`): rank-biserial correlation and Wilcoxon's test.

    Of the differences on their common patients, as `tests_of_lines`, all data sets together; positive where the first
    is better. `p_holm` is corrected over all pairs that have common patients; others are not there. The
    smallest `p` first, null of too few patients (`signed_ranks`).
    """
    lines, values = of_patients(scored, by, best)
    every = list(combinations(range(lines.height), 2))
    found = tests_of_lines(scored, lines, values, every, best)
    tests = [(*pair, *one) for pair, one in zip(every, found, strict=True) if one[0]]
    kinds = {
        "_line": pl.UInt32,
        "_line_other": pl.UInt32,
        "patients": pl.Int64,
        "rank_biserial": pl.Float64,
        "p": pl.Float64,
    }
    tested = pl.DataFrame(tests, schema=kinds, orient="row")
    tested = tested.with_columns(pl.Series("p_holm", holm(tested["p"]))).fill_nan(None)
    others = lines.rename({name: f"{name}_other" for name in lines.columns})
    joined = tested.join(lines, on="_line").join(others, on="_line_other")
    return joined.sort("p", "_line", "_line_other", nulls_last=True).select(
        *by, *others.columns[1:], *tested.columns[2:]
    )


def of_patients(scored: pl.DataFrame, by: Sequence[str], best: Best) -> tuple[pl.DataFrame, Floats]:
    """The lines, numbered by `_line`, and (patients, lines) merits: means over targets, then over cases; NaN: none."""
    each = ["dataset", "patient"]
    patients = per_patient(scored, by).drop_nulls("value")
    lines = patients.select(by).unique().sort(by).with_row_index("_line")
    patients = patients.join(lines, on=by, nulls_equal=True).sort("_line", *each)
    values = patients.pivot("_line", index=each, values="value").drop(each).to_numpy()
    return lines, np.round(merit(values, best), DIGITS)


def paired_tests(values: Floats, which: Sequence[tuple[int, int]]) -> list[tuple[int, float, float]]:
    """Of (patients, lines) merits, for each pair: how many patients have both, and `signed_rank` of the differences."""
    apart = []
    for pair in which:
        both = values[:, pair]
        one, other = both[~np.isnan(both).any(axis=1)].T
        apart.append(difference(one, other))
    return [(one.size, *found) for one, found in zip(apart, signed_ranks(apart), strict=True)]


def tests_of_lines(
    scored: pl.DataFrame, lines: pl.DataFrame, values: Floats, which: Sequence[tuple[int, int]], best: Best
) -> list[tuple[int, float, float]]:
    """`paired_tests` of pairs of `of_patients`' lines; those with infinite values are paired by target first.

    Else a patient of whom both lines miss a target would be a tie, whichever target it is.
    """
    found = paired_tests(values, which)
    infinite = set(np.flatnonzero(np.isinf(values).any(axis=0)).tolist())
    parts = sides(
        scored, lines.filter(pl.col("_line").is_in({n for pair in which if infinite & {*pair} for n in pair}))
    )
    for place, (one, other) in enumerate(which):
        if infinite & {one, other}:
            apart = patient_differences(paired_values(parts[other], parts[one], best))["difference"]
            found[place] = (len(apart), *signed_rank(apart))
    return found


def sides(scored: pl.DataFrame, lines: pl.DataFrame) -> dict[int, pl.DataFrame]:
    """The sessions with a value of each line, by its number `_line`, as `paired_values` takes them."""
    by = [name for name in lines.columns if name != "_line"]
    valued = scored.filter(pl.col("value").is_not_null()).join(lines, on=by, nulls_equal=True)
    parts = valued.select("_line", *UNIT, "patient", "value", "failed").partition_by("_line", as_dict=True)
    return {int(number): part.drop("_line") for (number,), part in parts.items()}


def ranks(values: Floats) -> Floats:
    """(draws, lines) values to ranks: 1 is the greatest, equal values share the better rank."""
    return np.stack([1.0 + (values > one[:, None]).sum(axis=1) for one in values.T], axis=1)


def tau(values: Floats, full: Floats) -> float | None:
    """Mean over (draws, lines) of Kendall's tau-b with the (1, lines) values `full`; None without any untied draw."""
    agree, untied, untied_full = np.zeros((3, len(values)))
    # One line against all others at a time, because an array of all pairs in all draws would be too large. So every
    # pair is counted twice, in the numerator as in the denominator.
    for number in range(full.size):
        signs, reference = (np.sign(difference(one, one[:, [number]])) for one in (values, full))
        agree += (signs * reference).sum(axis=1)
        untied += np.abs(signs).sum(axis=1)
        untied_full += np.abs(reference).sum(axis=1)
    valid = untied * untied_full > 0
    return float(np.mean(agree[valid] / np.sqrt(untied * untied_full)[valid])) if valid.any() else None


def _left_out(every: pl.DataFrame, found: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Lines and the data sets on which they have no value."""
    values = found.filter(pl.col("of") > 0)
    missing = every.join(values, on=[*by, "dataset"], how="anti", nulls_equal=True)
    return missing.group_by(by).agg(pl.col("dataset").sort().alias("missing")).sort(by)
