"""A results folder as an RO-Crate 1.1 by the profile Process Run Crate 0.5: what was run, when, on what, with what.

https://www.researchobject.org/ro-crate and https://w3id.org/ro/wfrun/process/0.5. Rows and turns go in as two Parquet
files, and each run with its record. Data sets, weights and packages are described, not copied.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from intrabench.fetch.checksum import checksum_of
from intrabench.files.atomic import new_folder
from intrabench.files.names import file_name
from intrabench.publishing.exports.evidence import Evidence, evidence_of, facts, size_of, slug, write_json, written
from intrabench.results.parts import read_turns
from intrabench.results.runs import FINISHED
from intrabench.results.selection import EVERYTHING, Selection
from intrabench.results.store import write_parquet

ROCRATE, PROFILE = "https://w3id.org/ro/crate/1.1", "https://w3id.org/ro/wfrun/process/0.5"
METADATA, ROWS, TURNS = "ro-crate-metadata.json", "rows.parquet", "turns.parquet"
HOME = "https://github.com/intrabench/intrabench"
UNKNOWN = "unknown: nobody has said under which licence these results are"

_SPDX = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]*")


def export_ro_crate(
    root: Path, folder: Path, licence: str = "", *, now: datetime, selection: Selection = EVERYTHING
) -> tuple[int, list[str]]:
    """Write a results folder as an RO-Crate into a new folder.

    licence: of the results, a name of SPDX (``CC-BY-4.0``), an address or words; empty: unknown. now: when it is made.

    Returns:
        The number of runs, and sentences about what is left out.

    Raises:
        IntraBenchError: there are no results, or the folder exists.
    """
    evidence = evidence_of(root, selection)
    with new_folder(folder) as part:
        write_parquet(evidence.rows, part / ROWS)
        kept = evidence.rows["session"].unique().to_list()
        write_parquet(read_turns(root, kept).sort("session", "turn"), part / TURNS)
        for record in evidence.records:
            write_json(part / _place(record), record)
        entities = list(_Crate(evidence, part, licence, now).entities())
        write_json(part / METADATA, {"@context": [f"{ROCRATE}/context", _TERMS], "@graph": entities})
    return evidence.rows["run_id"].n_unique(), list(evidence.left_out)


_TERMS = {"sha256": "https://w3id.org/ro/terms/workflow-run#sha256"}
"""A term that the vocabulary of RO-Crate 1.1 lacks."""


def _place(record: Mapping[str, Any]) -> str:
    return f"runs/{file_name(str(record['run_id']))}.json"


def _ids(*ids: str) -> Any:
    """References to entities; a single one is no list."""
    found = [{"@id": id} for id in ids]
    return found if len(found) != 1 else found[0]


def _time(text: str | None) -> str | None:
    """A time of a record to the second, as the profile wants it; None if it is none."""
    with suppress(ValueError):
        return datetime.fromisoformat(text or "").isoformat(timespec="seconds")
    return None


class _Crate:
    """The entities of one crate."""

    def __init__(self, evidence: Evidence, folder: Path, licence: str, now: datetime) -> None:
        self.evidence, self.folder, self.licence, self.now = evidence, folder, licence, now
        self.runs = evidence.rows.sort("written_at").partition_by("run_id", as_dict=True, maintain_order=True)
        self.records = {str(record["run_id"]): record for record in evidence.records if "run_id" in record}
        self.files = [ROWS, TURNS, *map(_place, evidence.records)]

    def entities(self) -> Iterator[dict[str, Any]]:
        """All of them, each once."""
        found: dict[str, dict[str, Any]] = {}
        for entity in self._entities():
            found.setdefault(entity["@id"], entity)
        yield from found.values()

    def _entities(self) -> Iterator[dict[str, Any]]:
        yield {
            "@id": METADATA,
            "@type": "CreativeWork",
            "conformsTo": {"@id": ROCRATE},
            "about": {"@id": "./"},
        }
        yield self._root()
        yield {"@id": PROFILE, "@type": "CreativeWork", "name": "Process Run Crate", "version": "0.5"}
        if isinstance(licence := self._licence(), dict):
            yield {
                **licence,
                "@type": "CreativeWork",
                "name": self.licence,
                "description": "The licence of the results.",
            }
        yield from (self._file(name) for name in self.files)
        for (id,), rows in self.runs.items():
            yield from self._run(str(id), rows)

    def _root(self) -> dict[str, Any]:
        rows = self.evidence.rows
        models, datasets = (", ".join(rows[name].unique().sort()) for name in ("model", "dataset"))
        return {
            "@id": "./",
            "@type": "Dataset",
            "name": f"IntraBench results of {written(rows):%Y-%m-%d}",
            "description": f"Scores and prompts of {rows['session'].n_unique()} sessions: {models} on {datasets}"
            f"{f'; {only}' if (only := self.evidence.selection) else ''}.",
            "datePublished": f"{self.now:%Y-%m-%d}",
            "license": self._licence(),
            "conformsTo": {"@id": PROFILE},
            "hasPart": _ids(*self.files),
            "mentions": _ids(*(f"#run-{slug(str(id))}" for (id,) in self.runs)),
        }

    def _licence(self) -> Any:
        if _SPDX.fullmatch(self.licence):
            return {"@id": f"https://spdx.org/licenses/{self.licence}"}
        return {"@id": self.licence} if "://" in self.licence else self.licence or UNKNOWN

    def _file(self, name: str) -> dict[str, Any]:
        path = self.folder / name
        about = {
            ROWS: "The results that count in tables: one row per session and round. Raters and patients are numbered.",
            TURNS: "The prompts of these sessions: one row per turn, with the JSON of what the user gave.",
        }
        return {
            "@id": name,
            "@type": "File",
            "name": name,
            "description": about.get(name, "The record of a run: options, software, hardware, data sets, weights."),
            "encodingFormat": "application/json" if name.endswith(".json") else "application/vnd.apache.parquet",
            "contentSize": str(path.stat().st_size),
            "sha256": checksum_of(path).removeprefix("sha256:"),
        }

    def _run(self, id: str, rows: pl.DataFrame) -> Iterator[dict[str, Any]]:
        record = self.records.get(id, {})
        used = [*self._data(rows), *self._models(rows), *self._settings(id, rows)]
        software = self._software(record)
        state, last = record.get("state"), written(rows).isoformat()
        status = {} if state is None else {"actionStatus": f"http://schema.org/{_status(state)}"}
        error = {} if state in (None, FINISHED) else {"error": str(state)}
        yield {
            "@id": f"#run-{slug(id)}",
            "@type": "CreateAction",
            "name": f"intrabench run {id}",
            "description": f"{rows['session'].n_unique()} sessions were played; {rows.height} rows of results.",
            "instrument": {"@id": software[0]["@id"]},
            "object": _ids(*(entity["@id"] for entity in used)),
            "result": _ids(ROWS, TURNS, *([_place(record)] if record else [])),
            **facts(startTime=_time(record.get("started")), endTime=_time(record.get("ended")) or _time(last)),
            **status,
            **error,
        }
        yield from [*software, *used]

    def _software(self, record: Mapping[str, Any]) -> list[dict[str, Any]]:
        """IntraBench in the version of the run, then the packages that it ran with."""
        versions = dict(record.get("versions", {}))
        ours, commit = versions.pop("intrabench", None), record.get("commit")
        machine, environment = versions.pop("machine", None), record.get("package_versions_hash", "unknown")
        packages = [_package(name, version) for name, version in versions.items()]
        return [
            {
                "@id": f"{HOME}#{slug(f'{commit or ours} {environment}')}",
                "@type": "SoftwareApplication",
                "name": "IntraBench",
                "url": HOME,
                "license": {"@id": "https://spdx.org/licenses/Apache-2.0"},
                **facts(softwareVersion=ours or "unknown", processorRequirements=machine),
                **facts(softwareRequirements=_ids(*(package["@id"] for package in packages))),
            },
            *packages,
        ]

    def _data(self, rows: pl.DataFrame) -> Iterator[dict[str, Any]]:
        for name, version in rows.select("dataset", "dataset_version").unique().sort(pl.all()).iter_rows():
            card = self.evidence.card(name)
            yield {
                "@id": f"#dataset-{slug(name)}-{slug(str(version))}",
                "@type": "CreativeWork",
                "additionalType": "http://schema.org/Dataset",
                "name": name,
                "description": "; ".join(filter(None, [card.title, card.modality, size_of(card), *card.caveats])),
                **facts(version=version, license=card.licence, citation=card.citation, url=card.homepage),
            }

    def _models(self, rows: pl.DataFrame) -> Iterator[dict[str, Any]]:
        which = ("model", "model_version", "weights", "weights_sha256")
        for line in rows.select(which).unique().sort(pl.all()).iter_rows(named=True):
            model, version, kind, sha256 = line.values()
            weights = self.evidence.weights_of(line)
            entry = weights.entry
            about = f"Weights: {weights.source}." + (f" Training data: {entry.training_data}." if entry else "")
            yield {
                "@id": f"#model-{slug(model)}-{slug(f'{version} {kind} {sha256[:12]}')}",
                "@type": "CreativeWork",
                "additionalType": "http://schema.org/SoftwareApplication",
                "name": model,
                "description": about,
                **facts(version=version, sha256=sha256 if len(sha256) == 64 else ""),
                **(
                    facts(license=entry.licence, citation=entry.citation, url=next(iter(entry.pages), ""))
                    if entry
                    else {}
                ),
            }

    def _settings(self, id: str, rows: pl.DataFrame) -> Iterator[dict[str, Any]]:
        for name in ("protocol", "prompter", "seed", "stop", "effort", "joint_rules", "dtype", "device"):
            values = [str(value) for value in rows[name].unique().drop_nulls().sort() if value != ""]
            if values:
                at = f"#run-{slug(id)}-{name}"
                yield {"@id": at, "@type": "PropertyValue", "name": name, "value": values if values[1:] else values[0]}


def _package(name: str, version: str) -> dict[str, Any]:
    """A package in one version; its address is its identifier."""
    page = f"https://pypi.org/project/{name}/{version}/"
    if name == "python":
        page = f"https://www.python.org/downloads/release/python-{version.replace('.', '')}/"
    return {"@id": page, "@type": "SoftwareApplication", "name": name, "softwareVersion": version, "url": page}


def _status(state: str) -> str:
    return "CompletedActionStatus" if state == FINISHED else "FailedActionStatus"
