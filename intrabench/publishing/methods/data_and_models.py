"""Facts on data sets and models: versions, numbers, licences, and whether one was trained on the other."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import polars as pl

from intrabench.datasets.base import Dataset
from intrabench.errors import several
from intrabench.models.weights.registry import REGISTERED
from intrabench.publishing.methods.markup import Bibliography, count, listed, name, plain, sentence
from intrabench.publishing.methods.provenance import Missing, Provenance
from intrabench.results import labels
from intrabench.results.model_cards import card, title_of
from intrabench.results.private import without_paths
from intrabench.results.runs import unfinished
from intrabench.results.weights import weights_of
from intrabench.statistics.evaluation import about
from intrabench.target import WHOLE_CASE


def data(of: Provenance, cites: Bibliography) -> str:
    """Data sets with versions, modality, licences and numbers."""
    parts = [_dataset(of, one, cites) for one in of.counts.iter_rows(named=True)]
    return f"The models were evaluated on {count(len(parts), 'data set')}: {'; '.join(parts)}."


def _dataset(of: Provenance, one: Mapping[str, Any], cites: Bibliography) -> str:
    found = of.datasets.get(one["dataset"])
    card = found.card if isinstance(found, Dataset) else None
    cases = several(one["cases"], "case")
    if card and card.cases and card.cases > one["cases"]:
        cases = f"{one['cases']} of its {several(card.cases, 'case')}"
    cases += f" from {several(one['patients'], 'patient')}" if one["patients"] != one["cases"] else ""
    classes = f"{one['classes']} class{'es' * (one['classes'] != 1)}"
    about = f"version {plain(one['version'])}; {cases} and {several(one['targets'], 'target')} in {classes}"
    if card is None:
        return f"{name(one['dataset'])} ({about})"
    licence = "" if card.licence == "not stated" else f"; licence: {plain(card.licence)}"
    known = (text for text in (card.title, card.modality) if text not in ("", one["dataset"]))  # of folders, maybe none
    details = f"{'; '.join([*map(plain, known), about])}{licence}"
    return f"{name(one['dataset'])} ({details}){cites.cite([card.citation])}"


def selection(of: Provenance, cites: Bibliography) -> str:
    """Which cases and targets of the data sets were played, and which line on which of them."""
    uneven = _uneven(of)
    words = plain(without_paths(about(of.selection, of.statistic.metric)))
    parts = [f"All numbers are of a part of the results: {words}."] if words else []
    parts += [f"Lines were not all played on the same targets: {'; '.join(uneven)}."] if uneven else []
    parts += ["The last run did not finish, so that sessions may be missing."] if unfinished(of.root) else []
    runs = {*of.rows["run_id"]}
    known = [record["options"] for record in of.records if record.get("run_id") in runs and "options" in record]
    asked = {json.dumps([one.get("cases") or [], one.get("targets") or []]) for one in known}
    complete = len(known) == len(runs)
    if complete and len(asked) == 1:  # else only the rows say on what a line was played
        given = zip(("cases", "targets"), json.loads(asked.pop()), strict=True)
        chosen = [f"the {what} {listed([name(without_paths(one)) for one in some])}" for what, some in given if some]
        if chosen:
            parts.append(f"Only a selection was played: {listed(chosen)}.")
        elif not parts:
            parts.append("No cases or targets were left out by selection.")
    if not parts and complete:
        parts.append("Runs were given different cases or targets, but in the end all lines were played on the same.")
    return " ".join(parts) or Missing("there is no record of the runs, so it is not known whether cases were selected")


def _uneven(of: Provenance) -> list[str]:
    """On how many targets of which cases lines were played, if not on all of a data set that any was played on."""
    single = of.rows.filter(pl.col("target") != WHOLE_CASE).select("line", *PLAYED).unique()
    parts = []
    for (dataset,), played in sorted(single.partition_by("dataset", as_dict=True).items()):
        every, groups = played.select(PLAYED).n_unique(), dict[tuple[str, ...], list[str]]()
        for line, called in sorted(of.names.items()):
            mine = played.filter(pl.col("line") == line)
            if mine.height < every:
                groups.setdefault((str(mine.height), *mine["case"].unique().sort()), []).append(name(called))
        for (count_, *cases), lines in groups.items():
            named = f": {listed([name(case) for case in cases])}" if 0 < len(cases) <= MOST_CASES else ""
            among = f" ({several(len(cases), 'case')}{named})" if cases else ""
            some = f"{count_ if cases else 'none'} of the {several(every, 'target')}"
            parts.append(f"{listed(lines)} on {some} of {name(dataset)}{among}")
    return parts


MOST_CASES = 4
"""So many cases of a line are named."""

PLAYED = ("dataset", "case", "target")


def splits(of: Provenance, cites: Bibliography) -> str:
    """The split that cases belong to."""
    return Missing("results do not hold whether the cases are a training, validation or test split of their data set")


def models(of: Provenance, cites: Bibliography) -> str:
    """Models with versions, weights and licences."""
    found = of.models
    parts = [_model(of, one, cites) for one in found.iter_rows(named=True)]
    were = "was evaluated" if len(parts) == 1 else "were compared"
    return f"{sentence(count(len(parts), 'model'))} {were}: {'; '.join(parts)}."


def _model(of: Provenance, one: Mapping[str, Any], cites: Bibliography) -> str:
    weights = weights_of(one, of.records)
    credit, title = of.credits.get(one["model"]), title_of(one["model"])
    hashed = f" with the SHA-256 {name(weights.sha256)}" if len(weights.sha256) == 64 else ""
    stated = credit and weights.source == REGISTERED
    licence = f"; licence of the weights: {plain(credit.licence)}" if credit and stated else ""
    code = f"; code: {plain(homepage)}" if (homepage := card(one["model"]).homepage) else ""
    cited = cites.cite([credit.citation]) if credit and credit.citation != "not stated" else ""
    about = f"version {plain(one['model_version'])}, {weights.words}{hashed}, {plain(one['dtype'])}"
    spec = f"{name(one['model'])}, " if title != one["model"] else ""
    return f"{name(title)} ({spec}{about}{licence}{code}){cited}"


def contamination(of: Provenance, cites: Bibliography) -> str:
    """Whether weights were trained on the data."""
    trained_on = pl.col("seen_in_training").fill_null("unknown")
    seen = of.rows.select(trained_on, labels.MODEL.alias("label"), "dataset").unique().sort("label", "dataset")
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (kind, model), found in seen.group_by("seen_in_training", "label", maintain_order=True):
        groups.setdefault((str(kind), tuple(found["dataset"])), []).append(str(model))
    texts: dict[str, list[str]] = {"yes": [], "no": [], "unknown": []}
    for (kind, datasets), names in groups.items():
        who, where = (listed([name(one) for one in some]) for some in (names, datasets))
        texts.setdefault(kind, []).append(
            f"{who} {'was' if len(names) == 1 else 'were'}{_NOT[kind]} trained on {where}"
        )
    statements = [
        *(f"{text}, or on data that contain it, so these numbers say little about new data" for text in texts["yes"]),
        *texts["no"],
    ]
    sentences = [f"By the published lists of training data, {'; '.join(statements)}."] if statements else []
    sentences += [f"Whether {text} is unknown." for text in texts["unknown"]]
    return " ".join(sentences) or Missing("rows do not say whether models were trained on the data")


_NOT = {"yes": "", "no": " not", "unknown": ""}
