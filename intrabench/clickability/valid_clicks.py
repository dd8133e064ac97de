"""Which collected clicks count, as RClicks chose them: people who mostly hit, and clicks that nearly hit."""

from __future__ import annotations

import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.mask import Bools

GROUP, HITS = 10, 7
"""Of the clicks of a person in turn, so many at a time are looked at, and so many of them must be on their targets."""
RADIUS = 5.0
"""Pixels: a click radius, as networks of RITM's family draw a click. The paper's own value is not known here."""


def beside(mask: Bools, y: int, x: int) -> float:
    """The distance in pixels from a pixel to the nearest one of a mask ``(y, x)`` that is not empty; 0 on it."""
    import numpy as np

    return round(float(np.sqrt(((np.argwhere(mask) - (y, x)) ** 2).sum(axis=1).min())), 3)


def valid(clicks: pl.DataFrame, radius: float = RADIUS, hits: int = HITS, group: int = GROUP) -> pl.DataFrame:
    """The rows of a file of clicks that count.

    First, the clicks of a person (`rater`) in one `display` are taken `group` at a time in the order of the file; those
    of a group with fewer than `hits` on their targets are dropped, and of a smaller last group as many in proportion.
    Then clicks that lie further beside their target than `radius` pixels are dropped.

    clicks: with the columns rater, display and `beside`, the distance to the target in pixels.

    Raises:
        IntraBenchError: a column is missing.
    """
    missing = [name for name in ("rater", "display", "beside") if name not in clicks.columns]
    if missing:
        raise IntraBenchError(
            f"these clicks have no column {missing[0]}; give clicks that `intrabench annotate --first-clicks` collected"
        )
    who = ["rater", "display"]
    number = pl.int_range(pl.len()).over(who) // group
    part = [*who, "_group"]
    counted = clicks.with_columns(number.alias("_group")).with_columns(_share=(pl.col("beside") == 0).mean().over(part))
    kept = counted.filter(pl.col("_share") >= hits / group - 1e-9, pl.col("beside") <= radius)
    return kept.select(clicks.columns)
