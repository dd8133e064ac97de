"""What people call a model, a protocol or a prompter: its name, and what belongs to it because it decides numbers."""

from __future__ import annotations

import polars as pl

from intrabench.effort import SECONDS
from intrabench.models.weights.registry import BY_HAND, RANDOM
from intrabench.protocols import row_names
from intrabench.registry.canonical import Column, canonical, meant
from intrabench.results.model_cards import title_of
from intrabench.results.model_label import DIGITS, OTHER_WEIGHTS


def _titles(models: pl.Series) -> pl.Series:
    """What people call the models of specs."""
    return models.replace({spec: title_of(spec) for spec in models.unique().drop_nulls()})


_CALLED = pl.col("model").map_batches(_titles, return_dtype=pl.String, is_elementwise=True)

MODEL = (
    pl.when(pl.col("weights") == RANDOM)
    .then(pl.format(OTHER_WEIGHTS[RANDOM], _CALLED))
    .when(pl.col("weights") == BY_HAND)
    .then(pl.format(OTHER_WEIGHTS[BY_HAND], _CALLED, pl.col("weights_sha256").str.head(DIGITS)))
    .otherwise(_CALLED)
    .alias("model")
)
"""The model of rows, by its title or its spec; weights other than the registered ones belong to its name, ``sam (random
weights)``."""

PROTOCOL = pl.concat_str(
    "protocol",
    pl.when(pl.col("stop") != "").then(pl.format(", stop {}", "stop")).otherwise(pl.lit("")),
    pl.when(pl.col("effort") != SECONDS).then(pl.format(", effort {}", "effort")).otherwise(pl.lit("")),
    pl.format(", joint {}", "joint_rules").fill_null(""),
).alias("protocol")
"""The protocol of rows, with its rules for stopping early, table of seconds, and rules for playing targets together."""

PROMPTER = pl.struct("protocol", "prompter").map_elements(
    lambda line: row_names(line["protocol"]).get(line["prompter"], line["prompter"]), pl.String
)
"""The prompter of rows; rows of published tables are called by their names."""

_PERSON = "human:"
BY_PEOPLE = pl.col("prompter").str.starts_with(_PERSON)
"""Whether a person prompted, of rows; what people gave to another model (`recorded`) is not of them."""


def by_person(prompter: str) -> bool:
    """`BY_PEOPLE` of one prompter."""
    return prompter.startswith(_PERSON)


def names(rows: pl.DataFrame, column: Column) -> list[str]:
    """What the models or prompters of rows may be called, sorted."""
    shown = rows.select("protocol", "prompter").unique().select(PROMPTER).to_series() if column == "prompter" else ()
    return sorted({*rows[column], *shown})


def rows_named(rows: pl.DataFrame, column: Column, name: str) -> pl.DataFrame:
    """The rows with this model, prompter or data set, which may be written as in tables, or as any spec of it; `meant`.

    Raises:
        IntraBenchError: rows have it in several spellings.
    """
    if column != "prompter":
        known = rows[column].unique()
        found = meant(column, name, known)
        if column == "model" and not found:  # of rows that have titles already
            found = [one for one in known if one == title_of(canonical(column, name))]
        return rows.filter(pl.col(column).is_in(found))
    pairs = rows.select("protocol", "prompter").unique()
    same = pairs.filter((pl.col("prompter") == name) | (name == PROMPTER))
    if same.is_empty():
        same = pairs.filter(pl.col("prompter").is_in(meant(column, name, pairs["prompter"])))
    return rows.join(same, on=pairs.columns, how="semi")
