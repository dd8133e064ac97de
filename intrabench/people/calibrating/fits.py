"""Seconds of actions and parameters of the user error model (`intrabench.prompters.hand`), fitted to what people did.

The time for all actions of a kind in a turn is ``each * n + once_per_round``, as effort tables have it. Each action
scatters by itself, so least squares weigh a turn by 1 / n; neither number is negative. How much is once per round is
only known if there are turns with one action of the kind and turns with several; else everything is `each`.

Edges of drawn boxes lie outwards of the tight box of the reference by ``box_slack * size + N(0, jitter_mm)``, rounded
to voxels, which adds a variance of a twelfth. A click has the wrong sign if it is positive beside the reference, or
negative in it. Nobody knows where a click was meant to land, so clicks tell nothing about the jitter; those within two
jitters of the boundary may have slipped over it, so they do not tell a wrong sign either, and are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from intrabench.effort import kinds
from intrabench.mask import Floats
from intrabench.people.places import depth_mm, edges
from intrabench.people.playback import StoredSession
from intrabench.prompts import Prompts
from intrabench.statistics.clustered import clustered, proportion_interval
from intrabench.statistics.resample import FEW

LEAST = 30
"""Actions of a kind from which its seconds are measured: times of people scatter about as much as their mean, so that
of fewer is uncertain by more than a fifth, and no better than a published number. The same for edges and clicks."""


@dataclass(frozen=True)
class Estimate:
    """A number; NaN if nothing was observed. low, high: of 95 %, NaN if there is no interval. n: observations."""

    value: float
    low: float
    high: float
    n: int
    sessions: int

    @property
    def enough(self) -> bool:
        """Whether it counts: `LEAST` observations, and as many sessions as an interval needs."""
        return self.n >= LEAST and self.sessions >= FEW


def estimates(found: Sequence[Floats], n: int, sessions: int) -> list[Estimate]:
    """Of the values and both ends that `clustered` gives."""
    ends = zip(*(part.tolist() for part in found), strict=True)
    return [Estimate(value, low, high, n, sessions) for value, low, high in ends]


APART = 10
"""So many turns with one action of a kind, and with several, tell what is once per round."""


@dataclass(frozen=True)
class Seconds:
    """The seconds of a kind of action. once: None if it cannot be told from `each`, of which it then is a part."""

    kind: str
    each: Estimate
    once: Estimate | None


def fit_seconds(actions: pl.DataFrame) -> list[Seconds]:
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
        return Seconds(kind, Estimate(np.nan, np.nan, np.nan, 0, 0), None)
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
    numbers = estimates(found, actions.height, sums.height)
    return Seconds(kind, numbers[0], numbers[1] if apart else None)


def _mean(sums: Floats) -> Floats:
    """(..., 5) sums to (..., 1): the mean seconds of an action."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(sums[..., 3:4] / sums[..., 0:1])


def _both(sums: Floats) -> Floats:
    """(..., 5) sums to (..., 2): `each` and `once`, by least squares without negative numbers."""
    # A turn of n actions takes n * each + once seconds. These are the normal equations with weights 1 / n, for the
    # variance of a turn grows with n; where one of the two would be negative, it is 0 and the other is fitted alone.
    n, turns, inverse, total, per = np.moveaxis(sums, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        determinant = n * inverse - turns**2
        each = (total * inverse - turns * per) / determinant
        once = (n * per - turns * total) / determinant
        mean, alone = total / n, per / inverse
    each, once = np.where(once < 0, mean, each), np.where(once < 0, 0.0, once)
    return np.stack([np.where(each < 0, 0.0, each), np.where(each < 0, alone, once)], axis=-1)


SLIP = 2.0
"""Jitters from the boundary within which a click may have slipped over it."""


@dataclass
class Hits:
    """What people did, per session. edges: as of `places.edges`. clicks: (n, 2) depth in the reference in mm, label.

    beside: boxes that do not overlap the reference in their slice, or enclose less than `places.SMALLEST` voxels.
    """

    rater: list[str] = field(default_factory=list)
    edges: list[Floats] = field(default_factory=list)
    clicks: list[Floats] = field(default_factory=list)
    beside: int = 0


def hits(sessions: Iterable[StoredSession]) -> Hits:
    """Look at every turn; its `rater` is in the rows."""
    found = Hits()
    for played in sessions:
        prompts = [turn.prompts for turns in played.rounds.values() for turn in turns]
        drawn = [box for one in prompts for box in edges(played.target, one)]
        boxes = sum(len(one.drawn_boxes2d) + (one.box3d is not None) for one in prompts)
        found.rater.append(str(played.row["rater"]))
        found.edges.append(np.vstack([np.zeros((0, 3)), *drawn]))
        found.clicks.append(np.vstack([np.zeros((0, 2)), *(_clicks(played, one) for one in prompts)]))
        found.beside += boxes - len(drawn)
    return found


def fit_hand(found: Hits) -> dict[str, Estimate]:
    """`jitter_mm`, `miss_rate` and `box_slack`."""
    sums = np.array([_sums(one) for one in found.edges]).reshape(-1, 5)
    some = sums[:, 3] > 0
    raters = [rater for rater, has in zip(found.rater, some, strict=True) if has]
    slack = jitter = Estimate(np.nan, np.nan, np.nan, 0, 0)
    if some.any():
        ends = clustered(sums[some], raters, _slack_and_jitter)
        slack, jitter = estimates(ends, int(sums[:, 3].sum()), int(some.sum()))
    return {"jitter_mm": jitter, "miss_rate": _misses(found, SLIP * np.nan_to_num(jitter.value)), "box_slack": slack}


def _clicks(played: StoredSession, prompts: Prompts) -> Floats:
    points = prompts.clicked_points
    points = points[~played.target.ignore.contains(points[:, :3])]
    return np.column_stack([depth_mm(played.target.mask, points[:, :3], played.target.spacing_mm), points[:, 3]])


def _sums(edges: Floats) -> Floats:
    """(n, 3) edges to the five sums of `_slack_and_jitter`."""
    outwards, size, spacing = edges.T
    return np.array(
        [(outwards * size).sum(), (size**2).sum(), (outwards**2).sum(), len(edges), (spacing**2).sum() / 12]
    )


def _slack_and_jitter(sums: Floats) -> Floats:
    """(..., 5) sums to (..., 2): the slope through the origin, and the scatter about it without that of rounding."""
    # Edges lie between voxels, which adds the variance of rounding, spacing² / 12 each, to that of the hand.
    product, squares, scatter, count, rounding = np.moveaxis(sums, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        slack = np.maximum(product / squares, 0)
        variance = (scatter - 2 * slack * product + slack**2 * squares) / (count - 1) - rounding / count
    return np.stack([slack, np.sqrt(np.maximum(variance, 0))], axis=-1)


def _misses(found: Hits, slip_mm: float) -> Estimate:
    """The share of clicks with the wrong sign; its interval also holds that of independent clicks."""
    far = [one[np.abs(one[:, 0]) > slip_mm] for one in found.clicks]
    sums = np.array([[((one[:, 0] > 0) != (one[:, 1] == 1)).sum(), len(one)] for one in far]).reshape(-1, 2)
    some = sums[:, 1] > 0
    wrong, count = (int(value) for value in sums.sum(axis=0))
    if not count:
        return Estimate(np.nan, np.nan, np.nan, 0, 0)
    raters = [rater for rater, has in zip(found.rater, some, strict=True) if has]
    (one,) = estimates(clustered(sums[some], raters, _share), count, int(some.sum()))
    low, high = proportion_interval(wrong, count)
    return Estimate(one.value, min(one.low, low), max(one.high, high), count, one.sessions) if one.low >= 0 else one


def _share(sums: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(sums[..., :1] / sums[..., 1:])
