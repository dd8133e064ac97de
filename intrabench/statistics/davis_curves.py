"""The numbers of DAVIS Interactive from rows: quality against the model's time, on a time axis that sessions share."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from intrabench.davis.summary import Curve
from intrabench.errors import IntraBenchError
from intrabench.mask import Floats
from intrabench.results.current import IDENTITY
from intrabench.statistics.aggregate import Aggregation, aggregate
from intrabench.statistics.curves import check_bounded
from intrabench.statistics.steps import Steps

LINE = ("dataset", *IDENTITY)
"""Sessions that share a time axis."""


def davis_auc(played: Steps, seconds: float, step: bool = False) -> pl.DataFrame:
    """The mean quality of each session over the time of the model; its mean over targets is the published AUC.

    The time of a round is the mean over the joint sessions of a data set, each with the time of all its targets; the
    axis ends at `seconds` for each object of an average case. step: an answer counts from when it is there, else on
    the line to it.
    """
    if not 0 < seconds < np.inf:
        raise IntraBenchError(f"there is no area over {seconds:g} seconds; give a finite time above 0")
    found = np.zeros(played.sessions.height)
    for places, curves in _curves(played, seconds):
        found[places] = [one.auc_step if step else one.auc for one in curves]
    return played.scored(found)


def davis_at(played: Steps, after: float, step: bool = False) -> pl.DataFrame:
    """The quality of each session `after` so many seconds, on the same axis."""
    found = np.zeros(played.sessions.height)
    for places, curves in _curves(played, after):
        found[places] = [one.at(after, step) for one in curves]
    return played.scored(found)


def mean_curves(played: Steps, seconds: float, how: Aggregation) -> pl.DataFrame:
    """The published curve of each line, whose area is `davis_auc`: `line`, `dataset`, `time_s` and `value`, in order.

    From (0, 0) to the time and the mean value after each round, and on at the last value until the end of the axis.
    """
    parts = []
    for places, curves in _curves(played, seconds):
        quality = np.zeros(played.sessions.height)
        for time, values in zip(curves[0].time_s, np.array([one.quality for one in curves]).T, strict=True):
            quality[places] = values
            means = aggregate(played.scored(quality)[places], ["line"], how)
            parts.append(means.select("line", "dataset", "value").with_columns(time_s=pl.lit(time)))
    return pl.concat(parts)


def _curves(played: Steps, seconds: float) -> Iterator[tuple[NDArray[np.int64], list[Curve]]]:
    """The sessions of each line (rows of `played.sessions`), and their curves."""
    check_bounded(played)
    sessions = played.sessions.with_row_index("_row")
    sessions = sessions.with_columns(_joint=pl.coalesce("joint", "session"))
    rounds = int(played.effort("round").max(initial=0)) + 1
    quality = np.stack([played.at("round", number) for number in range(rounds)], axis=1)
    spent = np.stack([_spent(played, number) for number in range(rounds)], axis=1)
    for _, line in sessions.group_by(*(name for name in LINE if name in sessions.columns), maintain_order=True):
        places = line["_row"].to_numpy().astype(np.int64)
        reached = spent[places].sum(axis=0) / line["_joint"].n_unique()
        longest = seconds * line.select("case", "target").n_unique() / line["case"].n_unique()
        time = (0.0, *reached.tolist(), max(longest, float(reached[-1])))
        yield places, [Curve(time, (0.0, *row.tolist(), float(row[-1]))) for row in quality[places]]


def _spent(played: Steps, number: int) -> Floats:
    """(sessions) Seconds of the model up to a round."""
    until = played.effort("round") <= number
    found = np.zeros(played.sessions.height)
    np.maximum.at(found, played.session[until], played.effort("seconds")[until])
    return found
