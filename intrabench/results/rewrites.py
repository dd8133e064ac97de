"""Rows that are to be written again, so that the latest run decides what counts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from intrabench.results.current import IDENTITY, VERSIONS, current, newest_plays
from intrabench.results.files import read_parts
from intrabench.results.packs import reading
from intrabench.results.parts import current_rows, read_rows
from intrabench.results.schema import SCHEMA

_COLUMNS = ("session", "round", "dataset", "case", "target", "patient", "seed", "metrics", "written_at")


def replaced(root: Path, keys: Collection[str], patients: Mapping[tuple[str, str], str]) -> list[dict[str, Any]]:
    """The rows of these sessions that others have replaced since, as after an edit that was undone.

    patients: by data set and case, whose scan it is as far as is known now. A row of each case of which the stored rows
    say something else is among the rows, too, with that patient.
    """
    rows = read_rows(root, (*_COLUMNS, *IDENTITY, *VERSIONS.values()))
    counting = newest_plays(current(rows)[0], apart=["metrics"])
    now = pl.DataFrame([(*where, patient) for where, patient in patients.items()], schema=_NOW, orient="row")
    ours = rows.filter(pl.col("session").is_in(list(keys))).join(now, on=["dataset", "case"])
    others = ours.join(counting, on=["session", "metrics"], how="anti", nulls_equal=True)
    moved = ours.filter(pl.col("patient") != pl.col("_now")).unique(["dataset", "case"])
    again = pl.concat([others, moved]).select("session", "round", "_now").unique(["session", "round"])
    if again.is_empty():
        return []
    sessions = again["session"].unique().to_list()
    whole = current_rows(reading(root / "rows", lambda paths: read_parts(paths, SCHEMA, sessions=sessions)))
    found = whole.join(again, on=["session", "round"]).with_columns(patient="_now").drop("_now", "run_id", "written_at")
    return [{name: value for name, value in row.items() if value is not None} for row in found.to_dicts()]


_NOW = {"dataset": pl.String, "case": pl.String, "_now": pl.String}
