"""Parameters of the user error model (`intrabench.prompters.hand`), fitted to the prompts of people.

Edges of drawn boxes lie outwards of the tight box of the reference by ``box_slack * size + N(0, jitter_mm)``, rounded
to voxels, which adds a variance of a twelfth. A click has the wrong sign if it is positive beside the reference, or
negative in it. Nobody knows where a click was meant to land, so clicks tell nothing about the jitter; those within two
jitters of the boundary may have slipped over it, so they do not tell a wrong sign either, and are left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from intrabench.mask import Floats
from intrabench.people.calibrating.estimate import Measured, measured
from intrabench.people.places import depth_mm, edges
from intrabench.people.playback import Played
from intrabench.prompts import Prompts
from intrabench.statistics.clustered import clustered, proportion_interval

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


def hits(sessions: Iterable[Played]) -> Hits:
    """Look at every turn; its `rater` is in the rows."""
    found = Hits()
    for played in sessions:
        given = [turn.prompts for turns in played.rounds.values() for turn in turns]
        drawn = [box for prompts in given for box in edges(played.target, prompts)]
        boxes = sum(len(prompts.drawn_boxes2d) + (prompts.box3d is not None) for prompts in given)
        found.rater.append(str(played.row["rater"]))
        found.edges.append(np.vstack([np.zeros((0, 3)), *drawn]))
        found.clicks.append(np.vstack([np.zeros((0, 2)), *(_clicks(played, prompts) for prompts in given)]))
        found.beside += boxes - len(drawn)
    return found


def fitted(found: Hits) -> dict[str, Measured]:
    """`jitter_mm`, `miss_rate` and `box_slack`."""
    sums = np.array([_sums(one) for one in found.edges]).reshape(-1, 5)
    some = sums[:, 3] > 0
    raters = [rater for rater, has in zip(found.rater, some, strict=True) if has]
    slack = jitter = Measured(np.nan, np.nan, np.nan, 0, 0)
    if some.any():
        ends = clustered(sums[some], raters, _slack_and_jitter)
        slack, jitter = measured(ends, int(sums[:, 3].sum()), int(some.sum()))
    return {"jitter_mm": jitter, "miss_rate": _misses(found, SLIP * np.nan_to_num(jitter.value)), "box_slack": slack}


def _clicks(played: Played, prompts: Prompts) -> Floats:
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
    product, squares, scatter, count, rounding = np.moveaxis(sums, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        slack = np.maximum(product / squares, 0)
        variance = (scatter - 2 * slack * product + slack**2 * squares) / (count - 1) - rounding / count
    return np.stack([slack, np.sqrt(np.maximum(variance, 0))], axis=-1)


def _misses(found: Hits, slip_mm: float) -> Measured:
    """The share of clicks with the wrong sign; its interval also holds that of independent clicks."""
    far = [one[np.abs(one[:, 0]) > slip_mm] for one in found.clicks]
    sums = np.array([[((one[:, 0] > 0) != (one[:, 1] == 1)).sum(), len(one)] for one in far]).reshape(-1, 2)
    some = sums[:, 1] > 0
    wrong, count = (int(value) for value in sums.sum(axis=0))
    if not count:
        return Measured(np.nan, np.nan, np.nan, 0, 0)
    raters = [rater for rater, has in zip(found.rater, some, strict=True) if has]
    (one,) = measured(clustered(sums[some], raters, _share), count, int(some.sum()))
    low, high = proportion_interval(wrong, count)
    return Measured(one.value, min(one.low, low), max(one.high, high), count, one.sessions) if one.low >= 0 else one


def _share(sums: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(sums[..., :1] / sums[..., 1:])
