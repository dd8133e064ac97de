"""Licences and citations of the data and weights behind the results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from intrabench.datasets.base import Dataset
from intrabench.errors import IntraBenchError
from intrabench.models.weights import registry as weights
from intrabench.results.origin import weights_of


@dataclass(frozen=True)
class Credit:
    """Licence, citation, homepage and notes of a data set or of weights."""

    name: str
    licence: str
    citation: str
    homepage: str = ""
    notes: tuple[str, ...] = ()


def of_datasets(datasets: Mapping[str, Dataset | str]) -> list[Credit]:
    """One entry per data set, from its card."""
    listed = []
    for name, dataset in datasets.items():
        if isinstance(dataset, str):
            listed.append(Credit(name, "unknown to this installation", dataset))
            continue
        card = dataset.card
        notes = (card.title, f"labels: {card.labels}", *card.caveats)
        listed.append(Credit(name, card.licence, card.citation, card.homepage, notes))
    return listed


def of_models(lines: pl.DataFrame, records: Iterable[Mapping[str, Any]]) -> list[Credit]:
    """One entry per model with registered weights; files of the user's and untrained networks are left out.

    lines: `lines_of`. records: the records of the runs, which name the weights of each model; a model that they lack
    names its own.
    """
    known = list(records)
    registered = lines.filter(pl.col("weights") == weights.REGISTERED)
    listed = []
    for name in registered["model"].unique().sort():
        try:
            entry = weights_of(name, known)
        except IntraBenchError as error:
            listed.append(Credit(name, "unknown to this installation", str(error)))
            continue
        if entry is not None:
            notes = (f"weights {entry.id}", f"trained on {entry.training_data}")
            listed.append(Credit(name, entry.licence, entry.citation, next(iter(entry.pages), ""), notes))
    return listed
