"""How far people agree who rate the same things, and how well they tell good from bad."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from intrabench.mask import Floats

Level = Literal["nominal", "ordinal", "interval"]


def krippendorff_alpha(ratings: ArrayLike, level: Level = "ordinal") -> float | None:
    """Krippendorff's alpha of (raters, units), NaN where a rater did not rate; 1 is agreement, 0 is chance.

    None if no unit has two ratings, or all ratings are equal. Source: Krippendorff, Computing Krippendorff's
    alpha-reliability (2011).
    """
    table = np.asarray(ratings, np.float64)
    values, codes = np.unique(table[~np.isnan(table)], return_inverse=True)
    counts = np.zeros((table.shape[1], len(values)))
    np.add.at(counts, (np.nonzero(~np.isnan(table))[1], codes), 1)
    counts = counts[counts.sum(axis=1) >= 2]
    total = counts.sum(axis=0)
    if not len(counts) or np.count_nonzero(total) < 2:
        return None
    apart = _differences(values, total, level)
    in_unit = counts.sum(axis=1, keepdims=True)
    observed = float(np.einsum("uc,uk,ck->", counts / (in_unit - 1), counts, apart))
    expected = float(total @ apart @ total) / (total.sum() - 1)
    return 1 - observed / expected


def _differences(values: Floats, total: Floats, level: Level) -> Floats:
    """Squared differences of every two values; ordinal ones count the ratings between them."""
    if level == "nominal":
        return 1.0 - np.eye(len(values))
    scale = values if level == "interval" else np.cumsum(total) - total / 2
    return (scale[:, None] - scale) ** 2


@dataclass(frozen=True)
class Icc:
    """Intraclass correlation of two-way random effects, absolute agreement (Shrout and Fleiss 1979, ICC(2)).

    single: ICC(2,1), of one rater; mean: ICC(2,k), of the mean of the raters. units: those that all raters rated.
    """

    single: float
    mean: float
    units: int


def icc(ratings: ArrayLike) -> Icc | None:
    """ICC(2,1) and ICC(2,k) of (units, raters); units that lack a rating, NaN, are left out.

    None if fewer than two units or two raters are left, or nothing varies.
    """
    table = np.asarray(ratings, np.float64)
    table = table[~np.isnan(table).any(axis=1)]
    n, k = table.shape
    if n < 2 or k < 2:
        return None
    mean = table.mean()
    rows, columns = table.mean(axis=1), table.mean(axis=0)
    between_units = k * ((rows - mean) ** 2).sum() / (n - 1)
    between_raters = n * ((columns - mean) ** 2).sum() / (k - 1)
    error = ((table - rows[:, None] - columns + mean) ** 2).sum() / ((n - 1) * (k - 1))
    shared = (between_raters - error) / n
    single, many = between_units + (k - 1) * error + k * shared, between_units + shared
    if not single or not many:
        return None
    return Icc(float((between_units - error) / single), float((between_units - error) / many), n)


def within_one(ratings: ArrayLike) -> float | None:
    """The share of pairs of ratings of one unit that are at most one point apart; ratings (raters, units)."""
    table = np.asarray(ratings, np.float64)
    first, second = np.triu_indices(len(table), 1)
    apart = np.abs(table[first] - table[second])
    both = ~np.isnan(apart)
    return float((apart[both] <= 1).mean()) if both.any() else None


def spread_per_unit(ratings: ArrayLike) -> float | None:
    """The mean over units, which two raters or more rated, of the standard deviation of ratings (raters, units)."""
    table = np.asarray(ratings, np.float64)
    table = table[:, (~np.isnan(table)).sum(axis=0) >= 2]
    return float(np.nanstd(table, axis=0, ddof=1).mean()) if table.shape[1] else None


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
