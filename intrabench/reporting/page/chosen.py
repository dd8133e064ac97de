"""Choose targets for the viewer: from the worst to the best of each data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from intrabench.target import WHOLE_CASE

TARGETS = 12
"""Number of targets per data set, unless another is asked for."""
SESSIONS = 12
"""Maximum number of sessions shown per target."""


@dataclass(frozen=True)
class Chosen:
    """A target, its rank in its data set by final Dice, and sessions on it, the best first.

    played: number of sessions on the target.
    """

    dataset: str
    case: str
    target: str
    place: str
    dice: float
    sessions: tuple[dict[str, Any], ...]
    played: int


def chosen(scored: pl.DataFrame, per_dataset: int) -> list[Chosen]:
    """Targets spread evenly over the ranks of each data set, from the worst to the best, by the mean of all sessions.

    scored: `scores`; ties are ordered by name. Of many sessions on a target, some between best and worst are chosen.
    """
    scored = scored.filter((pl.col("target") != WHOLE_CASE) & pl.col("value").is_not_null())
    means = scored.group_by("dataset", "case", "target").agg(pl.col("value").mean(), pl.len().alias("played"))
    found = []
    for ranked in means.sort("dataset", "value", "case", "target").partition_by("dataset", maintain_order=True):
        for number in spread(ranked.height, per_dataset):
            one = ranked.row(number, named=True)
            here = [pl.col(name) == one[name] for name in ("dataset", "case", "target")]
            sessions = scored.filter(*here).sort(["value", "session"], descending=[True, False]).to_dicts()
            kept = tuple(sessions[index] for index in spread(len(sessions), SESSIONS))
            place = _place(number, ranked.height)
            found.append(Chosen(one["dataset"], one["case"], one["target"], place, one["value"], kept, one["played"]))
    return found


def spread(count: int, most: int) -> Sequence[int]:
    """Evenly spaced numbers from 0 to `count`, including the first and the last."""
    indices: list[int] = np.linspace(0, count - 1, min(count, most)).round().astype(int).tolist()
    return indices


def _place(number: int, count: int) -> str:
    """A rank in words."""
    if count == 1:
        return "only target"
    ends = {0: "worst", count - 1: "best"}
    middle = {round((count - 1) / 2): "median"}
    return (middle | ends).get(number, f"{number + 1} of {count} from the worst")
