"""Find the data sets and the weights from which rows were computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from intrabench import registry
from intrabench.datasets.base import Dataset
from intrabench.datasets.perturb.perturbed import parted, with_changes
from intrabench.errors import IntraBenchError
from intrabench.models.weights import registry as weights
from intrabench.models.weights.registry import Weights
from intrabench.results.runs import at_home, read_record


def dataset_of(results: Path, row: Mapping[str, Any]) -> Dataset:
    """The data set of a row as in its run, because a folder's name does not give its path.

    Raises:
        IntraBenchError: the name is unknown, and the run's record does not give the path.
    """
    base, changes = parted(row["dataset"])
    for spec in _given(results, row["run_id"]):
        try:
            made = registry.make("datasets", spec)
        except IntraBenchError:  # the folder was moved; try the run's other data sets
            continue
        if made.short_spec == row["dataset"]:
            return made
        if made.short_spec == base:
            return with_changes(made, changes)
    return registry.make("datasets", row["dataset"])


def datasets_of(results: Path, rows: pl.DataFrame) -> dict[str, Dataset | str]:
    """The data sets of rows by spec, or a sentence that says why one is not available."""
    found: dict[str, Dataset | str] = {}
    newest = rows.group_by("dataset").agg(pl.col("run_id").sort_by("written_at").last()).sort("dataset")
    for row in newest.iter_rows(named=True):
        try:
            found[row["dataset"]] = dataset_of(results, row)
        except IntraBenchError as error:
            found[row["dataset"]] = str(error)
    return found


def weights_of(model: str, records: Iterable[Mapping[str, Any]]) -> Weights | None:
    """The registered weights of a model; None if it has none.

    records: of the runs, which name the weights of each model; a model that they lack names its own.

    Raises:
        IntraBenchError: this installation does not know the model or its weights.
    """
    known = {str(one.get("model")): one.get("id") for record in records for one in record.get("weights", ())}
    id = known.get(model) or registry.make("models", model).weights
    return None if id is None else weights.get(str(id))


def _given(results: Path, run_id: str) -> list[str]:
    """The data sets of a run: where they were, which older versions did not write down, and as they were given."""
    record = read_record(results, run_id)
    try:
        return [at_home(spec) for spec in (*record.get("arguments", ()), *record["options"]["dataset"])]
    except (KeyError, TypeError):
        return []
