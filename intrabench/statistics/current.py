"""Which sessions count: those that the newest code of their model, prompter and data set computed."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

VERSIONS = {"model": "model_version", "prompter": "prompter_version", "dataset": "dataset_version"}
"""Columns of names, and of the versions of what they name."""


def current(rows: pl.DataFrame, by: Sequence[str] = ()) -> tuple[pl.DataFrame, list[str]]:
    """The rows of the newest versions, and a sentence about the sessions of older ones for each name that has some.

    The newest version of a model, prompter or data set is that of its newest row, whatever the row is about. by: the
    columns that make lines; versions that are named there are lines of their own, and none of them is left out.
    """
    kept, told = rows, []
    for name, version in VERSIONS.items():
        older = rows.group_by(name, version).agg(pl.col("written_at").max())
        older = older.filter(pl.col("written_at") < pl.col("written_at").max().over(name)).select(name, version)
        if version in by or older.is_empty():
            continue
        left = kept.join(older, on=[name, version], how="semi", nulls_equal=True)
        kept = kept.join(older, on=[name, version], how="anti", nulls_equal=True, maintain_order="left")
        for who, count in left.group_by(name).agg(pl.col("session").n_unique()).sort(name).iter_rows():
            sessions, are = ("session", "is") if count == 1 else ("sessions", "are")
            told.append(f"{count} older {sessions} of {who} {are} left out: its code has changed since")
    return kept, told
