"""People who click on what catches the eye: there are no recorded clicks here, so these stand in for them.

Every image shows one ellipse with a small red spot somewhere off its middle. Clicks fall around the spot, wherever the
middle of the error may be; a map that does not look at the image cannot know where that is.
"""

from __future__ import annotations

import numpy as np

from intrabench.clickability.clicked_images import Example
from intrabench.randomness import stream

CLICKS = 12
SPREAD = 2.5
"""Standard deviation of clicks around the spot, pixels."""


def examples(count: int, side: int, purpose: str) -> list[Example]:
    """Examples of side x side pixels; every second one is of a first click, the others miss half of the target."""
    return [_example(stream("simulated clicks", purpose, number), side, number % 2 == 0) for number in range(count)]


def _example(rng: np.random.Generator, side: int, first: bool) -> Example:
    y, x = np.mgrid[:side, :side]
    radii = rng.uniform(0.18, 0.3, 2) * side
    middle = rng.uniform(0.35, 0.65, 2) * side
    angle, off = rng.uniform(0, 2 * np.pi), rng.uniform(0.55, 0.7)
    spot = middle + off * radii * (np.sin(angle), np.cos(angle))
    target = ((y - middle[0]) / radii[0]) ** 2 + ((x - middle[1]) / radii[1]) ** 2 <= 1
    seen = target & ((y - spot[0]) ** 2 + (x - spot[1]) ** 2 <= (0.05 * side) ** 2)
    image = rng.normal(90, 15, (side, side, 3))
    image[target] += rng.uniform(30, 60, 3)
    image[seen] = (230, 40, 40)
    missed = (y - middle[0]) * np.sin(angle) + (x - middle[1]) * np.cos(angle) > 0
    error = target if first else target & missed  # the half with the spot
    clicks = np.empty((0, 2), np.int64)
    while len(clicks) < CLICKS:
        drawn = np.rint(rng.normal(spot, SPREAD, (CLICKS, 2))).astype(np.int64)
        drawn = drawn[((drawn >= 0) & (drawn < side)).all(axis=1)]
        clicks = np.vstack([clicks, drawn[error[drawn[:, 0], drawn[:, 1]]]])
    return Example(image.clip(0, 255).astype(np.uint8), target, error, clicks[:CLICKS])
