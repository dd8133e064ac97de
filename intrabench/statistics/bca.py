"""Ends of bootstrap intervals that hold their level for few patients.

Plain percentiles of draws are too narrow for few patients, and off for skewed scores. The bias-corrected and
accelerated interval (BCa) mends the second: B. Efron, R. J. Tibshirani, An Introduction to the Bootstrap (1993), 14.3.
Wider tails mend the first, as a t interval is wider than a normal one: T. C. Hesterberg, What Teachers Should Know
About the Bootstrap, The American Statistician 69, 371 (2015), doi:10.1080/00031305.2015.1089789.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from intrabench.mask import Floats

LEVEL = 0.95
_TINY = 1e-12
_LEAST = 1e-60  # the fourth power of smaller influences would be 0
_DIGITS = 12  # rounded, so that a draw that equals the value is not above or below it


@dataclass(frozen=True)
class Jackknife:
    """The values of lines on one data set, and what each patient adds to them.

    value: (lines). patients: (lines) how many have a value. influence: (patients, lines) value minus that without the
    patient, times (n - 1) / n of n patients, so that its sum of squares estimates the variance of draws; 0 for patients
    without a value.
    """

    value: Floats
    patients: NDArray[np.int64]
    influence: Floats


def jackknife(groups: Sequence[tuple[Floats, Floats]]) -> Jackknife:
    """Of groups of (patients, lines) sums and numbers: the mean over groups of sum / number (Efron, Tibshirani, 11)."""
    here = np.any([counts > 0 for _, counts in groups], axis=0)
    full, present, without, left = (np.zeros(shape) for shape in (here.shape[1:], here.shape[1:], *[here.shape] * 2))
    with np.errstate(invalid="ignore", divide="ignore"):
        for sums, counts in groups:
            all_sums, all_counts = sums.sum(axis=0), counts.sum(axis=0)
            others = all_counts - counts
            full += np.where(all_counts > 0, all_sums / all_counts, 0)
            present += all_counts > 0
            without += np.where(others > 0, (all_sums - sums) / others, 0)
            left += others > 0
        value, patients = full / present, here.sum(axis=0)
        influence = np.where(here, (value - without / left) * (patients - 1) / patients, 0)
    return Jackknife(value, patients, influence)


@dataclass(frozen=True)
class Spread:
    """How uncertain averages of lines over data sets are: (lines) each.

    drawn: the variance of bootstrap draws. unbiased: that of the averages. freedom: its degrees of freedom, of several
    data sets those of Satterthwaite. skewness: the acceleration of `bca`. usable: false where influences are infinite
    or all zero; there patients count as if they were equal, and the variances mean nothing.
    """

    drawn: Floats
    unbiased: Floats
    freedom: Floats
    skewness: Floats
    usable: NDArray[np.bool_]


def spread(parts: Sequence[Jackknife]) -> Spread:
    """The spread of averages over data sets. parts: one for each of them, with the same lines."""
    zeros = np.zeros(parts[0].value.shape)
    drawn, unbiased, uncertain, cubes = zeros, zeros, zeros, zeros
    usable = np.all([np.isfinite(part.influence).all(axis=0) for part in parts], axis=0)
    usable &= np.any([_differ(part) for part in parts], axis=0)
    for part in parts:
        freedom = np.maximum(part.patients - 1, 1)
        influence = np.where(usable, part.influence, 1 / len(part.influence)) / len(parts)
        squares = (influence**2).sum(axis=0)
        # The squares of influences add up to the variance of draws, which divides by n; this one divides by n - 1.
        # The degrees of freedom of a sum of variances are those of Satterthwaite (1946).
        variance = squares * (freedom + 1) / freedom
        drawn, unbiased = drawn + squares, unbiased + variance
        uncertain, cubes = uncertain + variance**2 / freedom, cubes + (influence**3).sum(axis=0)
    skewness = np.where(usable, cubes / (6 * drawn**1.5), 0)
    return Spread(drawn, unbiased, unbiased**2 / uncertain, skewness, usable)


def tail(parts: Sequence[Jackknife], level: float = LEVEL) -> tuple[Floats, Floats]:
    """The normal quantile of the upper tail, widened for few patients, and the acceleration: (lines) each.

    parts: the data sets over which the values are averaged.
    """
    from scipy.special import stdtrit

    of = spread(parts)
    return stdtrit(of.freedom, (1 + level) / 2) * np.sqrt(of.unbiased / of.drawn), of.skewness


def _differ(part: Jackknife) -> NDArray[np.bool_]:
    """(lines) Whether patients differ by more than rounding."""
    least = np.maximum(_TINY * np.abs(np.nan_to_num(part.value)), _LEAST)
    return np.asarray((np.abs(part.influence) > least).any(axis=0))


def bca(values: Floats, parts: Sequence[Jackknife]) -> tuple[Floats, Floats]:
    """(draws, lines) values to the (lines) lower and upper ends of their intervals."""
    from scipy.special import ndtr, ndtri

    if not parts:
        return percentiles(values)
    value = np.mean([part.value for part in parts], axis=0)
    drawn, full = np.round(values, _DIGITS), np.round(value, _DIGITS)
    with np.errstate(invalid="ignore", divide="ignore"):
        below = ((drawn < full).sum(axis=0) + (drawn == full).sum(axis=0) / 2) / (~np.isnan(drawn)).sum(axis=0)
    # Efron and Tibshirani, (14.10) and (14.14). A draw that equals the value counts half, because of few patients many
    # do. If all draws are on one side, the bias would be infinite; it is that of a single draw on the other side.
    bias = np.where(np.isfinite(full), ndtri(np.clip(below, 1 / len(values), 1 - 1 / len(values))), 0)
    quantile, acceleration = tail(parts)
    low, high = (ndtr(bias + one / (1 - acceleration * one)) for one in (bias - quantile, bias + quantile))
    return percentiles(values, low, high)


def percentiles(
    values: Floats, low: ArrayLike = (1 - LEVEL) / 2, high: ArrayLike = (1 + LEVEL) / 2
) -> tuple[Floats, Floats]:
    """(draws, n) to the n quantiles `low` and `high` of the columns; NaN are no draws.

    The ends are drawn values, the outer of the two nearest: between infinite values there is nothing to interpolate.
    """
    ordered = np.sort(values if len(values) else np.full((1, values.shape[1]), np.nan), axis=0)  # NaN come last
    last = np.maximum(np.count_nonzero(~np.isnan(ordered), axis=0) - 1, 0)
    places = np.floor(low * last), np.ceil(high * last)
    ends = [np.take_along_axis(ordered, np.nan_to_num(place).astype(int)[None], axis=0)[0] for place in places]
    return ends[0], ends[1]
