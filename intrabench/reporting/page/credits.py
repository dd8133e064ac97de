"""Whose data and weights the results are from: licences and what to cite."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from intrabench import registry
from intrabench.datasets.base import Dataset
from intrabench.errors import IntraBenchError
from intrabench.models.weights import registry as weights
from intrabench.reporting.page.commands import spec_of


@dataclass(frozen=True)
class Credit:
    """A data set or weights: under which licence, what to cite, where it is at home, what to know."""

    name: str
    licence: str
    citation: str
    homepage: str = ""
    notes: tuple[str, ...] = ()


def of_datasets(datasets: Mapping[str, Dataset | str]) -> list[Credit]:
    """One entry for each data set, from its card."""
    listed = []
    for name, dataset in datasets.items():
        if isinstance(dataset, str):
            listed.append(Credit(name, "not known here", dataset))
            continue
        card = dataset.card
        notes = (card.title, f"labels: {card.labels}", *card.caveats)
        listed.append(Credit(name, card.licence, card.citation, card.homepage, notes))
    return listed


def of_models(names: Iterable[str], records: Iterable[Mapping[str, Any]]) -> list[Credit]:
    """One entry for the weights of each model, as rows call it; for none, and for those brought by hand, there is none.

    records: those of the runs, which say what weights a model has; of others the model is asked.
    """
    known = {one["model"]: one["id"] for record in records for one in record.get("weights", ())}
    listed = []
    for name in names:
        spec, by_hand = spec_of(name)
        try:
            id = None if by_hand else known.get(name) or registry.make("models", spec).weights
        except IntraBenchError as error:
            listed.append(Credit(name, "not known here", str(error)))
            continue
        if id is not None:
            entry = weights.get(id)
            notes = (f"weights {id}", f"trained on {entry.training_data}")
            listed.append(Credit(name, entry.licence, entry.citation, next(iter(entry.pages), ""), notes))
    return listed
