"""What weights rows have, decided here for all outputs: published ones, a file of the user's, random ones, or none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.models.weights import hub
from intrabench.models.weights import registry as weights
from intrabench.models.weights.registry import BY_HAND, RANDOM, REGISTERED, Weights
from intrabench.registry import reach
from intrabench.specs.specs import parse

BY_PARAMETER = "parameter"
"""The `weights` of rows whose model names a file of the user's by a parameter, as tables and submissions have it."""

NONE = "none"
"""The source of a model without weights."""

WORDS = {
    REGISTERED: "published weights",
    BY_HAND: "weights from a file of our own",
    RANDOM: "random weights, untrained",
    NONE: "no trained weights",
}
"""Sources in words, as methods say them."""

HOW = (
    pl.when((pl.col("weights").fill_null("") == "") & (pl.col("weights_sha256").fill_null("") != ""))
    .then(pl.lit(BY_PARAMETER))
    .otherwise("weights")
    .alias("weights")
)
"""The column `weights` of rows, which is stored empty beside the hash of a file that a parameter names."""


def how(row: Mapping[str, Any]) -> str:
    """`HOW` of one row; empty without weights."""
    return row.get("weights") or (BY_PARAMETER if row.get("weights_sha256") else "")


@dataclass(frozen=True)
class RowWeights:
    """The weights of a row.

    source: `REGISTERED` (published), `BY_HAND` (a file or folder of the user's), `RANDOM` or `NONE`. sha256: of the
    file; empty without one. entry: what is known of published weights. unknown: why nothing is.
    """

    source: str
    sha256: str = ""
    entry: Weights | None = None
    unknown: str = ""

    @property
    def words(self) -> str:
        """The source in words."""
        return WORDS[self.source]


def weights_of(row: Mapping[str, Any], records: Iterable[Mapping[str, Any]] = ()) -> RowWeights:
    """The weights of a row, or of a line of a table, by its `model`, `weights` and `weights_sha256`.

    records: of the runs, which name the registered weights of each model; a model that they lack names its own.
    """
    given, sha256 = how(row), row.get("weights_sha256") or ""
    if given == RANDOM or not given:
        return RowWeights(given or NONE)
    if given != REGISTERED:
        return RowWeights(BY_HAND, sha256)
    known = {str(one.get("model")): one.get("id") for record in records for one in record.get("weights", ())}
    try:
        id = known.get(row["model"]) or reach.make("models", row["model"], "the rows").weights
        entry = None if id is None else weights.get(str(id))
    except IntraBenchError as error:
        if _names_folder(row["model"]):
            return RowWeights(BY_HAND, sha256)
        return RowWeights(REGISTERED, sha256, unknown=str(error))
    if entry is not None and entry.id.startswith(hub.PREFIX) and hub.repository(entry.id).is_folder:
        return RowWeights(BY_HAND, sha256)
    if entry is not None and entry.sha256 and sha256 and entry.sha256 != sha256:
        return RowWeights(REGISTERED, sha256, unknown=f"{entry.id} was another file then")
    return RowWeights(REGISTERED, sha256, entry)


def _names_folder(model: str) -> bool:
    """Whether a spec of a model of the hub names a folder instead, which nobody opens only because a row says so."""
    try:
        name, parameters = parse(model)
    except IntraBenchError:
        return False
    return name in ("hf", "hf_video") and hub.Repository(parameters.get("repo", "")).is_folder
