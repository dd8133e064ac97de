"""What counts of each session: its state after a round, one value of it, and what failures and empty answers are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.results.store import FAILED
from intrabench.specs import nearest

IDENTITY = ("protocol", "prompter", "model", "model_version", "weights_sha256", "dtype", "strict")
"""What makes two lines of a table."""

UNIT = ("dataset", "case", "label", "target", "seed")
"""What two lines are compared on: the same target, prompted with the same chance."""


@dataclass(frozen=True)
class Metric:
    """A column of the rows, its worst value, and whether more of it is better."""

    column: str
    worst: float
    more_is_better: bool = True


METRICS = {
    "dice": Metric("dice", 0.0),
    "iou": Metric("iou", 0.0),
    "nsd": Metric("nsd_2mm", 0.0),
    "hd95": Metric("hd95_mm", float("inf"), more_is_better=False),
    "boundary_iou": Metric("boundary_iou", 0.0),
    "seconds": Metric("machine_s", float("inf"), more_is_better=False),
}
"""By name; `seconds` is the machine time of a session so far, encoding and answering."""


@dataclass(frozen=True)
class FailurePolicy:
    """What failures (error, oom, timeout) and empty answers count as: the worst value, or nothing."""

    failed: Literal["worst", "drop"] = "worst"
    empty: Literal["worst", "drop"] = "worst"

    def told(self) -> str:
        """In words, for the heads of tables."""
        words = {"worst": "count as the worst value", "drop": "are left out"}
        return f"failures {words[self.failed]}, empty answers {words[self.empty]}"


def metric(name: str) -> Metric:
    """The metric called `name`, or one sentence that suggests the nearest."""
    known = METRICS | {found.column: found for found in METRICS.values()}
    if name not in known:
        raise IntraBenchError(f"there is no metric {name!r}{nearest(name, known)}; known are {', '.join(METRICS)}")
    return known[name]


MACHINE = pl.col("encode_s").fill_null(0) + pl.col("segment_s").fill_null(0)
"""Seconds that the machine took for a row."""


def states(rows: pl.DataFrame, round: int | None = None) -> pl.DataFrame:
    """The last row of every session up to `round`, so that an early stop is carried forward, with `machine_s` so far.

    Of the same target in an older version of itself or of its data set, only the newest session counts.

    Raises:
        IntraBenchError: there is none.
    """
    if round is not None:
        rows = rows.filter(pl.col("round") <= round)
    if rows.is_empty():
        told = "" if round is None else f" up to round {round}; give --round 0 or more"
        raise IntraBenchError(f"there are no rows{told}")
    rows = rows.with_columns(
        machine_s=MACHINE.sum().over("session"), _played=pl.col("written_at").max().over("session")
    )
    same = [*IDENTITY, "dataset", "case", "target", "seed"]
    rows = rows.filter(pl.col("_played") == pl.col("_played").max().over(same))
    return rows.filter(pl.col("round") == pl.col("round").max().over("session")).drop("_played")


def scores(
    rows: pl.DataFrame, name: str = "dice", round: int | None = None, policy: FailurePolicy | None = None
) -> pl.DataFrame:
    """`valued` `states`: one line per session."""
    metric(name)  # a wrong name is told before there being no rows
    return valued(states(rows, round), name, policy)


def valued(rows: pl.DataFrame, name: str = "dice", policy: FailurePolicy | None = None) -> pl.DataFrame:
    """The rows with a column `value` (null where a row counts nothing), `failed` and `not_applicable`."""
    chosen, policy = metric(name), policy or FailurePolicy()
    failed, inapplicable = pl.col("status").is_in(FAILED), pl.col("status") == "not_applicable"
    out = pl.lit(None, pl.Float64)
    value = (
        pl.when(inapplicable)
        .then(out)
        .when(failed)
        .then(chosen.worst if policy.failed == "worst" else out)
        .when((pl.col("status") == "empty") & pl.lit(policy.empty == "drop"))
        .then(out)
        .otherwise(pl.col(chosen.column).cast(pl.Float64))
    )
    return rows.with_columns(value=value, failed=failed, not_applicable=inapplicable)
