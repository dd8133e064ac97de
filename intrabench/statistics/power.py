"""How many patients a paired comparison needs, the smallest difference it can see, and where differences vary.

The test is the paired t test of `significance`, two-sided, of patients' mean differences: if the true difference is d
and the standard error e, the statistic has a noncentral t distribution with noncentrality d / e (J. Cohen, Statistical
Power Analysis for the Behavioral Sciences, 2nd ed. 1988, 2.3; S. A. Julious, Statistics in Medicine 23, 1921 (2004),
doi:10.1002/sim.1783).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.mask import Floats
from intrabench.statistics.aggregate import Aggregation
from intrabench.statistics.bca import Jackknife, spread
from intrabench.statistics.resample import AVERAGE, FEW, influences
from intrabench.statistics.significance import differences

DIFFERENCE = 0.02
"""The difference to see, of scores from 0 to 1, unless another one is chosen."""
CAUTIOUS = 0.8
"""The level of the upper limit of a standard deviation."""
MOST = 10**9
"""More patients are not counted."""


@dataclass(frozen=True)
class Question:
    """What a study is to show.

    difference: the true difference, in units of the metric; None: the one that was found. alpha: the level of the
    two-sided test. power: the probability that the test sees the difference.

    Raises:
        IntraBenchError: a number is out of its range.
    """

    difference: float | None = DIFFERENCE
    alpha: float = 0.05
    power: float = 0.8

    def __post_init__(self) -> None:
        if self.difference is not None and not 0 < self.difference < math.inf:
            raise IntraBenchError(f"--difference {self.difference:g}: give a number above 0, or found")
        if not 0 < self.alpha < self.power < 1:
            raise IntraBenchError(
                f"--alpha {self.alpha:g} and --power {self.power:g}: both are probabilities between 0 and 1, and the "
                "power is above alpha"
            )


def power(difference: float, error: float, freedom: float, alpha: float) -> float:
    """The probability that the two-sided t test sees a true difference that is estimated with a standard error.

    P(|T| > t) of a noncentral t variable T with f degrees of freedom and noncentrality d = difference / error, for the
    quantile t of the central one at 1 - alpha / 2. That is the mean of Φ(d - t √(V/f)) + Φ(-d - t √(V/f)) over V, chi
    square with f degrees of freedom: `scipy.stats.nct`, which has no value for many large d and t.
    """
    from scipy.special import gammaincinv, ndtr, stdtrit

    shift, (shares, weights) = abs(difference) / error, _nodes()
    chi = np.sqrt(2 * gammaincinv(freedom / 2, shares) / freedom)  # quantiles of the estimated error, if the true is 1
    limit = stdtrit(freedom, 1 - alpha / 2) * chi
    return float(weights @ (ndtr(shift - limit) + ndtr(-shift - limit)))


@cache
def _nodes() -> tuple[Floats, Floats]:
    """Where an integral from 0 to 1 is evaluated (Gauss and Legendre), and the weights."""
    nodes, weights = np.polynomial.legendre.leggauss(300)
    return (nodes + 1) / 2, weights / 2


def smallest_difference(error: float, freedom: float, alpha: float, wanted: float) -> float:
    """The smallest true difference that the test sees with the probability `wanted`."""
    from scipy.optimize import brentq

    most = 1.0
    while power(most, 1, freedom, alpha) < wanted:
        most *= 2
    return error * float(brentq(lambda shift: power(shift, 1, freedom, alpha) - wanted, 0, most, xtol=1e-9))


def patients_needed(difference: float, deviations: Sequence[float], alpha: float, wanted: float) -> int | None:
    """The smallest number of patients of each data set with which the mean difference over data sets is seen.

    deviations: s of patients' differences on each of D data sets. With n patients each, the squared standard error is
    sum(s^2) / (n D^2), with (n - 1) sum(s^2)^2 / sum(s^4) degrees of freedom (Satterthwaite): s / sqrt(n) and n - 1 of
    one data set. None: more than `MOST`, or patients do not differ at all.
    """
    squares = np.square(np.asarray(deviations, np.float64))
    if not squares.any():
        return None
    total, freedom = float(squares.sum()), float(squares.sum() ** 2 / np.sum(squares**2))

    def seen(patients: int) -> bool:
        error = math.sqrt(total / patients) / len(squares)
        return power(difference, error, (patients - 1) * freedom, alpha) >= wanted

    least, most = 1, 2
    while not seen(most):
        least, most = most, 2 * most
        if least > MOST:
            return None
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (least, middle) if seen(middle) else (middle, most)
    return most


def upper_deviation(deviation: float, freedom: float, level: float = CAUTIOUS) -> float:
    """The upper limit of a standard deviation that was estimated: s sqrt(f / q), for the 1 - level quantile q of chi
    square with f degrees of freedom (R. H. Browne, Statistics in Medicine 14, 1933 (1995)).
    """
    from scipy.stats import chi2

    return deviation * math.sqrt(freedom / float(chi2.ppf(1 - level, freedom)))


@dataclass(frozen=True)
class Components:
    """The variance of single differences between patients, between the targets of a patient, and the seeds of a target.

    None: the level has only one member in the one above, so that its variance is part of that one's.
    """

    patients: float | None
    targets: float | None
    seeds: float | None

    def shares(self) -> dict[str, float | None]:
        """The shares of their sum, by level; None of all if there is no variance."""
        parts = {"patients": self.patients, "targets": self.targets, "seeds": self.seeds}
        total = sum(part for part in parts.values() if part is not None)
        return {name: part / total if part is not None and total > 0 else None for name, part in parts.items()}


def components(values: pl.DataFrame) -> Components:
    """Variance components of `value`, nested: seeds in targets in patients, within data sets and classes.

    Means of classes are taken off, for a degree of freedom each: that classes differ is no chance. By the analysis of
    variance for unequal numbers, which equates sums of squares with their expectations (Henderson's method 1; S. R.
    Searle, G. Casella, C. E. McCulloch, Variance Components (1992), 5.3 and appendix F.1); negative estimates
    count as 0.
    """
    value = pl.col("value")
    names = ("dataset", "patient", "case", "label", "target")
    values = values.sort(*names, "value")  # sums depend on the order
    values = values.with_columns(value - value.mean().over("dataset", "label"))
    targets = values.group_by(names, maintain_order=True).agg(
        pl.len().cast(pl.Float64).alias("count"), value.mean().alias("mean"), ((value - value.mean()) ** 2).sum()
    )
    patients = _together(targets, ["dataset", "patient"])
    datasets = _together(patients, ["dataset"])
    units, known, people = _sum(targets, "count"), targets.height, patients.height
    classes = targets.select("dataset", "label").n_unique() - datasets.height
    of_seeds, of_targets, of_patients = None, None, None
    if units > known:
        of_seeds = _sum(targets, "value") / (units - known)
    if (freedom := known - people - classes) > 0:
        weight = (units - _sum(patients, "squares")) * freedom / (known - people)
        of_targets = (_sum(patients, "between") - freedom * (of_seeds or 0.0)) / weight
    if people > datasets.height:
        weight = _sum(patients, "squares") - _sum(datasets, "squares_within")
        rest = (people - datasets.height) * (of_seeds or 0.0) + weight * (of_targets or 0.0)
        of_patients = (_sum(datasets, "between") - rest) / (units - _sum(datasets, "squares"))
    return Components(*(None if part is None else max(part, 0.0) for part in (of_patients, of_targets, of_seeds)))


def _sum(frame: pl.DataFrame, column: str) -> float:
    return float(frame[column].sum())


def _together(groups: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Groups with their `count` and `mean` put together: the same of all, the sum of squares `between` them, and
    `squares`, the sum of squared counts per unit; `squares_within` is that of the groups of which these were made.
    """
    count, mean = pl.col("count"), pl.col("mean")
    total = count.sum()
    inner = pl.col("squares") * count if "squares" in groups.columns else count**2
    return groups.group_by(by, maintain_order=True).agg(
        total,
        ((count * mean).sum() / total).alias("mean"),
        (count * (mean - (count * mean).sum() / total) ** 2).sum().alias("between"),
        ((count**2).sum() / total).alias("squares"),
        (inner.sum() / total).alias("squares_within"),
    )


def plan(units: pl.DataFrame, how: Aggregation, question: Question) -> pl.DataFrame:
    """What a pair of lines tells about the next study: a row per data set, and if there are several, for `AVERAGE`.

    units: `compare.paired`. Columns: `patients` with a finite difference; `difference` as `compare` has it, of which
    `infinite` of the `units` are infinite and `others` is the mean over the others, as is all that follows, without
    those where `both_infinite` values leave no difference: `sd` of
    patients, of the average the root of the mean square, and its upper limit `sd_high`; `needed` and `needed_high`
    patients for these, of the average in all data sets together; the `smallest` difference that these patients could
    show; `of_patients`, `of_targets` and `of_seeds`, the shares of `components`. Data sets of fewer patients than `FEW`
    have null.
    """
    units = units.with_columns(pair=0)
    means = differences(units, ["pair"], how)
    finite = units.filter(pl.col("value").is_finite())
    _, parts = influences(finite, ["pair"], how)
    count = units["dataset"].n_unique()
    lines = []
    for name, difference, *beside in means.select("dataset", "value", "infinite", "others", "median").iter_rows():
        if name == AVERAGE and count == 1:
            continue
        here = units if name == AVERAGE else units.filter(pl.col("dataset") == name)
        some = [parts[name]] if name in parts else []
        if name == AVERAGE and len(parts) == count:
            some = [*parts.values()]
        told = {"difference": difference, **dict(zip(("infinite", "others", "median"), beside, strict=True))}
        both = int(here["both_infinite"].sum())
        counts = {"patients": sum(int(part.patients[0]) for part in some), "units": here.height, "both_infinite": both}
        lines.append({"dataset": name, **told, **counts, **_plan(some, question)})
        if all(part.patients[0] >= FEW for part in some):
            shares = components(here.filter(pl.col("value").is_finite())).shares() if some else {}
            lines[-1] |= {f"of_{level}": share for level, share in shares.items()}
    return pl.DataFrame(lines, schema=_KINDS)


_KINDS = {
    **{"dataset": pl.String, "patients": pl.Int64, "difference": pl.Float64, "sd": pl.Float64, "sd_high": pl.Float64},
    **{"needed": pl.Int64, "needed_high": pl.Int64, "smallest": pl.Float64},
    **{f"of_{level}": pl.Float64 for level in ("patients", "targets", "seeds")},
    **{"units": pl.Int64, "infinite": pl.Int64, "both_infinite": pl.Int64, "others": pl.Float64},
    "median": pl.Float64,
}
"""Columns of `plan`."""


def _plan(parts: Sequence[Jackknife], question: Question) -> Mapping[str, Any]:
    """The numbers of `plan` that rest on the spread of patients; none of few patients."""
    if not parts or any(part.patients[0] < FEW for part in parts):
        return {}
    each = [_error(part) * math.sqrt(part.patients[0]) for part in parts]
    sd = math.sqrt(sum(one**2 for one in each) / len(each))
    if not sd:
        return {"sd": 0.0}
    of = spread(parts)
    error, freedom = math.sqrt(of.unbiased[0]), float(of.freedom[0])
    high = upper_deviation(sd, freedom)
    found = abs(float(np.mean([part.value[0] for part in parts])))
    difference, levels = question.difference or found, (question.alpha, question.power)

    def needed(factor: float) -> int | None:
        count = patients_needed(difference, [factor * one for one in each], *levels) if difference else None
        return count and count * len(parts)

    return {
        **{"sd": sd, "sd_high": high, "needed": needed(1), "needed_high": needed(high / sd)},
        "smallest": smallest_difference(error, freedom, *levels),
    }


def _error(part: Jackknife) -> float:
    """The standard error of one line on a data set; 0 if patients do not differ."""
    of = spread([part])
    return math.sqrt(of.unbiased[0]) if of.usable[0] else 0.0
