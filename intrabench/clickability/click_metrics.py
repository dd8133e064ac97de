"""Metrics of how well a click map fits the real clicks on one instance.

Table 3 of RClicks (https://arxiv.org/abs/2410.11722), as computed by ``scripts/evaluate_click_models.py`` of
https://github.com/emb-ai/rclicks: as many clicks as real ones are drawn from the map, repeatedly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.special import kolmogorov

from intrabench.mask import Floats

Clicks = NDArray[np.int64]
"""Rows ``y, x``, pixels of the image: ``(n, 2)``, or ``(bootstraps, n, 2)`` for drawn clicks."""

BOOTSTRAPS = 100
SIGNIFICANT = 0.05
_EPSILON = 1e-9


@dataclass(frozen=True)
class ClickMetrics:
    """Metrics that compare drawn with real clicks (`pl1`, `wd`, `ks`) or the map with real clicks (`nss`, `pde`).

    pl1: mean distance of all pairs; y in units of the height, x in units of the width of the target's box. wd:
    Wasserstein distance in units of the diagonal of the target's box. ks: share of draws that `ks2d` does not
    distinguish from the real clicks (p > 0.05). nss: normalised scanpath saliency, the map in standard deviations from
    its mean. pde: mean probability of a real click's pixel; it decreases with the number of pixels of the image.
    """

    pl1: float
    wd: float
    ks: float
    nss: float
    pde: float


def click_metrics(
    probability: NDArray[np.floating],
    target: NDArray[np.bool_],
    clicks: Clicks,
    random: np.random.Generator | np.random.RandomState,
    bootstraps: int = BOOTSTRAPS,
) -> ClickMetrics:
    """Compare one map ``(y, x)``, not negative and of any sum, with the real clicks ``(n, 2)``.

    target: ``(y, x)`` the whole instance, also where the clicks correct a part of it or lie beside it.

    Raises:
        ValueError: the map has values that are negative or not finite, or only zeros; there are no clicks, or one lies
            outside of the image; the target is empty or has a different size.
    """
    _check(probability, target, clicks)
    weights = probability.astype(np.float64)
    drawn = sample(weights, (bootstraps, len(clicks)), random)
    box = sides(target)
    return ClickMetrics(
        pl1(drawn, clicks, box), wd(drawn, clicks, box), ks(drawn, clicks), nss(weights, clicks), pde(weights, clicks)
    )


def sample(weights: Floats, size: tuple[int, int], random: np.random.Generator | np.random.RandomState) -> Clicks:
    """Draw clicks ``(*size, 2)`` independently, with the probability weights / sum of each pixel.

    Each click uses one number of the stream, in order, which is looked up in the cumulative map.
    """
    cumulated = np.cumsum(weights)
    flat = np.searchsorted(cumulated / cumulated[-1], random.random(size), side="right")
    return np.stack(np.unravel_index(flat, weights.shape), axis=-1)


def pl1(drawn: Clicks, clicks: Clicks, box: Floats) -> float:
    """`ClickMetrics.pl1`; box: `sides` of the target."""
    distances = [abs(drawn - click).mean(axis=(0, 1)) for click in clicks]
    return float((np.mean(distances, axis=0) / box).sum())


def wd(drawn: Clicks, clicks: Clicks, box: Floats) -> float:
    """`ClickMetrics.wd`; box: `sides` of the target."""
    return float(np.mean([_transport(one, clicks) for one in drawn]) / np.hypot(*box))


def _transport(one: Clicks, other: Clicks) -> float:
    """The Wasserstein distance of two samples in pixels."""
    if len(one) != len(other):
        from scipy.stats import wasserstein_distance_nd  # takes long to import

        return float(wasserstein_distance_nd(one, other))
    # of equal numbers of points, the cheapest transport is an assignment, which is found much faster
    cost = cdist(one, other)
    return float(cost[linear_sum_assignment(cost)].mean())


def ks(drawn: Clicks, clicks: Clicks) -> float:
    """`ClickMetrics.ks`; clicks on a line cannot be tested and count as distinguished."""
    return float(np.mean([ks2d(clicks, one) > SIGNIFICANT for one in drawn]))


def nss(weights: Floats, clicks: Clicks) -> float:
    """`ClickMetrics.nss`, over the whole image."""
    probability = weights / (weights.sum() + _EPSILON)
    return float((probability[*clicks.T] - probability.mean()).mean() / (probability.std() + _EPSILON))


def pde(weights: Floats, clicks: Clicks) -> float:
    """`ClickMetrics.pde`."""
    return float(weights[*clicks.T].mean() / (weights.sum() + _EPSILON))


def sides(target: NDArray[np.bool_]) -> Floats:
    """``(height, width)`` of the target's box in pixels."""
    places = np.argwhere(target)
    return np.asarray(np.ptp(places, axis=0) + 1, np.float64)


def _check(probability: NDArray[np.floating], target: NDArray[np.bool_], clicks: Clicks) -> None:
    if not np.isfinite(probability).all() or (probability < 0).any() or not probability.any():
        raise ValueError("a click map must be finite, without negative values and with a positive one")
    if target.shape != probability.shape or not target.any():
        raise ValueError(f"the target must have pixels and the size {probability.shape} of the map, not {target.shape}")
    if len(clicks) == 0 or (clicks < 0).any() or (clicks >= probability.shape).any():
        raise ValueError(f"clicks must be rows y, x within the map of {probability.shape} pixels, at least one")


def ks2d(one: Clicks, other: Clicks) -> float:
    """The approximate p-value of the two-dimensional Kolmogorov-Smirnov test of two samples of points.

    It is the probability that samples of one distribution differ at least this much; NaN if a sample lies on a
    horizontal or vertical line, where the correlation is undefined. G. Fasano and A. Franceschini, "A multidimensional
    version of the Kolmogorov-Smirnov test", MNRAS 225, 155 (1987), with the significance of Press et al., "Numerical
    Recipes", section 14.8, as https://github.com/syrte/ndtest computes it.
    """
    statistic = (_largest_difference(one, other) + _largest_difference(other, one)) / 2
    size = math.sqrt(len(one) * len(other) / (len(one) + len(other)))
    independent = math.sqrt(1 - (_correlation(one) ** 2 + _correlation(other) ** 2) / 2)
    return float(kolmogorov(statistic * size / (1 + independent * (0.25 - 0.75 / size))))


def _largest_difference(origins: Clicks, other: Clicks) -> float:
    """The largest difference between the shares of both samples in the quadrants around points of the first sample.

    The point itself could be counted in any quadrant; it is counted where it makes the difference largest.
    """
    differences = _shares(origins, origins) - _shares(origins, other)
    weight = 1 / len(origins)
    # `_shares` counts the point itself in the first quadrant: without it there, the first sample falls short by most,
    # and with it in the quadrant of the largest difference, it exceeds by most
    differences[0] -= weight
    return float(max(-differences.min(), differences.max() + weight))


def _shares(origins: Clicks, sample: Clicks) -> NDArray[np.float64]:
    """The shares of a sample in the quadrants around each origin, (4, origins); points on an axis count as below it."""
    first, second = (sample[:, axis] <= origins[:, axis, None] for axis in (0, 1))
    both = (first & second).mean(axis=1)
    only_first, only_second = first.mean(axis=1) - both, second.mean(axis=1) - both
    return np.stack([both, only_first, only_second, 1 - both - only_first - only_second])


def _correlation(points: Clicks) -> float:
    """Pearson's correlation, clipped to 1; NaN if one coordinate is constant."""
    away = points - points.mean(axis=0)
    lengths = np.sqrt((away * away).sum(axis=0)).prod()
    return float(np.clip((away[:, 0] * away[:, 1]).sum() / lengths, -1, 1)) if lengths else math.nan
