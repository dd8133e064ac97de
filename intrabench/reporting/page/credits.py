"""Licences and citations of the data and weights behind the results, and commands that reproduce them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from intrabench.datasets.base import Dataset
from intrabench.effort import SECONDS
from intrabench.models.weights.registry import BY_HAND, RANDOM
from intrabench.results.model_cards import card, title_of
from intrabench.results.weights import weights_of


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
    """One entry per model with registered weights, or with a card; other files of the user's, and untrained networks,
    are left out.

    lines: `lines_of`. records: the records of the runs, which name the weights of each model; a model that they lack
    names its own.
    """
    known, listed = list(records), dict[str, Credit]()
    for line in lines.select("model", "weights", "weights_sha256").unique().sort(pl.all()).iter_rows(named=True):
        name, found, stated = line["model"], weights_of(line, known), card(line["model"])
        entry, has_card = found.entry, bool(stated.citation or stated.homepage)
        if found.unknown and not has_card:
            listed.setdefault(name, Credit(name, "unknown to this installation", found.unknown))
        elif entry is not None or has_card:
            licence, citation, page, notes = "not stated", "not stated", "", [title_of(name)] if stated.title else []
            if entry is not None:
                licence, citation, page = entry.licence, entry.citation, next(iter(entry.pages), "")
                notes += [f"weights {entry.id}", f"trained on {entry.training_data}"]
            listed[name] = Credit(name, licence, stated.citation or citation, stated.homepage or page, tuple(notes))
    return list(listed.values())


def command(line: Mapping[str, Any], datasets: Sequence[str]) -> str:
    """The command that reproduces a line of `lines_of`; `datasets` are arguments for ``--dataset``.

    An effort table stands as the file that it was named after.
    """
    words = ["intrabench", "run", "--model", line["model"], *_weights(line)]
    words += ["--prompter", line["prompter"], *(word for dataset in datasets for word in ("--dataset", dataset))]
    words += ["--protocol", line["protocol"], *(["--stop", line["stop"]] if line["stop"] else [])]
    words += ["--effort", f"{line['effort'].partition('@')[0]}.toml"] if line["effort"] not in (None, SECONDS) else []
    words += ["--joint", line["joint_rules"]] if line["joint_rules"] else []
    words += ["--rounds", str(line["rounds"])]
    words += [word for seed in line["seeds"] if line["seeds"] != [0] for word in ("--seed", str(seed))]
    words += ["--dtype", line["dtype"]] if line["dtype"] != "float32" else []
    words += ["--strict"] if line["strict"] else []
    return shlex.join(words)


def _weights(line: Mapping[str, Any]) -> list[str]:
    """The option that gives a model its weights; nothing for the registered ones. FILE stands for a file by hand."""
    value = {RANDOM: RANDOM, BY_HAND: f"FILE-{(line['weights_sha256'] or '')[:8]}"}.get(line["weights"])
    return ["--weights", value] if value else []
