"""How well a map of where people click fits the clicks that people made on one instance.

Table 3 of RClicks (https://arxiv.org/abs/2410.11722), as ``scripts/evaluate_click_models.py`` of
https://github.com/emb-ai/rclicks computes it: clicks are drawn from the map, again and again as many as were made.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from intrabench.clickability.ks2d import ks2d

Floats = NDArray[np.float64]
Clicks = NDArray[np.int64]
"""Rows ``y, x``, pixels of the image: ``(n, 2)``, or ``(bootstraps, n, 2)`` where they are drawn."""

BOOTSTRAPS = 100
SIGNIFICANT = 0.05
_EPSILON = 1e-9


@dataclass(frozen=True)
class ClickMetrics:
    """What is compared: drawn clicks with real ones (`pl1`, `wd`, `ks`), and the map at the real ones (`nss`, `pde`).

    pl1: mean distance of all pairs, the one along y in heights and the one along x in widths of the target's box.
    wd: Wasserstein distance, in diagonals of the target's box. ks: share of draws that `ks2d` does not tell from the
    real clicks (p > 0.05). nss: normalised scanpath saliency, the map in standard deviations from its mean. pde: mean
    probability of a real click's pixel, which is the smaller the more pixels the image has.
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
        ValueError: the map has values below 0, that are not finite, or no other than 0; there is no click, or one lies
            outside of the image; the target is empty or of another size.
    """
    _check(probability, target, clicks)
    weights = probability.astype(np.float64)
    drawn = sample(weights, (bootstraps, len(clicks)), random)
    box = _sides(target)
    return ClickMetrics(
        pl1(drawn, clicks, box), wd(drawn, clicks, box), ks(drawn, clicks), nss(weights, clicks), pde(weights, clicks)
    )


def sample(weights: Floats, size: tuple[int, int], random: np.random.Generator | np.random.RandomState) -> Clicks:
    """Clicks ``(*size, 2)``, each independently in a pixel with the probability weights / sum.

    One number is taken from the stream for each, in order, and looked up in the cumulated map.
    """
    cumulated = np.cumsum(weights)
    flat = np.searchsorted(cumulated / cumulated[-1], random.random(size), side="right")
    return np.stack(np.unravel_index(flat, weights.shape), axis=-1)


def pl1(drawn: Clicks, clicks: Clicks, box: Floats) -> float:
    """`ClickMetrics.pl1`; box: ``(height, width)`` of the target."""
    distances = [abs(drawn - click).mean(axis=(0, 1)) for click in clicks]
    return float((np.mean(distances, axis=0) / box).sum())


def wd(drawn: Clicks, clicks: Clicks, box: Floats) -> float:
    """`ClickMetrics.wd`; box: ``(height, width)`` of the target.

    Between as many points as there are others, the cheapest transport takes each to one.
    """
    costs = (cdist(one, clicks) for one in drawn)
    return float(np.mean([cost[linear_sum_assignment(cost)].mean() for cost in costs]) / np.hypot(*box))


def ks(drawn: Clicks, clicks: Clicks) -> float:
    """`ClickMetrics.ks`; clicks on a line, which the test cannot compare, count as told apart."""
    return float(np.mean([ks2d(clicks, one) > SIGNIFICANT for one in drawn]))


def nss(weights: Floats, clicks: Clicks) -> float:
    """`ClickMetrics.nss`, over the whole image."""
    probability = weights / (weights.sum() + _EPSILON)
    return float((probability[*clicks.T] - probability.mean()).mean() / (probability.std() + _EPSILON))


def pde(weights: Floats, clicks: Clicks) -> float:
    """`ClickMetrics.pde`."""
    return float(weights[*clicks.T].mean() / (weights.sum() + _EPSILON))


def _sides(target: NDArray[np.bool_]) -> Floats:
    """``(height, width)`` of the target's box in pixels."""
    places = np.argwhere(target)
    return np.asarray(np.ptp(places, axis=0) + 1, np.float64)


def _check(probability: NDArray[np.floating], target: NDArray[np.bool_], clicks: Clicks) -> None:
    if not np.isfinite(probability).all() or (probability < 0).any() or not probability.any():
        raise ValueError("a map of clicks must be finite, nowhere below 0 and somewhere above")
    if target.shape != probability.shape or not target.any():
        raise ValueError(f"the target must have pixels and the size {probability.shape} of the map, not {target.shape}")
    if len(clicks) == 0 or (clicks < 0).any() or (clicks >= probability.shape).any():
        raise ValueError(f"clicks must be rows y, x within the map of {probability.shape} pixels, at least one")
