"""Rows of earlier versions as rows of this one: facts that stood in texts for people get their columns."""

from __future__ import annotations

import polars as pl

from intrabench.results.statuses import FAILED, NO_DATA
from intrabench.target import WHOLE_CASE

_MODEL = r"^(.*?)(?: \((?:random weights|weights ([0-9a-f]+))\))?$"

UPGRADED: dict[str, pl.Expr] = {
    "contract": pl.lit(2),
    "stop": pl.col("protocol").str.extract(r"\+stop:(.*)$").fill_null(""),
    "protocol": pl.col("protocol").str.extract(r"^([^+]*)"),
    "weights": (
        pl.when(pl.col("weights_sha256").is_in(["", "random"]))
        .then("weights_sha256")
        .when(pl.col("model").str.extract(_MODEL, 2).is_not_null())
        .then(pl.lit("file"))
        .otherwise(pl.lit("registered"))
    ),
    "model": pl.col("model").str.extract(_MODEL),
    # each part was of the first version, and the clickability models were, too
    "prompter_version": (
        pl.col("prompter")
        .str.replace_all(r"""'[^']*'|"[^"]*\"""", "")
        .str.replace_all(r"(^|\+)clickability[^+]*", "${1}1/1")
        .str.replace_all(r"(^|\+)[^+0-9][^+]*", "${1}1")
    ),
}
"""The columns that contract 2 (version 0.1) wrote otherwise or not at all, from those that it wrote."""


STATUS = (
    pl.when((pl.col("target") == WHOLE_CASE) & pl.col("status").is_in(FAILED)).then(pl.lit(NO_DATA)).otherwise("status")
)
"""The status: before failures of data had one of their own, a case that could not be prepared failed like a model."""


def upgraded(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Rows of contract 2, which had no column that says so, as rows of this version."""
    return frame.with_columns(**UPGRADED)
