"""Seconds of actions, fitted to what people did.

The time for all actions of a kind in a turn is ``each * n + once_per_round``, as effort tables have it. Each action
scatters by itself, so least squares weigh a turn by 1 / n; neither number is negative. How much is once per round is
only known if there are turns with one action of the kind and turns with several; else everything is `each`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from intrabench.effort import kinds
from intrabench.mask import Floats
from intrabench.people.calibrating.estimate import Measured, measured
from intrabench.statistics.clustered import clustered

APART = 10
"""So many turns with one action of a kind, and with several, tell what is once per round."""


@dataclass(frozen=True)
class Seconds:
    """The seconds of a kind of action. once: None if it cannot be told from `each`, of which it then is a part."""

    kind: str
    each: Measured
    once: Measured | None


def fitted(actions: pl.DataFrame) -> list[Seconds]:
    """The seconds of every kind of action. actions: of `read_actions`; what was taken back is left out."""
    counted = actions.filter(~pl.col("undone"))
    return [_of_kind(kind, counted.filter(kind=kind)) for kind in kinds()]


def overhead(actions: pl.DataFrame) -> dict[str, float]:
    """Seconds that no action of the rows costs: of turns that were taken back, of taking back, and of finishing."""
    spent = {
        "seconds_of_actions": pl.col("kind").is_in(["undo", "finish"]).not_() & ~pl.col("undone"),
        "seconds_taken_back": pl.col("kind").is_in(["undo", "finish"]).not_() & pl.col("undone"),
        "seconds_of_undo": pl.col("kind") == "undo",
        "seconds_of_finish": pl.col("kind") == "finish",
    }
    return {name: round(float(actions.filter(which)["seconds"].sum()), 1) for name, which in spent.items()}


def _of_kind(kind: str, actions: pl.DataFrame) -> Seconds:
    if actions.is_empty():
        return Seconds(kind, Measured(np.nan, np.nan, np.nan, 0, 0), None)
    turns = actions.group_by("session", "rater", "event").agg(n=pl.len().cast(pl.Float64), t=pl.col("seconds").sum())
    sums = turns.group_by("session", "rater", maintain_order=False).agg(
        pl.col("n").sum(),
        pl.len().cast(pl.Float64).alias("turns"),
        (1 / pl.col("n")).sum().alias("inverse"),
        pl.col("t").sum(),
        (pl.col("t") / pl.col("n")).sum().alias("per"),
    )
    sums = sums.sort("session")
    each = sums.select("n", "turns", "inverse", "t", "per").to_numpy()
    single = int((turns["n"] == 1).sum())
    apart = min(single, turns.height - single) >= APART
    found = clustered(each, sums["rater"].to_list(), _both if apart else _mean)
    numbers = measured(found, actions.height, sums.height)
    return Seconds(kind, numbers[0], numbers[1] if apart else None)


def _mean(sums: Floats) -> Floats:
    """(..., 5) sums to (..., 1): the mean seconds of an action."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(sums[..., 3:4] / sums[..., 0:1])


def _both(sums: Floats) -> Floats:
    """(..., 5) sums to (..., 2): `each` and `once`, by least squares without negative numbers."""
    n, turns, inverse, total, per = np.moveaxis(sums, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        determinant = n * inverse - turns**2
        each = (total * inverse - turns * per) / determinant
        once = (n * per - turns * total) / determinant
        mean, alone = total / n, per / inverse
    each, once = np.where(once < 0, mean, each), np.where(once < 0, 0.0, once)
    return np.stack([np.where(each < 0, 0.0, each), np.where(each < 0, alone, once)], axis=-1)
