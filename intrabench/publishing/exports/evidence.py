"""What all exports are made from: the rows that count in tables, and what is known of their data sets and weights."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from intrabench.datasets.base import Dataset, DatasetCard
from intrabench.errors import IntraBenchError, several
from intrabench.registry.canonical import Column, meant
from intrabench.results.current import MODEL, counting
from intrabench.results.origin import datasets_of
from intrabench.results.private import Private
from intrabench.results.runs import read_records
from intrabench.results.selection import EVERYTHING, Selection
from intrabench.results.weights import RowWeights, weights_of
from intrabench.statistics.soundness import some_rows

NOT_STATED = "not stated"
"""What a card says where nothing is known; exports leave it out."""


@dataclass(frozen=True)
class Evidence:
    """A results folder as it may be shared.

    rows: those that count in tables; raters and patients have numbers. left_out: a sentence for each kind of sessions
    that do not count, and for each data set whose card cannot be had. datasets: by the names in the rows, as far as
    they are known. weights: by the model, `weights` and hash of rows. records: of the runs. selection: which of the
    sessions these are, in words; empty if all are.
    """

    rows: pl.DataFrame
    left_out: Sequence[str]
    datasets: Mapping[str, Dataset]
    weights: Mapping[tuple[str, ...], RowWeights]
    records: Sequence[Mapping[str, Any]]
    selection: str = ""

    def weights_of(self, line: Mapping[str, Any]) -> RowWeights:
        """What weights a line of the rows has."""
        return self.weights[tuple(line[name] for name in MODEL)]

    def card(self, dataset: str) -> DatasetCard:
        """The card of a data set; one that says nothing if it is unknown to this installation."""
        found = self.datasets.get(dataset)
        return found.card if found else DatasetCard(dataset, "")

    def library(self, rows: pl.DataFrame) -> str:
        """The versions of IntraBench that computed rows; ``unknown`` if their records are gone."""
        runs = set(rows["run_id"].unique())
        versions = {one.get("versions", {}).get("intrabench") for one in self.records if one.get("run_id") in runs}
        return ", ".join(sorted(filter(None, versions))) or "unknown"


def evidence_of(root: Path, selection: Selection = EVERYTHING) -> Evidence:
    """The evidence of a results folder, or of a selection of its sessions.

    Raises:
        IntraBenchError: it has no results.
    """
    everything = some_rows(root)
    private, records = Private(everything), read_records(root)
    rows, left_out = counting(everything, root)
    rows = selection.of(rows, root)
    runs = {*rows["run_id"]}
    records = records if selection == EVERYTHING else [one for one in records if one.get("run_id") in runs]
    datasets: dict[str, Dataset] = {}
    notes = [private.text(note) for note in left_out]
    for name, found in datasets_of(root, rows).items():
        if isinstance(found, str):
            notes.append(f"nothing is known here of the data set {private.text(name)}, so its card is left out")
        else:
            datasets[private.text(name)] = found
    return Evidence(
        private.rows(rows),
        notes,
        datasets,
        _weights(rows, records, private),
        [*map(private.record, records)],
        private.text(selection.words),
    )


def _weights(
    rows: pl.DataFrame, records: Sequence[Mapping[str, Any]], private: Private
) -> dict[tuple[str, ...], RowWeights]:
    lines = rows.select(MODEL).unique().sort(MODEL).iter_rows(named=True)
    return {(private.text(one["model"]), *tuple(one.values())[1:]): weights_of(one, records) for one in lines}


def facts(**values: Any) -> dict[str, Any]:
    """The values that are known: neither None, nor empty, nor `NOT_STATED`."""
    return {name: value for name, value in values.items() if value not in (None, "", [], {}, (), NOT_STATED)}


def size_of(card: DatasetCard) -> str:
    """How many cases and targets a card counts, in words; empty if nobody has counted."""
    counts = [several(n, what) for n, what in ((card.cases, "case"), (card.targets, "target")) if n is not None]
    return ", ".join(counts)


def written(rows: pl.DataFrame) -> datetime:
    """When the newest of some rows was written."""
    return datetime.fromtimestamp(int(rows["written_at"].max()) / 1e9, UTC)  # type: ignore[arg-type]


def slug(text: str) -> str:
    """A text as a part of an identifier: letters, digits, dots and hyphens."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.") or "x"


def pairs(option: str, texts: Sequence[str], names: Sequence[str], shape: str, column: Column) -> dict[str, str]:
    """What ``NAME=VALUE`` options say for each of the known names, which are those of a column of rows.

    Raises:
        IntraBenchError: one has no such shape, or names nothing that is there.
    """
    found = {}
    for words in texts:
        name = next((one for one in sorted(names, key=len, reverse=True) if words.startswith(f"{one}=")), None)
        value = words.removeprefix(f"{name}=")
        if name is None:
            spec, _, value = words.rpartition("=")
            name = next(iter(meant(column, spec, names)), None) if spec else None
        if name is None:
            raise IntraBenchError(
                f"{option} {words!r} names nothing in these results; write {shape}, where the name is one of "
                f"{', '.join(sorted(names))}"
            )
        found[name] = value
    return found


def write_json(path: Path, content: Any) -> None:
    """A JSON file for people and programs; infinite numbers are refused, which JSON does not have."""
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="utf-8")
