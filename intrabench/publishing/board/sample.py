"""The sessions whose turns, and masks if they were kept, go into a submission; nobody can choose them."""

from __future__ import annotations

from hashlib import sha256

import polars as pl

LEAST = 5
"""Sessions that are sampled, if there are so many."""

ANSWERED = ("ok", "stopped", "empty")
"""Statuses of sessions that ended with an answer."""


def chosen(rows: pl.DataFrame, count: int) -> list[str]:
    """So many of the sessions that ended with an answer, by the hashes of their keys, which depend on no result."""
    last = rows.filter(pl.col("round") == pl.col("round").max().over("session"))
    names = last.filter(pl.col("status").is_in(ANSWERED))["session"].unique().to_list()
    return sorted(names, key=lambda name: sha256(name.encode()).hexdigest())[:count]
