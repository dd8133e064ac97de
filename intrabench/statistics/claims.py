"""How sure a difference is: its interval by Student's t, and the probability that the claim which it supports is false.

The probability is that of Claims Reloaded, arXiv 2505.04720. Both come from the same t distribution, so the interval
lies above 0 where the probability is below 2.5 %. Of differences, plain t holds its level where bootstrap intervals of
few patients do not (`python -m benchmarks claims`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from intrabench.mask import Floats
from intrabench.statistics.aggregate import COUNTS, Aggregation, aggregate, fewest_patients
from intrabench.statistics.bca import LEVEL, Jackknife, spread
from intrabench.statistics.resample import AVERAGE, FEW, influences, with_average

ENOUGH = 50
"""With fewer patients intervals of means are rough, whatever the method; such numbers are marked."""


def false_claim(difference: ArrayLike, error: ArrayLike, freedom: ArrayLike) -> Floats:
    """The probability that the claim of a positive mean difference is false.

    error: the standard error of the difference. Where it is 0, the difference is sure: 0, 1, or NaN if that is 0, too.
    """
    from scipy.special import stdtr

    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(stdtr(freedom, -np.divide(difference, error)), np.float64)


def false_claim_of_scores(
    difference: ArrayLike, sd_a: ArrayLike, sd_b: ArrayLike, correlation: ArrayLike, patients: ArrayLike
) -> Floats:
    """The same from what papers print, the published formula: t = sqrt(n) (mB - mA) / sqrt(sA^2 + sB^2 - 2 r sA sB).

    difference: mB - mA. correlation: r, of the paired scores of n patients; t has n - 1 degrees of freedom.
    """
    a, b, n = np.asarray(sd_a, np.float64), np.asarray(sd_b, np.float64), np.asarray(patients, np.float64)
    variance = np.maximum(a**2 + b**2 - 2 * np.asarray(correlation) * a * b, 0)
    return false_claim(difference, np.sqrt(variance / n), n - 1)


def differences(scored: pl.DataFrame, by: Sequence[str], how: Aggregation) -> pl.DataFrame:
    """`aggregate`, its mean over data sets (`AVERAGE`), and of each `low` to `high`, `false` and `fewest`.

    scored: paired differences, as `scores`. low, high: the interval of 95 %; false: `false_claim`; all three are null
    where a data set has fewer than `FEW` patients. fewest: the number of patients of the smallest class or data set
    that is averaged. For one case of each patient and one class this is the paired t test, else the standard error
    comes from leaving out each patient in turn. Degrees of freedom of several data sets are Satterthwaite's.
    """
    table = with_average(aggregate(scored, by, how), by, scored["dataset"].n_unique())
    lines, parts = influences(scored, by, how)
    sure = [_sure(lines, name, [part]) for name, part in parts.items()] + [_sure(lines, AVERAGE, [*parts.values()])]
    least = fewest_patients(scored, by, how)
    least = pl.concat(
        [least, least.group_by(by).agg(pl.col("fewest").min(), dataset=pl.lit(AVERAGE)).select(least.columns)]
    )
    for more in (pl.concat(sure), least):
        table = table.join(more, on=[*by, "dataset"], how="left", nulls_equal=True)
    return table.sort(*by, pl.col("dataset") == AVERAGE, "dataset").select(
        *by, "dataset", "value", "low", "high", "false", *COUNTS, "fewest"
    )


def _sure(lines: pl.DataFrame, dataset: str, parts: Sequence[Jackknife]) -> pl.DataFrame:
    """The interval and the probability of all lines on one data set, or on the average of several, if there are any."""
    low, high, false = sure(parts) if parts else np.full((3, lines.height), np.nan)
    found = {"low": low, "high": high, "false": false}
    columns = [pl.Series(name, values).fill_nan(None) for name, values in found.items()]
    return lines.with_columns(*columns, dataset=pl.lit(dataset))


def sure(parts: Sequence[Jackknife]) -> tuple[Floats, Floats, Floats]:
    """(lines) The ends of the interval of 95 % of differences averaged over data sets, and `false_claim`.

    parts: at least one, a data set each. NaN where one has fewer than `FEW` patients.
    """
    from scipy.special import stdtrit

    value, of = np.mean([part.value for part in parts], axis=0), spread(parts)
    error = np.where(of.usable, np.sqrt(of.unbiased), 0)
    half = stdtrit(of.freedom, (1 + LEVEL) / 2) * error
    enough = np.all([part.patients >= FEW for part in parts], axis=0)
    low, high, false = (
        np.where(enough, found, np.nan) for found in (value - half, value + half, false_claim(value, error, of.freedom))
    )
    return low, high, false
