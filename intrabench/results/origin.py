"""Back from a row to what it was made of."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from intrabench import registry
from intrabench.datasets.base import Dataset
from intrabench.errors import IntraBenchError
from intrabench.results.runs import at_home, read_record


def dataset_of(results: Path, row: Mapping[str, Any]) -> Dataset:
    """The data set of a row, as its run had it: a folder's name does not say where it lies.

    Raises:
        IntraBenchError: it is not known by that name, and the run's record does not tell where it is.
    """
    for spec in _given(results, row["run_id"]):
        try:
            made = registry.make("datasets", spec)
        except IntraBenchError:  # a folder that was moved; another of the run's may still be the one
            continue
        if made.short_spec == row["dataset"]:
            return made
    return registry.make("datasets", row["dataset"])


def _given(results: Path, run_id: str) -> list[str]:
    """The data sets that a run was asked for, as they were written."""
    try:
        return [at_home(spec) for spec in read_record(results, run_id)["options"]["dataset"]]
    except (KeyError, TypeError):
        return []
