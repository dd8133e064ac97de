"""The rules of the CVPR 2025 challenge for rows: what a missing answer counts, and when NSD counts at all.

CVPR25_iter_eval.py of JunMa11/CVPR-MedSegFMCompetition (2025-06-03).
"""

from __future__ import annotations

import polars as pl

from intrabench.results.statuses import FAILED
from intrabench.statistics.scores import FailurePolicy, valued

STEPS = 5
"""The rounds of clicks, after that of the box."""

_MISSED = pl.col("status").is_in(FAILED) & pl.col("pred_voxels").is_not_null()
"""A step without an answer, after which the session went on; its row has the scores of the answer before."""
_TOGETHER = pl.coalesce("joint", "session")


def with_answers_before(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows, in which a step without an answer has the scores of the answer before, as if it had been given again.

    The official script scores the file that it finds, which is that of the step before; without any it scores zeros.
    """
    again = pl.when(pl.col("pred_voxels") > 0).then(pl.lit("ok")).otherwise(pl.lit("empty"))
    return rows.with_columns(status=pl.when(_MISSED).then(again).otherwise("status"))


def failures(rows: pl.DataFrame) -> pl.DataFrame:
    """`session`, whether it has `failed` in any step, and whether it is `silent`: the model gave no answer at all.

    Of a silent case the script writes no line. Steps in which nothing was asked, before the user had given anything,
    do not matter; sessions that failed in other ways are not silent.
    """
    failed, unasked = pl.col("status").is_in(FAILED), pl.col("interactions") == 0
    silent = (_MISSED | (unasked & ~failed)).all() & _MISSED.any()
    return rows.group_by("session").agg(failed=failed.any(), silent=silent)


def above(rows: pl.DataFrame, column: str, least: float, policy: FailurePolicy | None = None) -> pl.DataFrame:
    """The rows, in which `column` is 0 unless the mean Dice of all targets of the case in this round is above `least`.

    A target that has no row any more counts as 0. Targets of no joint session are cases of their own.
    """
    scored = valued(rows.with_columns(_together=_TOGETHER), "dice", policy)
    playing = scored.filter(~pl.col("not_applicable"))
    targets = playing.group_by("_together").agg(pl.col("session").n_unique().alias("_targets"))
    means = playing.group_by("_together", "round").agg(pl.col("value").sum()).join(targets, on="_together")
    means = means.select("_together", "round", _counts=pl.col("value") / pl.col("_targets") > least)
    joined = rows.with_columns(_together=_TOGETHER).join(
        means, on=["_together", "round"], how="left", maintain_order="left"
    )
    gated = pl.when("_counts").then(column).when(pl.col(column).is_not_null()).then(0.0)
    return joined.with_columns(gated.alias(column)).drop("_together", "_counts")
