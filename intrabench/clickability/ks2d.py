"""The two-dimensional Kolmogorov-Smirnov test: whether two samples of points have the same distribution.

G. Fasano and A. Franceschini, "A multidimensional version of the Kolmogorov-Smirnov test", MNRAS 225, 155 (1987), with
the significance of Press et al., "Numerical Recipes", section 14.8, as https://github.com/syrte/ndtest computes it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import kolmogorov

Points = NDArray[np.int64]
"""``(n, 2)``."""


def ks2d(one: Points, other: Points) -> float:
    """The approximate p-value: the probability that samples of one distribution differ at least this much.

    It is NaN if a sample lies on a horizontal or vertical line, where the correlation is undefined.
    """
    statistic = (_largest_difference(one, other) + _largest_difference(other, one)) / 2
    size = math.sqrt(len(one) * len(other) / (len(one) + len(other)))
    independent = math.sqrt(1 - (_correlation(one) ** 2 + _correlation(other) ** 2) / 2)
    return float(kolmogorov(statistic * size / (1 + independent * (0.25 - 0.75 / size))))


def _largest_difference(origins: Points, other: Points) -> float:
    """The largest difference between the shares of both samples in the quadrants around points of the first sample.

    The point itself could be counted in any quadrant; it is counted where it makes the difference largest.
    """
    differences = _shares(origins, origins) - _shares(origins, other)
    own = 1 / len(origins)
    differences[0] -= own
    return float(max(-differences.min(), differences.max() + own))


def _shares(origins: Points, sample: Points) -> NDArray[np.float64]:
    """The shares of a sample in the quadrants around each origin, (4, origins); points on an axis count as below it."""
    first, second = (sample[:, axis] <= origins[:, axis, None] for axis in (0, 1))
    both = (first & second).mean(axis=1)
    only_first, only_second = first.mean(axis=1) - both, second.mean(axis=1) - both
    return np.stack([both, only_first, only_second, 1 - both - only_first - only_second])


def _correlation(points: Points) -> float:
    """Pearson's correlation, clipped to 1; NaN if one coordinate is constant."""
    away = points - points.mean(axis=0)
    lengths = np.sqrt((away * away).sum(axis=0)).prod()
    return float(np.clip((away[:, 0] * away[:, 1]).sum() / lengths, -1, 1)) if lengths else math.nan
