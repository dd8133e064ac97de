"""How far the runs in a results folder are, read from outside: by their records, their locks and the rows so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from intrabench.results.parts import read_rows
from intrabench.results.runs import FINISHED, RUNNING, going_on, read_records, work_of
from intrabench.results.statuses import UNDONE

RECENT_S = 600
"""The rate is that of so many last seconds."""


@dataclass(frozen=True)
class Member:
    """One run. state: as in its record, but ``killed`` if it goes on no longer. sessions: that it has written."""

    run_id: str
    state: str
    started: str
    sessions: int
    note: str


@dataclass(frozen=True)
class Status:
    """Runs of the same work, such as the members of a job, and what they have done together.

    total: sessions of the work, as far as it is known; open_cases: further cases that had to be prepared first, whose
    sessions are not in it. done, failed: sessions with rows, and those of them that failed. per_minute: sessions, in
    the last `RECENT_S`, 0 if none goes on. last_s: seconds between the newest row and the clock's `now`; None without
    rows.
    """

    command: str
    total: int
    open_cases: int
    done: int
    failed: int
    per_minute: float
    last_s: float | None
    members: tuple[Member, ...]

    @property
    def left(self) -> int:
        """Sessions to do, as far as they are known."""
        return max(self.total - self.done, 0)

    @property
    def minutes_left(self) -> float | None:
        """At today's rate; None if nobody knows."""
        return self.left / self.per_minute if self.per_minute and not self.open_cases else None

    @property
    def running(self) -> int:
        """How many members go on."""
        return sum(member.state == RUNNING for member in self.members)


def run_status(root: Path, now: float) -> list[Status]:
    """What all runs in a folder have done, the newest work last.

    now: seconds since 1970, as in `time.time`.
    """
    rows = read_rows(root, ["session", "round", "run_id", "status", "written_at"], metrics=False)
    works: dict[str, list[dict[str, Any]]] = {}
    whole = [one for one in read_records(root) if {"run_id", "state", "started"} <= one.keys()]
    last = _written_by(rows.sort("round").unique("session", keep="last"), whole)
    for record in sorted(whole, key=lambda one: one["started"]):
        works.setdefault(work_of(record), []).append(record)
    running = going_on(root)
    return [_status(records, running, last, now) for records in works.values()]


def _written_by(rows: pl.DataFrame, records: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """The rows that runs wrote themselves. Scored later, they name the run that played them, although it had ended."""
    ends = [(one["run_id"], one["stamps"][-1]) for one in records if one["state"] == FINISHED and one.get("stamps")]
    ended = pl.DataFrame(ends, schema={"run_id": pl.String, "_ended": pl.Int64}, orient="row").unique("run_id")
    own = pl.col("_ended").is_null() | (pl.col("written_at") <= pl.col("_ended"))
    return rows.join(ended, on="run_id", how="left", maintain_order="left").filter(own).drop("_ended")


def _status(records: Sequence[Mapping[str, Any]], running: AbstractSet[str], last: pl.DataFrame, now: float) -> Status:
    runs = [str(record["run_id"]) for record in records]
    rows = last.filter(pl.col("run_id").is_in(runs))
    counts = dict(rows["run_id"].value_counts().iter_rows())
    members = tuple(
        Member(
            run,
            "killed" if record["state"] == RUNNING and run not in running else record["state"],
            record["started"],
            counts.get(run, 0),
            str(record.get("options", {}).get("note") or ""),
        )
        for run, record in zip(runs, records, strict=True)
    )
    known = [record.get("sessions", {}) for record in records]
    ages = sorted(now - stamp / 1e9 for stamp in rows["written_at"].to_list())
    span = min(RECENT_S, max(ages[-1], 1.0)) if ages else RECENT_S
    return Status(
        records[-1].get("command", ""),
        max((one.get("total", 0) for one in known), default=0),
        min((one.get("open_cases", 0) for one in known), default=0),
        rows.height + known[0].get("already", 0),
        rows.filter(pl.col("status").is_in(UNDONE)).height,
        sum(age <= span for age in ages) / span * 60 if not running.isdisjoint(runs) else 0.0,
        ages[0] if ages else None,
        members,
    )
