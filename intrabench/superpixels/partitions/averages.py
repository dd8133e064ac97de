"""Averages over numbers of superpixels: AMR, AUE and AUV (Stutz et al. 2018, section 6.3 and appendix C.2)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

LEAST, MOST = 200, 5200
"""The numbers of superpixels between which curves are averaged."""
ENOUGH = 20
"""With fewer numbers of superpixels, the straight lines between them are a rough guess of the curve."""


def average_loss(points: Iterable[tuple[float, float]], least: float = LEAST, most: float = MOST) -> float:
    """The mean of a loss between two numbers of superpixels, in percent.

    points: number of superpixels (the mean over images) and loss: 1 - Rec, UE or 1 - EV. The curve is linear between
    its points. Where it does not reach `least` or `most`, the value of its nearest point counts. Points with the same
    number count as their mean.

    Raises:
        ValueError: there is no point.
    """
    by_number: dict[float, list[float]] = {}
    for number, loss in points:
        by_number.setdefault(number, []).append(loss)
    if not by_number:
        raise ValueError("a curve needs at least one point")
    numbers = np.array(sorted(by_number))
    losses = np.array([np.mean(by_number[number]) for number in numbers])
    inside = numbers[(numbers > least) & (numbers < most)]
    steps = np.array([least, *inside, most])
    return float(100 * np.trapezoid(np.interp(steps, numbers, losses), steps) / (most - least))
