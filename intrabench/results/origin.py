"""Back from a row to what it was made of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from intrabench import registry
from intrabench.datasets.base import Dataset
from intrabench.errors import IntraBenchError
from intrabench.results.runs import at_home


def dataset_of(results: Path, row: Mapping[str, Any]) -> Dataset:
    """The data set of a row, as its run had it: a folder's name does not say where it lies.

    Raises:
        IntraBenchError: it is not known by that name, and the run's record does not tell where it is.
    """
    for spec in _given(results / "runs" / f"{row['run_id']}.json"):
        try:
            made = registry.make("datasets", spec)
        except IntraBenchError:  # a folder that was moved; another of the run's may still be the one
            continue
        if made.short_spec == row["dataset"]:
            return made
    return registry.make("datasets", row["dataset"])


def _given(record: Path) -> list[str]:
    """The data sets that a run was asked for, as they were written."""
    try:
        return [at_home(spec) for spec in json.loads(record.read_text(encoding="utf-8"))["options"]["datasets"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []
