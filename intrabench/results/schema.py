"""The columns of stored rows and turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.mask import TURNED, Plane

THIRDS = ("hard", "medium", "easy")
STRATUM, WITHIN_LABEL = "difficulty", "difficulty_in_label"
STRATA = (STRATUM, WITHIN_LABEL)
"""Columns that are computed and not stored: the third of a target among those of its data set, and of its label."""

SCHEMA: dict[str, Any] = {
    "run_id": pl.String,
    "session": pl.String,
    "contract": pl.Int64,
    "protocol": pl.String,
    "plane": pl.String,
    "stop": pl.String,
    "effort": pl.String,
    "joint": pl.String,
    "joint_rules": pl.String,
    "metrics": pl.String,
    "dataset": pl.String,
    "dataset_version": pl.String,
    "case": pl.String,
    "patient": pl.String,
    "target": pl.String,
    "label": pl.String,
    "instance": pl.Int64,
    "target_voxels": pl.Int64,
    "target_ml": pl.Float64,
    "diagonal_mm": pl.Float64,
    "diagonal_voxels": pl.Float64,
    "model": pl.String,
    "model_version": pl.String,
    "weights": pl.String,
    "weights_sha256": pl.String,
    "seen_in_training": pl.String,
    "prompter": pl.String,
    "prompter_version": pl.String,
    "seed": pl.Int64,
    "strict": pl.Boolean,
    "round": pl.Int64,
    "status": pl.String,
    "error": pl.String,
    "ended": pl.Boolean,
    "prompts_hash": pl.String,
    "adapted": pl.String,
    "interactions": pl.Float64,
    "dof": pl.Float64,
    "seconds_human": pl.Float64,
    "dice": pl.Float64,
    "iou": pl.Float64,
    "fp_voxels": pl.Int64,
    "fn_voxels": pl.Int64,
    "pred_voxels": pl.Int64,
    "fits_better": pl.String,
    "encode_s": pl.Float64,
    "segment_s": pl.Float64,
    "batch": pl.Int64,
    "prompt_s": pl.Float64,
    "peak_memory_mb": pl.Float64,
    "peak_gpu_mb": pl.Float64,
    "device": pl.String,
    "dtype": pl.String,
    "package_versions_hash": pl.String,
    "written_at": pl.Int64,
}
"""Columns that all rows have; each other metric has one more, of floats, named by the ids in `metrics`.

`contract` is the version of the meaning of rows; `weights` is the kind of the model's weights (registered, random, or a
file of the user's; empty without any, and for a file that a parameter names, see `intrabench.results.weights`);
`written_at` (nanoseconds, `Store.stamp`) decides which of two rows of a session is newer. `effort` names the table of
`seconds_human`, and if it does not ship those of all costs. `joint` is what the targets of a joint session have in
common, under `joint_rules`; null for targets on their own. `plane` is that in which the user read the scan, null in
rows of older versions, which knew only axial ones; turns are in it, masks are canonical. `patient` changes no answer,
so it may be corrected later: the newest row of a case decides for all its rows, also for those without one.
`fits_better`: as of `OtherTargets`. `diagonal_mm` and `diagonal_voxels` are of the scan: some distances count them for
a miss. Null in rows of older versions, and of sessions that were never played.
"""

TURNS: dict[str, Any] = {
    "session": pl.String,
    "round": pl.Int64,
    "turn": pl.Int64,
    "given": pl.String,
    "written_at": pl.Int64,
}

MACHINE = pl.col("encode_s").fill_null(0) + pl.col("segment_s").fill_null(0)
"""Machine time of a row in seconds."""


def plane_of(row: Mapping[str, Any]) -> Plane:
    """The plane of a row's turns; anybody may have written it.

    Raises:
        IntraBenchError: there is no such plane.
    """
    name: Any = row.get("plane") or "axial"
    if name not in TURNED:
        raise IntraBenchError(
            f"session {row['session']} has the plane {name[:40]!a}, which is none of {', '.join(TURNED)}"
        )
    found: Plane = name
    return found


def metric_columns(rows: pl.DataFrame) -> list[str]:
    """The metrics that rows have besides Dice and IoU: all their columns of floats that are not in `SCHEMA`."""
    return [name for name, kind in rows.schema.items() if name not in SCHEMA and kind == pl.Float64]


def measured_columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The columns of rows besides `SCHEMA`: one for each metric that their `metrics` name."""
    ids = (id for ids in dict.fromkeys(str(row.get("metrics") or "") for row in rows) for id in ids.split())
    columns = {name: pl.Float64 for name in (id.rpartition("@")[0] for id in ids) if name not in SCHEMA}
    for name in {name for row in rows for name in row} - SCHEMA.keys() - columns.keys():
        raise IntraBenchError(
            f"a row has a value called {name!r}, which is neither a column of the results nor a metric of its run; "
            "give the metric with --metric, or omit the value"
        )
    return columns
