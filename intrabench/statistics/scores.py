"""Scores of sessions: the state after a round, one value of it, and how failures and empty answers count."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

import polars as pl

from intrabench.errors import IntraBenchError, several
from intrabench.metrics import lookup
from intrabench.metrics.base import Best, Metric, merit
from intrabench.protocols import PROTOCOLS
from intrabench.results.current import IDENTITY, VERSIONS, newest_plays
from intrabench.results.fast_queries import different, keys, only
from intrabench.results.schema import MACHINE, metric_columns
from intrabench.results.statuses import ALWAYS, FAILED, NO_DATA, UNDONE
from intrabench.statistics.infinite import IS_MISS
from intrabench.target import ANNOTATION, WHOLE_CASE

TARGET = ("dataset", "case", "label", "target")
"""Columns that name a target."""

UNIT = (*TARGET, "seed")
"""Columns that pair the sessions of two lines: the same target with the same random numbers."""


class Scale(Protocol):
    """What statistics need of a metric or of machine time, as `Metric` declares it."""

    best: ClassVar[Best]
    worst: ClassVar[float]
    unit: ClassVar[str]
    bounds: ClassVar[tuple[float, float]]

    @property
    def worst_column(self) -> str: ...

    @property
    def miss_words(self) -> str: ...

    @property
    def column(self) -> str: ...

    @property
    def head(self) -> str: ...


@dataclass(frozen=True)
class MachineTime:
    """Machine time of a session so far in seconds, for encoding and answering."""

    name: ClassVar[str] = "seconds"
    column: ClassVar[str] = "machine_s"
    head: ClassVar[str] = "machine time, s"
    unit: ClassVar[str] = "s"
    best: ClassVar[Best] = "low"
    worst: ClassVar[float] = math.inf
    bounds: ClassVar[tuple[float, float]] = (0.0, math.inf)
    worst_column: ClassVar[str] = ""
    miss_words: ClassVar[str] = ""


@dataclass(frozen=True)
class FailurePolicy:
    """How failures (error, oom, timeout) and empty answers count: as the worst value, or not at all.

    Failures of data (no_data) are left out, unless `failed` is ``all``: then they count as the worst value, too.
    """

    failed: Literal["worst", "all", "drop"] = "worst"
    empty: Literal["worst", "drop"] = "worst"

    @property
    def counted(self) -> Sequence[str]:
        """The statuses that are failures."""
        return UNDONE if self.failed == "all" else FAILED

    def describe(self) -> str:
        """The policy in words, for the headings of tables."""
        words = {"worst": "count as the worst value", "drop": "are left out"}
        words["all"] = f"of models and data {words['worst']}"
        return f"failures {words[self.failed]}, empty answers {words[self.empty]}"


def metric(name: str, others: Sequence[str] = ()) -> Scale:
    """The metric called `name`; an error suggests the nearest name, also among `others`."""
    time = MachineTime()
    return time if name in (time.name, time.column) else lookup.metric(name, [time.name, *others])


def rises(scale: Scale) -> bool:
    """Whether its values rise from 0, that of an empty answer, so that there is a threshold of them."""
    return scale.best == "high" and scale.worst == 0


def measured_metrics(rows: pl.DataFrame) -> list[Metric]:
    """The known metrics that have values in the rows."""
    columns = [name for name in (*ALWAYS, *metric_columns(rows)) if rows[name].count()]
    found = []
    for column in columns:
        with suppress(IntraBenchError):
            found.append(lookup.metric(column))
    return found


def last_round(rows: pl.DataFrame) -> int:
    """The largest number of corrections that any session had."""
    return int(rows["round"].max() or 0)  # type: ignore[arg-type]


def played(rows: pl.DataFrame, round: int | None = None, column: str = "dice") -> pl.DataFrame:
    """The rows up to `round` of each target's newest session, of those with `column` if there are any."""
    rows = rows if round is None else rows.filter(pl.col("round") <= round)
    return rows if rows.is_empty() else newest_plays(rows, ALWAYS[0] if column == MachineTime.column else column)


def states(rows: pl.DataFrame, round: int | None = None, column: str = "dice") -> pl.DataFrame:
    """The last row of every session up to `round`, so that an early stop is carried forward, with `machine_s` so far.

    If a target was played several times, as after a change of its data set, the newest session with `column` counts.

    Raises:
        IntraBenchError: there are no rows.
    """
    rows = played(rows, round, column)
    if rows.is_empty():
        until = "" if round is None else f" up to round {round}; give --round 0 or more"
        raise IntraBenchError(f"there are no rows{until}")
    if different(rows, ["session"]) == len(rows):  # sessions of one round
        last = rows.with_columns(machine_s=MACHINE)
    else:
        rows = rows.with_columns(machine_s=MACHINE.sum().over("session"))
        last = rows.filter(pl.col("round") == pl.col("round").max().over("session"))
    return last.with_columns(pl.coalesce("patient", "case"))


def scores(
    rows: pl.DataFrame, name: str = "dice", round: int | None = None, policy: FailurePolicy | None = None
) -> pl.DataFrame:
    """`valued` `states`: one line per session, but none for cases without data, unless these count.

    Where a protocol takes the worst annotation of an image, there is one line per image (`by_image`), that of the
    session with the worst value; it `failed` if any did.
    """
    column = metric(name).column  # an unknown name is reported before missing rows
    policy = policy or FailurePolicy()
    found = only(states(rows, round, column), _counts(policy))
    if column not in found.columns:
        raise IntraBenchError(
            f"no session was scored by {name}; if masks are stored, `intrabench score --metric {name}` adds it, "
            f"else run again with --metric {name}"
        )
    return _worst_annotations(valued(found, name, policy), metric(name).best)


def valued(rows: pl.DataFrame, name: str = "dice", policy: FailurePolicy | None = None) -> pl.DataFrame:
    """The rows with the columns `value` (null for rows that do not count), `failed` and `not_applicable`.

    Where a miss counts as a finite value, there is also `IS_MISS`: whether a value is one.
    """
    chosen, policy = metric(name), policy or FailurePolicy()
    failed, inapplicable = pl.col("status").is_in(policy.counted), pl.col("status") == "not_applicable"
    out = pl.lit(None, pl.Float64)
    value = (
        pl.when(inapplicable | ~_counts(policy))
        .then(out)
        .when(failed)
        .then(out if policy.failed == "drop" else worst_of(chosen, rows))
        .when((pl.col("status") == "empty") & pl.lit(policy.empty == "drop"))
        .then(out)
        .otherwise(pl.col(chosen.column).cast(pl.Float64))
    )
    found = rows.with_columns(value=value, failed=failed, not_applicable=inapplicable)
    masks = ("target_voxels", "pred_voxels")
    finite = chosen.worst_column or math.isfinite(chosen.worst)
    if not (chosen.miss_words and finite and set(masks) <= set(rows.columns)):
        return found
    empty = [pl.col(name).fill_null(0) == 0 for name in masks]
    missed = pl.col("value").is_not_null() & (pl.col("failed") | (empty[0] != empty[1]))
    return found.with_columns(missed.alias(IS_MISS))


def worst_of(chosen: Scale, rows: pl.DataFrame) -> pl.Expr:
    """What a failed session, and a session before its first answer, counts in each row."""
    if chosen.worst_column not in rows.columns:
        return pl.lit(chosen.worst, pl.Float64)
    column = pl.col(chosen.worst_column)  # a session that was never played does not have it, but others of its case
    return pl.coalesce(column, column.max().over("dataset", "case"), pl.lit(chosen.worst))


WORST = [one.id for one in PROTOCOLS.values() if one.annotations == "worst"]
"""Protocols that take the worst annotation of an image."""

_ANNOTATES = pl.col("protocol").is_in(WORST) & (pl.col("target") != WHOLE_CASE)
_SAME_IMAGE = (*IDENTITY, *VERSIONS.values(), "dataset", "case", "seed")


def by_image(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows, in which all annotations of an image are one target where their protocol takes the worst of them."""
    if not rows.select(pl.col("protocol").is_in(WORST).any()).item():
        return rows
    names = {"label": ANNOTATION, "target": f"{ANNOTATION}.0"}
    return rows.with_columns(
        pl.when(_ANNOTATES).then(pl.lit(text)).otherwise(name).alias(name) for name, text in names.items()
    )


def one_per_image(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of one annotation of each image where protocols take the worst; what models did is the same in all."""
    if not rows.select(_ANNOTATES.any()).item():
        return rows
    return rows.filter(~_ANNOTATES | (pl.col("target") == pl.col("target").min().over(_SAME_IMAGE)))


def of_targets(rows: pl.DataFrame, targets: pl.DataFrame) -> pl.DataFrame:
    """The rows of these targets, which have the columns of `TARGET` or `UNIT` as `scores` has them."""
    names = keys(by_image(rows.select("protocol", *targets.columns)), targets.columns)
    return only(rows, pl.lit(names.is_in(keys(targets, targets.columns).implode())))


def _worst_annotations(scored: pl.DataFrame, best: Best) -> pl.DataFrame:
    """One line per image where protocols take the worst annotation, that with the worst value; others as they are."""
    several = only(scored, _ANNOTATES)
    if several.is_empty():
        return scored
    worst_first = several.sort(merit(pl.col("value"), best), "target", nulls_last=True)
    failed = pl.col("failed").any().over(_SAME_IMAGE)
    worst = worst_first.with_columns(failed).unique(_SAME_IMAGE, keep="first", maintain_order=True)
    return pl.concat([scored.filter(~_ANNOTATES), by_image(worst)])


def _counts(policy: FailurePolicy) -> pl.Expr:
    """Whether a row is no failure of data, or these count."""
    return (pl.col("status") != NO_DATA) | pl.lit(policy.failed == "all")


def without_data(rows: pl.DataFrame) -> str:
    """How many cases of which data sets no session could be played on, in a sentence; empty if there are none."""
    lost = rows.filter(pl.col("status") == NO_DATA).group_by("dataset").agg(pl.col("case").n_unique()).sort("dataset")
    return ", ".join(f"{several(count, 'case')} of {name}" for name, count in lost.iter_rows())
