"""Find the data sets from which rows were computed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from intrabench.datasets.base import Dataset
from intrabench.datasets.cases.trusted_folders import is_given
from intrabench.datasets.perturb.perturbed import parted, with_changes
from intrabench.errors import IntraBenchError
from intrabench.registry import reach, registry
from intrabench.results.runs import at_home, read_record

if TYPE_CHECKING:
    from intrabench.datasets.folder.folder import Folder


class NotOpened(IntraBenchError):
    """A data set that only a record of somebody else names. path: where it says that it is."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path = path


def dataset_of(results: Path, row: Mapping[str, Any], trust: bool = False) -> Dataset:
    """The data set of a row as in its run, because a folder's name does not give its path.

    The record of the run may be somebody else's, so a path in it is opened only if a person gave that folder to a
    command on this machine before, or trusts the record. trust: they do.

    Raises:
        IntraBenchError: the name is unknown, or the run's record does not give the path, or it is not opened.
    """
    base, changes = parted(row["dataset"])
    closed: list[str] = []
    for spec in _datasets(results, row["run_id"]):
        if not trust and not _may_open(spec):
            closed.append(spec)
            continue
        try:
            made = registry.make("datasets", spec)
        except IntraBenchError:  # the folder was moved; try the run's other data sets
            continue
        if made.short_spec == row["dataset"]:
            return made
        if made.short_spec == base:
            return with_changes(made, changes)
    if closed:
        raise NotOpened(
            closed[0],
            f"data set {row['dataset']} was not opened: only {results} says that it is {closed[0]}; if that is "
            f"right, run: intrabench data get {closed[0]}",
        )
    return reach.make("datasets", row["dataset"], str(results))


def _may_open(spec: str) -> bool:
    """Whether a data set in a record reaches nothing but a folder that was given here before."""
    try:
        return is_given(spec) or not reach.reaches("datasets", spec)
    except IntraBenchError:  # nobody knows what it is
        return False


def datasets_of(results: Path, rows: pl.DataFrame) -> dict[str, Dataset | str]:
    """The data sets of rows by spec, or a sentence that says why one is not available."""
    found: dict[str, Dataset | str] = {}
    runs = rows.group_by("dataset", "run_id").agg(pl.col("written_at").max())
    newest = runs.group_by("dataset").agg(pl.col("run_id").sort_by("written_at").last()).sort("dataset")
    for row in newest.iter_rows(named=True):
        try:
            found[row["dataset"]] = dataset_of(results, row)
        except IntraBenchError as error:
            found[row["dataset"]] = str(error)
    return found


def folders_of(results: Path, runs: Iterable[str]) -> dict[str, list[Folder]]:
    """The user's folders that runs were on, if they are here and a person gave them to a command on this machine."""
    named = {run: list(map(at_home, read_record(results, run).get("arguments", ()))) for run in runs}
    given = [
        spec for spec in {one for specs in named.values() for one in specs if os.path.isabs(one)} if is_given(spec)
    ]
    if not given:
        return {}
    from intrabench.datasets.folder.folder import Folder

    opened = dict[str, Folder]()
    for spec in given:
        with suppress(IntraBenchError):  # it was moved, or cannot be read
            made = registry.make("datasets", spec).stored_as
            opened |= {spec: made} if isinstance(made, Folder) else {}
    return {run: [opened[spec] for spec in specs if spec in opened] for run, specs in named.items()}


def _datasets(results: Path, run_id: str) -> list[str]:
    """The data sets of a run: where they were, and as they were given."""
    record = read_record(results, run_id)
    try:
        return [at_home(spec) for spec in (*record.get("arguments", ()), *record["options"]["dataset"])]
    except (KeyError, TypeError):
        return []
