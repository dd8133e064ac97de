"""Differences between two sets of rows of the same sessions, and which of them rounding can explain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from intrabench.metrics.other_targets import FITS_BETTER
from intrabench.results.model_label import model_label
from intrabench.results.schema import SCHEMA, metric_columns
from intrabench.results.statuses import ANSWERED

_PASSING = (
    *("run_id", "written_at", "encode_s", "segment_s", "prompt_s", "batch", "peak_memory_mb", "peak_gpu_mb"),
    *("device", "package_versions_hash", "error", "ended", "patient", "cpu_s"),
)
"""Columns that may differ between equal runs; `ended` depends on the number of rounds, `patient` on what was known."""

_SCORES = ("dice", "iou", "fp_voxels", "fn_voxels", "pred_voxels")
"""Columns that all rows have about their answers, besides the metrics."""

_HISTORY = ("prompts_hash", "adapted", "interactions", "dof", "seconds_human")
"""Columns that depend on the answers of earlier rounds."""

_FIXED = [name for name in SCHEMA if name not in (*_PASSING, *_SCORES, "session", "round")]
"""Columns that must be equal in equal runs, besides scores."""

NEAR_DICE, NEAR_VOXELS = 1e-3, 1
"""Two machines may round differently in 0.01 % of a network's voxels; for one target, this is the tolerance."""


def differences(ours: pl.DataFrame, theirs: pl.DataFrame) -> pl.DataFrame:
    """The rows of `ours` that `theirs` contradict in the same session and round, with theirs as ``COLUMN_other``.

    The column `near` is true if rounding explains it: a network's scores differ within `NEAR_DICE` or `NEAR_VOXELS`
    after equal prompts; or its prompts differ because an earlier answer did, and from there nothing can be compared.
    """
    scores = list(dict.fromkeys([*_SCORES, *metric_columns(ours), *metric_columns(theirs)]))
    scores = [name for name in scores if name not in _PASSING]
    ours, theirs = (_with(frame, scores) for frame in (ours, theirs))
    both = ours.join(theirs.select("session", "round", *_FIXED, *scores), on=["session", "round"], suffix="_other")
    both = both.with_columns(status_other=_status()).sort("session", "round")
    close = (_apart("dice").abs() <= NEAR_DICE) | (_apart("fp_voxels").abs() + _apart("fn_voxels").abs() <= NEAR_VOXELS)
    rounded = _same(*(name for name in _FIXED if name != FITS_BETTER)) & close.fill_null(False)
    differs = ~(_same(*_FIXED) & _equal(scores))
    marked = both.with_columns(_differs=differs, _network=pl.col("weights_sha256") != "", _rounded=rounded)
    earlier = (pl.col("_differs") & pl.col("_rounded")).cum_sum().over("session") > 0
    strayed = earlier & ~_same("prompts_hash") & _same(*(n for n in _FIXED if n not in (*_HISTORY, "status")))
    near = pl.col("_network") & (pl.col("_rounded") | strayed)
    return marked.with_columns(near=near).filter("_differs").drop("_differs", "_network", "_rounded")


def describe(row: Mapping[str, Any], here: str, there: str) -> str:
    """One row of `differences` in words, with both values and the distance of numbers."""
    parts = []
    for name in (name for name in row if f"{name}_other" in row):
        one, other = row[name], row[f"{name}_other"]
        if one != other and (name not in _FIXED or None not in (one, other)):
            numbers = isinstance(one, int | float) and isinstance(other, int | float)
            apart = f", {abs(one - other):.3g} apart" if numbers else ""
            parts.append(f"{name} {one} in {here} and {other} in {there}{apart}")
    return f"{who(row)}, round {row['round']}: {'; '.join(parts)}"


def who(row: Mapping[str, Any]) -> str:
    """The session of a row, in words."""
    place = f"{row['dataset']}, case {row['case']}, {row['target']}"
    model = model_label(row["model"], row["weights"], row["weights_sha256"])
    return f"{place}, {model}, {row['prompter']}, seed {row['seed']}"


def _status() -> pl.Expr:
    """The other status, made equal if only one play was stopped, which depends on its number of rounds."""
    ours, theirs = pl.col("status"), pl.col("status_other")
    answered = ours.is_in(ANSWERED) & theirs.is_in(ANSWERED)
    return pl.when(answered & ((ours == "stopped") | (theirs == "stopped"))).then(ours).otherwise(theirs)


def _same(*names: str) -> pl.Expr:
    """Whether columns are equal; a value that one of them lacks counts as equal."""
    return pl.all_horizontal((pl.col(name) == pl.col(f"{name}_other")).fill_null(True) for name in names)


def _equal(scores: Sequence[str]) -> pl.Expr:
    """Whether scores are equal; a missing score differs from an existing one."""
    return pl.all_horizontal(pl.col(name).eq_missing(pl.col(f"{name}_other")) for name in scores)


def _with(frame: pl.DataFrame, scores: Sequence[str]) -> pl.DataFrame:
    """The frame with all these columns; missing ones are added empty."""
    return frame.with_columns(pl.lit(None, pl.Float64).alias(name) for name in scores if name not in frame.columns)


def _apart(name: str) -> pl.Expr:
    return pl.col(name) - pl.col(f"{name}_other")
