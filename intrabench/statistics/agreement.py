"""How far people agree who rate the same things, and how well they tell good from bad."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from intrabench.mask import Bools, Floats
from intrabench.statistics.clustered import clustered

Level = Literal["nominal", "ordinal", "interval"]


@dataclass(frozen=True)
class UnitSums:
    """A measure of agreement as statistics of units that add up: any selection of units is a sum, too.

    each: (units, k), 0 where a unit does not enter. enters: (units). estimate: makes (..., numbers) of (..., k) sums,
    NaN where the measure is not defined.
    """

    each: Floats
    enters: Bools
    estimate: Callable[[Floats], Floats]

    def values(self) -> list[float | None]:
        """The numbers of all units together, None where they are not defined."""
        return _defined(self.estimate(self.each.sum(axis=0)))

    def interval(self, clusters: Sequence[str]) -> tuple[float | None, float | None, float | None]:
        """The first number and its interval of 95 % over clusters of units, such as patients (`clustered`).

        clusters: of each unit. The ends are None for fewer than `FEW` clusters.
        """
        names, places = np.unique(np.asarray(clusters)[self.enters], return_inverse=True)
        sums = np.zeros((len(names), self.each.shape[1]))
        np.add.at(sums, places, self.each[self.enters])
        value, low, high = (_defined(found)[0] for found in clustered(sums, [""] * len(names), self.estimate))
        return value, low, high


def _defined(values: ArrayLike) -> list[float | None]:
    return [None if np.isnan(one) else float(one) for one in np.asarray(values)]


def alpha_sums(ratings: ArrayLike, level: Level = "ordinal") -> UnitSums:
    """`krippendorff_alpha`: the coincidences of every two values in a unit that has two ratings or more."""
    table = np.asarray(ratings, np.float64)
    values, codes = np.unique(table[~np.isnan(table)], return_inverse=True)
    counts = np.zeros((table.shape[1], len(values)))
    np.add.at(counts, (np.nonzero(~np.isnan(table))[1], codes), 1)
    rated = counts.sum(axis=1)
    together = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(len(values))
    together[rated >= 2] /= (rated[rated >= 2] - 1)[:, None, None]
    return UnitSums(together.reshape(len(counts), len(values) ** 2), rated >= 2, partial(_alpha, values, level))


def _alpha(values: Floats, level: Level, sums: Floats) -> Floats:
    together = sums.reshape(*sums.shape[:-1], len(values), len(values))
    total = together.sum(axis=-1)
    apart = _differences(values, total, level)
    expected = (total[..., :, None] * apart * total[..., None, :]).sum(axis=(-2, -1))
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = (together * apart).sum(axis=(-2, -1)) * (total.sum(axis=-1) - 1) / expected
    return np.asarray(1 - ratio)[..., None]


def _differences(values: Floats, total: Floats, level: Level) -> Floats:
    """(..., values, values) Squared differences of every two values; ordinal ones count the ratings between them."""
    if level == "nominal":
        return 1.0 - np.eye(len(values))
    scale = values if level == "interval" else np.cumsum(total, axis=-1) - total / 2
    return (scale[..., :, None] - scale[..., None, :]) ** 2


def krippendorff_alpha(ratings: ArrayLike, level: Level = "ordinal") -> float | None:
    """Krippendorff's alpha of (raters, units), NaN where a rater did not rate; 1 is agreement, 0 is chance.

    None if no unit has two ratings, or all ratings are equal. Source: Krippendorff, Computing Krippendorff's
    alpha-reliability (2011).
    """
    return alpha_sums(ratings, level).values()[0]


@dataclass(frozen=True)
class Icc:
    """Intraclass correlation of two-way random effects, absolute agreement (Shrout and Fleiss 1979, ICC(2)).

    single: ICC(2,1), of one rater; mean: ICC(2,k), of the mean of the raters. units: those that all raters rated.
    """

    single: float
    mean: float
    units: int


def icc_sums(ratings: ArrayLike) -> UnitSums:
    """`icc` of (raters, units): numbers, sums and products of the raters' ratings of units that all raters rated."""
    table = np.asarray(ratings, np.float64).T
    enters = ~np.isnan(table).any(axis=1) & (table.shape[1] >= 2)
    # centred, so that little is lost where squares are subtracted from each other
    rated = np.where(enters[:, None], table - table[enters].mean() if enters.any() else table, 0)
    products = rated[:, :, None] * rated[:, None, :]
    each = np.concatenate([enters[:, None], rated, products.reshape(len(rated), rated.shape[1] ** 2)], axis=1)
    return UnitSums(each, enters, partial(_icc, table.shape[1]))


def _icc(k: int, sums: Floats) -> Floats:
    n, totals = sums[..., 0], sums[..., 1 : k + 1]
    products = sums[..., k + 1 :].reshape(*sums.shape[:-1], k, k)
    squares = np.trace(products, axis1=-2, axis2=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = totals.sum(axis=-1) / (n * k)
        of_units = products.sum(axis=(-2, -1)) / k - n * k * mean**2
        of_raters = (totals**2).sum(axis=-1) / n - n * k * mean**2
        between_units, between_raters = of_units / (n - 1), of_raters / (k - 1)
        error = (squares - n * k * mean**2 - of_units - of_raters) / ((n - 1) * (k - 1))
        shared = (between_raters - error) / n
        many = between_units + shared
        single = many + (k - 1) * (error + shared)
        found = (between_units - error)[..., None] / np.stack([single, many], axis=-1)
    nothing = np.minimum(np.abs(single), np.abs(many)) <= 1e-12 * squares
    return np.where((nothing | (n < 2))[..., None], np.nan, found)


def icc(ratings: ArrayLike) -> Icc | None:
    """ICC(2,1) and ICC(2,k) of (units, raters); units that lack a rating, NaN, are left out.

    None if fewer than two units or two raters are left, or nothing varies.
    """
    sums = icc_sums(np.asarray(ratings, np.float64).T)
    single, mean = sums.values()
    return None if single is None or mean is None else Icc(single, mean, int(sums.enters.sum()))


def within_one_sums(ratings: ArrayLike) -> UnitSums:
    """`within_one`: how many pairs of ratings a unit has, and how many of them are at most one point apart."""
    table = np.asarray(ratings, np.float64)
    first, second = np.triu_indices(len(table), 1)
    apart = np.abs(table[first] - table[second])
    each = np.stack([(~np.isnan(apart)).sum(axis=0), (apart <= 1).sum(axis=0)], axis=1).astype(np.float64)
    return UnitSums(each, each[:, 0] > 0, _ratio)


def within_one(ratings: ArrayLike) -> float | None:
    """The share of pairs of ratings of one unit that are at most one point apart; ratings (raters, units)."""
    return within_one_sums(ratings).values()[0]


def spread_sums(ratings: ArrayLike) -> UnitSums:
    """`spread_per_unit`: the units with two ratings or more, and their standard deviations."""
    table = np.asarray(ratings, np.float64)
    enters = (~np.isnan(table)).sum(axis=0) >= 2
    each = np.zeros((table.shape[1], 2))
    each[enters] = np.stack([np.ones(enters.sum()), np.nanstd(table[:, enters], axis=0, ddof=1)], axis=1)
    return UnitSums(each, enters, _ratio)


def spread_per_unit(ratings: ArrayLike) -> float | None:
    """The mean over units, which two raters or more rated, of the standard deviation of ratings (raters, units)."""
    return spread_sums(ratings).values()[0]


def _ratio(sums: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(sums[..., 1] / sums[..., 0])[..., None]


AGREEMENT: Mapping[str, Callable[[ArrayLike], UnitSums]] = {
    "ordinal alpha": partial(alpha_sums, level="ordinal"),
    "interval alpha": partial(alpha_sums, level="interval"),
    "ICC(2,1)": icc_sums,
    "within 1 point": within_one_sums,
    "SD of a mask": spread_sums,
}
"""What is said of how far raters agree, of (raters, units): alpha is Krippendorff's."""


def d_prime(good: ArrayLike, bad: ArrayLike) -> float:
    """How far apart the scores of good and of bad things are: sqrt(2) z(AUC), 0 for chance (Macmillan and Creelman).

    AUC is the share of pairs in which the good one scores higher, ties count half. Half a right and half a wrong pair
    are added, so that perfect separation stays finite.
    """
    from scipy.special import ndtri

    one, other = np.asarray(good, np.float64), np.asarray(bad, np.float64)
    above = (one[:, None] > other).sum() + 0.5 * (one[:, None] == other).sum()
    return float(np.sqrt(2) * ndtri((above + 0.5) / (one.size * other.size + 1)))


def bradley_terry(wins: ArrayLike) -> Floats | None:
    """Strengths, which sum to 1, of (players, players) how often each row beat each column; ties count half for both.

    By the iteration of Hunter (Annals of Statistics 32:384, 2004). None where there are no strengths, because some
    players never lost to the others, or never met them.
    """
    table = np.asarray(wins, np.float64)
    if not _connected(table > 0):
        return None
    met, won = table + table.T, table.sum(axis=1)
    strengths: Floats = np.full(len(table), 1 / len(table))
    for _ in range(10_000):
        before = strengths
        strengths = won / (met / (before[:, None] + before)).sum(axis=1)
        strengths = strengths / strengths.sum()
        if np.abs(strengths - before).max() < 1e-12:
            break
    return strengths


def _connected(beat: NDArray[Any]) -> bool:
    """Whether everybody beat everybody else, if only through others."""
    reach = beat | np.eye(len(beat), dtype=bool)
    for _ in range(len(beat)):
        reach = (reach.astype(int) @ reach.astype(int)) > 0
    return bool(reach.all())
