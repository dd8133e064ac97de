"""Sessions that two submissions have in common: one of them has copied, or both were made from one run."""

from __future__ import annotations

import polars as pl

_SAME = ("session", "round", "run_id", "written_at")
"""No two runs write a row with the same values."""


def common(one: pl.DataFrame, other: pl.DataFrame) -> int:
    """How many sessions two submissions have in common, by their keys, runs and times of writing, or by the seconds.

    A row may have got another run and time of writing; the seconds of a model are never equal in most of the sessions
    of two runs.
    """
    same = one.join(other.select(_SAME), on=_SAME, how="semi")["session"].n_unique()
    return same or _alike(one, other)


def _alike(one: pl.DataFrame, other: pl.DataFrame) -> int:
    """The sessions whose rounds took equal times, if these are most of those that both have."""
    seconds = ("encode_s", "segment_s")
    told = [part.select("session", "round", *seconds).filter(pl.col("segment_s") > 0) for part in (one, other)]
    both = told[0].join(told[1], on=["session", "round"], suffix="_other")
    equal = pl.all_horizontal(pl.col(name).eq_missing(pl.col(f"{name}_other")) for name in seconds)
    each = both.group_by("session").agg(equal.all().alias("equal"))
    alike = int(each["equal"].sum())
    return alike if 2 * alike > len(each) else 0
