"""Sessions as step functions of effort.

Between two rounds a session has the score of the earlier one; after its last round it keeps the last score (an early
stop is carried forward). Before its first round it has the worst value, because nothing is segmented yet. Sessions
without a final value (`scores`) have no steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from intrabench.errors import IntraBenchError
from intrabench.mask import Floats
from intrabench.results.schema import MACHINE
from intrabench.specs.specs import nearest
from intrabench.statistics.scores import FailurePolicy, Scale, metric, scores, valued, worst_of

EFFORTS = {
    "interactions": "interactions",
    "dof": "dof",
    "seconds_human": "seconds_human",
    "seconds": "machine_s",
    "round": "round",
}
"""Kinds of effort and their columns; `seconds` is the machine time so far, for encoding and answering."""


@dataclass(frozen=True)
class Steps:
    """The rows of sessions that have a value, sorted by session and round.

    sessions: `scores`, one row per session. start: (sessions) the value while nothing is segmented. session: (steps)
    its row there. value: (steps) from this step on. efforts: by name in `EFFORTS` (steps) so far, never decreasing
    within a session.
    """

    metric: Scale
    sessions: pl.DataFrame
    start: Floats
    session: NDArray[np.int64]
    value: Floats
    efforts: Mapping[str, Floats]

    @property
    def first(self) -> NDArray[np.bool_]:
        """(steps) Whether a step is the first of its session."""
        return np.diff(self.session, prepend=-1) > 0

    @property
    def before(self) -> Floats:
        """(steps) The value up to each step."""
        return np.where(self.first, self.start[self.session], np.roll(self.value, 1))

    def effort(self, against: str) -> Floats:
        """(steps) The effort of this name; an error suggests the nearest."""
        if against not in self.efforts:
            close = nearest(against, self.efforts)
            raise IntraBenchError(f"there is no effort {against!r}{close}; choose from {', '.join(self.efforts)}")
        return self.efforts[against]

    def at(self, against: str, effort: float) -> Floats:
        """(sessions) The value of each session at this effort."""
        taken = np.bincount(self.session[self.effort(against) <= effort], minlength=self.sessions.height)
        last = np.searchsorted(self.session, np.arange(self.sessions.height)) + taken - 1
        return np.where(taken > 0, np.append(self.value, np.nan)[last], self.start)

    def effort_at_end(self, against: str) -> Floats:
        """(sessions) The effort of each session at its end."""
        found = np.zeros(self.sessions.height)
        found[self.session] = self.effort(against)  # efforts rise, and the last step is written last
        return found

    def reach(self, against: str, threshold: float) -> Floats:
        """(sessions) The effort of the first step with at least this value; infinite if there is none."""
        found = np.full(self.sessions.height, np.inf)
        hits = np.flatnonzero(self.value >= threshold)[::-1]
        found[self.session[hits]] = self.effort(against)[hits]  # backwards: the first step is written last
        return found

    def scored(self, values: Floats) -> pl.DataFrame:
        """`sessions` with these values; sessions without a value keep none."""
        column = pl.when(pl.col("value").is_not_null()).then(pl.Series(values))
        return self.sessions.with_columns(value=column)


def steps(rows: pl.DataFrame, name: str = "dice", policy: FailurePolicy | None = None) -> Steps:
    """The steps of all sessions in the metric called `name`."""
    chosen, sessions = metric(name), scores(rows, name, policy=policy)
    ends = sessions.select("session", _counts=pl.col("value").is_not_null()).with_row_index("_row")
    order = rows.select("session", "round").with_row_index("_place").join(ends, on="session").sort("_row", "round")
    columns = {"status", "encode_s", "segment_s", chosen.column, *EFFORTS.values()}
    columns |= {chosen.worst_column, "dataset", "case"} if chosen.worst_column else set()
    columns &= set(rows.columns)
    played = rows.select(sorted(columns))[order["_place"]].with_columns(order["_row"], order["_counts"])
    played = played.with_columns(machine_s=MACHINE.cum_sum().over("_row"))
    each = valued(played, name, policy).filter(pl.col("value").is_not_null() & pl.col("_counts"))
    session, value = each["_row"].to_numpy().astype(np.int64), each["value"].to_numpy()
    costs = each.select(pl.col(column).cast(pl.Float64).fill_null(0) for column in EFFORTS.values())
    efforts = {against: _rising(costs[column].to_numpy(), session) for against, column in EFFORTS.items()}
    start = sessions.with_columns(_start=worst_of(chosen, sessions))["_start"].to_numpy()
    return Steps(chosen, sessions, start, session, value, efforts)


def _rising(effort: Floats, session: NDArray[np.int64]) -> Floats:
    """(steps) The largest effort so far in the session; the row of a failure may have less than the one before."""
    later = np.diff(session, prepend=-1) == 0
    while (falls := later & (effort < np.roll(effort, 1))).any():
        effort = np.where(falls, np.roll(effort, 1), effort)
    return effort
