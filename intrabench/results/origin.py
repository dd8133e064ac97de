"""Find the data set from which a row was computed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from intrabench import registry
from intrabench.datasets.base import Dataset
from intrabench.datasets.perturb.perturbed import parted, with_changes
from intrabench.errors import IntraBenchError
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


def _given(results: Path, run_id: str) -> list[str]:
    """The data sets of a run, as written in its options."""
    try:
        return [at_home(spec) for spec in read_record(results, run_id)["options"]["dataset"]]
    except (KeyError, TypeError):
        return []
