"""How sure differences are: intervals by Student's t, the probability that a claim is false, and tests of pairs.

The probability is that of Claims Reloaded, arXiv 2505.04720. Both come from the same t distribution, so the interval
lies above 0 where the probability is below 2.5 %. Of differences, plain t holds its level where bootstrap intervals of
few patients do not (`python -m benchmarks claims`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from intrabench.mask import Floats
from intrabench.metrics.base import Best, merit
from intrabench.statistics.aggregate import COUNTS, Aggregation, aggregate, fewest_patients
from intrabench.statistics.bca import LEVEL, Jackknife, spread
from intrabench.statistics.infinite import BESIDE, both_infinite, whole, with_parts
from intrabench.statistics.resample import AVERAGE, FEW, influences, with_average
from intrabench.statistics.scores import UNIT


def holm(p: ArrayLike) -> Floats:
    """p-values corrected for multiple tests (Holm 1979), in the given order; NaN is no test, and stays."""
    corrected = np.array(p, float)
    tests = np.flatnonzero(~np.isnan(corrected))
    order = tests[np.argsort(corrected[tests])]
    stepped = np.maximum.accumulate(corrected[order] * np.arange(len(order), 0, -1))
    corrected[order] = np.minimum(stepped, 1)
    return corrected


def per_patient(values: pl.DataFrame, by: Sequence[str] = (), name: str = "value") -> pl.DataFrame:
    """The mean of a column over the targets of a case, then over the cases of a patient, per `by` and data set."""
    mean = pl.col(name).mean()
    return values.group_by(*by, "dataset", "patient", "case").agg(mean).group_by(*by, "dataset", "patient").agg(mean)


def paired_values(a: pl.DataFrame, b: pl.DataFrame, best: Best) -> pl.DataFrame:
    """The `UNIT` that two lines have in common: the values `a` and `b`, how much better b is (`difference`), `value`.

    a, b: sessions with a value, one per unit, with `patient` and `failed`. A unit with two infinite values is a tie
    (`both_infinite`): its difference is 0, but its `value`, which enters means, is null.
    """
    merits = (merit(pl.col(side), best) for side in ("b", "a"))
    both = both_infinite("a", "b")
    # rounded, because 0.81 - 0.80 is to be a tie of 0.01
    apart = pl.when(pl.col("a") == pl.col("b")).then(0.0).otherwise((next(merits) - next(merits)).round(12))
    return (
        a.rename({"value": "a"})
        .join(b.rename({"value": "b"}), on=UNIT, nulls_equal=True)
        .with_columns(
            failed=pl.col("failed") | pl.col("failed_right"),
            not_applicable=False,
            difference=apart,
            both_infinite=both,
            value=pl.when(~both).then(apart),
        )
        .sort(UNIT)
    )


def patient_differences(units: pl.DataFrame) -> pl.DataFrame:
    """`paired_values` to the `difference` of each patient: the mean over its targets, then over its cases.

    Infinite differences come first: if more of them speak for one line, so does the patient, infinitely; if as many
    speak for either, the others decide.
    """
    means, parts = ["dataset", "patient"], pl.col("net", "others").mean()
    cases = with_parts(units).with_columns(pl.col("net").fill_null(0)).group_by(*means, "case").agg(parts)
    patients = cases.group_by(means).agg(parts).sort(means)
    return patients.select(*means, difference=whole(pl.col("net"), pl.col("others")))


def signed_rank(differences: ArrayLike) -> tuple[float, float]:
    """Matched-pairs rank-biserial correlation (Kerby 2014) and p of Wilcoxon's signed rank test; zeros are left out.

    p: NaN of fewer than `FEW` differences.
    """
    return signed_ranks([differences])[0]


def signed_ranks(many: Sequence[ArrayLike]) -> list[tuple[float, float]]:
    """`signed_rank` of each; those of one length are tested at once, which is faster, if no test can be exact."""
    from scipy.stats import rankdata, wilcoxon

    found = [(0.0, 1.0)] * len(many)
    alike: dict[tuple[int, int], list[tuple[int, Floats]]] = {}
    for number, differences in enumerate(many):
        values = np.asarray(differences, float)
        values = values[values != 0]
        if values.size:
            # SciPy decides by all rows of a call whether the test is exact, and how. What may be exact is therefore
            # tested alone, so that no result depends on which others are asked for.
            batch = number // _BATCH if values.size > _EXACT else number
            alike.setdefault((values.size, batch), []).append((number, values))
    for members in alike.values():
        rows = np.stack([values for _, values in members])
        ranks = rankdata(np.abs(rows), axis=1)
        signed = ranks * np.sign(rows)
        correlations = signed.sum(axis=1) / ranks.sum(axis=1)
        few = rows.shape[1] <= _EXACT
        p = np.array([_p(tuple(np.sort(signed[0])))]) if few else wilcoxon(rows, axis=1).pvalue
        for (number, _), *one in zip(members, correlations.tolist(), p.tolist(), strict=True):
            found[number] = (one[0], one[1])
    return [(one, p if np.size(values) >= FEW else np.nan) for values, (one, p) in zip(many, found, strict=True)]


@lru_cache(maxsize=1000)
def _p(signed: tuple[float, ...]) -> float:
    """p of differences with these signed ranks, on which alone it depends: with ties, SciPy goes through all signs."""
    from scipy.stats import wilcoxon

    return float(wilcoxon(signed).pvalue)


_EXACT = 50  # up to so many differences SciPy's test may be exact, and how it is done depends on all that it is given
_BATCH = 256  # tests at once, for the memory


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
    where a data set has fewer than `FEW` patients, and where a difference is infinite. fewest: the number of patients
    of the smallest class or data set that is averaged. For one case of each patient and one class this is the paired t
    test, else the standard error comes from leaving out each patient in turn. Degrees of freedom of several data sets
    are Satterthwaite's.
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
    table = table.with_columns(pl.when(pl.col("infinite") == 0).then(pl.col("low", "high", "false")))
    return table.sort(*by, pl.col("dataset") == AVERAGE, "dataset").select(
        *by, "dataset", "value", "low", "high", "false", *COUNTS, "fewest", *BESIDE
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
