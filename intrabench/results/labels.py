"""What people call a model or a protocol: its name, and what belongs to the name because it decides the numbers."""

from __future__ import annotations

import polars as pl

from intrabench.effort import SECONDS
from intrabench.models.weights.registry import BY_HAND, RANDOM

MODEL = (
    pl.when(pl.col("weights") == RANDOM)
    .then(pl.format("{} (random weights)", "model"))
    .when(pl.col("weights") == BY_HAND)
    .then(pl.format("{} (weights {})", "model", pl.col("weights_sha256").str.head(8)))
    .otherwise("model")
    .alias("model")
)
"""The model of rows; weights other than the registered ones belong to its name, ``sam (random weights)``."""

PROTOCOL = pl.concat_str(
    "protocol",
    pl.when(pl.col("stop") != "").then(pl.format(", stop {}", "stop")).otherwise(pl.lit("")),
    pl.when(pl.col("effort") != SECONDS).then(pl.format(", effort {}", "effort")).otherwise(pl.lit("")),
    pl.format(", joint {}", "joint_rules").fill_null(""),
).alias("protocol")
"""The protocol of rows, with its rules for stopping early, table of seconds, and rules for playing targets together."""
