"""Croissant 1.1 (JSON-LD) with the fields of its RAI vocabulary: for data cards, and for the prompts of a run.

https://docs.mlcommons.org/croissant. What a card does not say is left out.
"""

from __future__ import annotations

import hashlib
import json
import mimetypes
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl

from intrabench.datasets.base import Dataset, NotFetched
from intrabench.errors import several
from intrabench.fetch.package import PackageSource
from intrabench.fetch.remote import RemoteFile
from intrabench.fetch.source import Source
from intrabench.files.atomic import new_folder
from intrabench.files.names import file_name
from intrabench.identity.versions import version_of
from intrabench.publishing.exports.evidence import Evidence, evidence_of, facts, size_of, write_json
from intrabench.results.labels import MODEL
from intrabench.results.parts import read_turns
from intrabench.results.selection import EVERYTHING, Selection

CONFORMS_TO = "http://mlcommons.org/croissant/1.1"
RAI = "http://mlcommons.org/croissant/RAI/1.0"
PROMPTS = "prompts.jsonl"

CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    **{
        name: f"cr:{name}"
        for name in (
            *("arrayShape", "citeAs", "column", "containedIn", "equivalentProperty", "extract", "field"),
            *("fileProperty", "fileObject", "fileSet", "format", "includes", "isArray", "isLiveDataset", "jsonPath"),
            *("key", "md5", "parentField", "path", "recordSet", "references", "regex", "repeated", "replace"),
            *("samplingRate", "separator", "source", "subField", "transform"),
        )
    },
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "name": {"@container": "@language"},
    "description": {"@container": "@language"},
}
"""The names of the vocabulary, as its own examples bind them."""

_FIELDS = {
    "session": "the session of the results that the turn is from",
    "dataset": "data set",
    "case": "case of the data set",
    "target": "target in the case, label and instance",
    "label": "what the target is",
    "model": "the model whose answers the user saw; the first turn does not depend on it",
    "prompter": "the simulated user, or a person under a number",
    "seed": "random seed of the simulated user",
    "round": "0 is the initial prompting; each correction is a round",
    "turn": "number of the turn in its session",
    "given": "JSON: the prompts in voxels (z, y, x) of the canonical grid (boxes are half-open), and the actions",
}
_NUMBERS = ("seed", "round", "turn")


def export_croissant(
    root: Path,
    folder: Path,
    datasets: Iterable[Dataset] = (),
    licence: str = "",
    selection: Selection = EVERYTHING,
) -> tuple[list[str], list[str]]:
    """Write ``DATASET.croissant.json`` for data cards, and the prompts of a results folder as a data set, ``prompts/``.

    datasets: only the cards of these are written, and no results are read. licence: of the prompts; empty: not said.

    Returns:
        The names of the files, and sentences about what is left out.

    Raises:
        IntraBenchError: there are no results, or the folder exists.
    """
    wanted = {dataset.short_spec: dataset for dataset in datasets}
    evidence = None if wanted else evidence_of(root, selection)
    cards = wanted if evidence is None else evidence.datasets
    turns, notes = None, list[str]()
    if evidence is not None:
        kept = None if selection == EVERYTHING else evidence.rows["session"].unique().to_list()
        turns = read_turns(root, kept)
        missing = evidence.rows.filter(pl.col("status") == "ok")["session"].unique()
        missing = missing.filter(~missing.is_in(turns["session"].implode()))
        lost = several(len(missing), "session")
        notes = [*evidence.left_out, *([f"the prompts of {lost} are missing in {root}"] if len(missing) else [])]
    with new_folder(folder) as part:
        for name, dataset in cards.items():
            write_json(part / f"{file_name(name)}.croissant.json", card_of(dataset, name))
        if evidence is not None and turns is not None:
            _write_prompts(evidence, turns, part / "prompts", licence)
    names = [f"{file_name(name)}.croissant.json" for name in cards]
    return [*names, *([] if evidence is None else ["prompts/croissant.json"])], notes


def card_of(dataset: Dataset, name: str) -> dict[str, Any]:
    """The data card of a data set; name: how it is called in results."""
    card = dataset.card
    about = [card.title, size_of(card), f"Instances: {card.instances}" if card.instances else "", *dataset.remarks()]
    return _document(
        **facts(
            name=name,
            description=". ".join(text.rstrip(".") for text in about if text) + ".",
            url=card.homepage,
            license=card.licence,
            citeAs=card.citation,
            version=version_of(dataset),
            keywords=[word for word in (card.modality, "segmentation", *card.part_of) if word],
        ),
        distribution=[_file(source) for source in _sources(dataset)],
        **_rai(
            dataAnnotationProtocol=card.labels,
            dataLimitations=list(card.caveats),
            dataUseCases=["measuring interactive segmentation with simulated users"],
        ),
    )


def _sources(dataset: Dataset) -> list[PackageSource | RemoteFile]:
    """The published files that have a checksum; series of the Imaging Data Commons have one for each slice only."""
    found: dict[Source, None] = dict.fromkeys(dataset.sources())
    with suppress(NotFetched):
        found |= dict.fromkeys(source for case in dataset.cases() for source in dataset.case_sources(case))
    return [one for one in found if isinstance(one, PackageSource | RemoteFile) and one.checksum]


def _file(source: PackageSource | RemoteFile) -> dict[str, Any]:
    algorithm, digits = source.checksum.split(":")
    guessed, packed = mimetypes.guess_type(source.title)
    kind = "application/zip" if source.title.endswith(".whl") else guessed if not packed else f"application/{packed}"
    return {
        "@type": "cr:FileObject",
        "@id": source.title,
        "name": source.title,
        "contentUrl": source.urls()[0],
        "encodingFormat": kind or "application/octet-stream",
        **facts(contentSize=f"{source.size} B" if source.size else ""),
        algorithm: digits,
    }


def _write_prompts(evidence: Evidence, turns: pl.DataFrame, folder: Path, licence: str) -> None:
    about = ("session", "dataset", "case", "target", "label", "model", "prompter", "seed")
    sessions = evidence.rows.with_columns(MODEL).select(about).unique("session")
    table = turns.join(sessions, on="session").select(*_FIELDS).sort("dataset", "case", "target", "session", "turn")
    folder.mkdir()
    text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in table.iter_rows(named=True)).encode()
    (folder / PROMPTS).write_bytes(text)
    write_json(folder / "croissant.json", _prompt_set(evidence, table, text, licence))


def _prompt_set(evidence: Evidence, table: pl.DataFrame, text: bytes, licence: str) -> dict[str, Any]:
    people = table.filter(pl.col("prompter").str.contains(r"\b(human|recorded)\b"))["prompter"].n_unique()
    names = table["dataset"].unique().sort().to_list()
    users = "simulated users" + (f" and people ({people} of the prompters)" if people else "")
    digest, only = hashlib.sha256(text).hexdigest(), f"; {evidence.selection}" if evidence.selection else ""
    file = {"@type": "cr:FileObject", "@id": PROMPTS, "name": PROMPTS, "contentUrl": PROMPTS}
    file |= {"encodingFormat": "application/jsonlines", "contentSize": f"{len(text)} B", "sha256": digest}
    return _document(
        name=f"IntraBench prompts {digest[:12]}",
        description=f"{len(table)} turns of {table['session'].n_unique()} sessions, given by {users} to interactive "
        f"segmentation models on {', '.join(names)}{only}. Recorded by intrabench {evidence.library(evidence.rows)}.",
        **facts(license=licence),
        keywords=["interactive segmentation", "prompts", "clicks", "boxes", "scribbles"],
        isBasedOn=[{"@type": "Dataset", **facts(name=name, url=evidence.card(name).homepage)} for name in names],
        distribution=[file],
        recordSet=[{"@type": "cr:RecordSet", "@id": "turns", "name": "turns", "field": [*map(_field, _FIELDS)]}],
        **_rai(
            dataCollection=f"Every turn of {users} was stored while a model was benchmarked.",
            dataCollectionType=["Software Collection", *(["Experiments"] if people else [])],
            dataAnnotationProtocol="Prompts are derived from the reference masks of the data sets by the prompter that "
            "is named, or given by a person who saw the scan; corrections also depend on the answers of the model.",
            dataLimitations=["Prompts of simulated users are not validated against those of radiologists."],
            dataUseCases=["replaying sessions", "prompting other models with the same prompts"],
            personalSensitiveInformation=[
                "People are numbered. Names of cases are those of the data sets."
                if people
                else "None of the users. Names of cases are those of the data sets."
            ],
        ),
    )


def _field(name: str) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"turns/{name}",
        "name": name,
        "description": _FIELDS[name],
        "dataType": "sc:Integer" if name in _NUMBERS else "sc:Text",
        "source": {"fileObject": {"@id": PROMPTS}, "extract": {"column": name}},
    }


def _document(**content: Any) -> dict[str, Any]:
    head = {"@context": CONTEXT, "@type": "sc:Dataset", "conformsTo": [CONFORMS_TO, RAI]}
    return {**head, **{name: value for name, value in content.items() if value != []}}


def _rai(**fields: Any) -> dict[str, Any]:
    return {f"rai:{name}": value for name, value in facts(**fields).items()}
