"""Every Eval Ever (schema 0.3.0): one JSON file per model, protocol and data set, and beside it one line per session.

https://github.com/evaleval/every_eval_ever. The files lie as in its datastore:
``data/intrabench/DEVELOPER/MODEL/UUID.json`` and ``UUID_samples.jsonl``.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

from intrabench.errors import IntraBenchError
from intrabench.files.atomic import new_folder
from intrabench.files.documents import json_number
from intrabench.publishing.exports.eee_samples import samples
from intrabench.publishing.exports.evidence import Evidence, evidence_of, facts, pairs, slug, write_json, written
from intrabench.publishing.exports.scored import LINE, LineResults, scored_results
from intrabench.results.model_label import model_label
from intrabench.results.selection import EVERYTHING, Selection

SCHEMA_VERSION = "0.3.0"
COLLECTION = "intrabench"
Relationship = Literal["first_party", "third_party", "collaborative", "other"]

_HUB = re.compile(r"hf:(?:repo=)?([\w.-]+/[\w.-]+)")


@dataclass(frozen=True)
class Evaluator:
    """Who evaluated, as the schema asks for it: the organization, and how it is related to the models."""

    organization: str = "unknown"
    relationship: Relationship = "other"


def export_eee(
    root: Path,
    folder: Path,
    by: Evaluator,
    model_ids: Sequence[str] = (),
    *,
    now: datetime,
    selection: Selection = EVERYTHING,
) -> tuple[int, list[str]]:
    """Write the results of a folder into a new folder, which can be copied into the datastore.

    model_ids: ``MODEL=ORG/NAME`` for models whose name at the Hugging Face hub is not known here; without, they are
    ``intrabench/MODEL``. now: when the records are made.

    Returns:
        The number of JSON files, and sentences about what they lack.

    Raises:
        IntraBenchError: there are no results, the folder exists, or an option is wrong.
    """
    evidence = evidence_of(root, selection)
    ids = pairs("--model-id", model_ids, evidence.rows["model"].unique().to_list(), "MODEL=ORG/NAME", "model")
    for name, id in ids.items():
        if not re.fullmatch(r"[\w.-]+/[\w.-]+", id):
            raise IntraBenchError(f"--model-id {name}={id}: expected ORG/NAME, as at the Hugging Face hub")
    results, notes = scored_results(evidence.rows)
    with new_folder(folder) as part:
        for log in (_Log(evidence, found, by, ids, now) for found in results):
            log.write(part)
    return len(results), [*evidence.left_out, *notes]


class _Log:
    """One evaluation log: the results of one model, under one protocol, on one data set."""

    def __init__(
        self, evidence: Evidence, found: LineResults, by: Evaluator, ids: Mapping[str, str], now: datetime
    ) -> None:
        self.evidence, self.found, self.by = evidence, found, by
        self.key = dict(zip(LINE, found.key, strict=True))
        self.label = model_label(self.key["model"], self.key["weights"], self.key["weights_sha256"])
        self.model_id = ids.get(self.key["model"]) or self._model_id()
        name = f"{COLLECTION}_{slug(found.protocol)}_{slug(self.key['dataset'])}"
        self.id = f"{name}/{self.model_id}/{now.timestamp():.0f}"
        self.retrieved = f"{now.timestamp():.0f}"
        digest = hashlib.sha256(json.dumps([*found.key, str(written(found.rows))], default=str).encode()).digest()
        self.uuid = UUID(bytes=digest[:16], version=4)  # the same results have the same file

    def _model_id(self) -> str:
        entry = self.evidence.weights_of(self.key).entry
        sources = (self.key["model"], *(entry.sources if entry else ()))
        at_hub = next((hit[1] for source in sources if (hit := _HUB.match(source))), None)
        return at_hub or f"{COLLECTION}/{slug(self.label)}"

    def write(self, root: Path) -> None:
        """Write both files under the folder."""
        developer, name = self.model_id.split("/")
        place = Path("data", COLLECTION, developer, name)
        path = root / place / f"{self.uuid}_samples.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines, digest = 0, hashlib.sha256()
        with path.open("wb") as file:
            for sample in samples(self.found):
                item = {"schema_version": SCHEMA_VERSION, "evaluation_id": self.id, "model_id": self.model_id, **sample}
                line = json.dumps(item, ensure_ascii=False, allow_nan=False).encode() + b"\n"
                file.write(line)
                digest.update(line)
                lines += 1
        detailed = {
            "format": "jsonl",
            "file_path": (place / path.name).as_posix(),
            "hash_algorithm": "sha256",
            "checksum": digest.hexdigest(),
            "total_rows": lines,
        }
        write_json(root / place / f"{self.uuid}.json", {**self._head(), "detailed_evaluation_results": detailed})

    def _head(self) -> dict[str, Any]:
        rows = self.found.rows
        return {
            "schema_version": SCHEMA_VERSION,
            "evaluation_id": self.id,
            "evaluation_timestamp": written(rows).isoformat(timespec="seconds"),
            "retrieved_timestamp": self.retrieved,
            "source_metadata": {
                "source_name": "IntraBench",
                "source_type": "evaluation_run",
                "source_organization_name": self.by.organization,
                "evaluator_relationship": self.by.relationship,
            },
            "eval_library": {
                "name": "intrabench",
                "version": self.evidence.library(rows),
                "additional_details": facts(
                    protocol=self.found.protocol, strict=str(self.key["strict"]), selection=self.evidence.selection
                ),
            },
            "model_info": self._model(),
            "evaluation_results": list(self._results()),
        }

    def _model(self) -> dict[str, Any]:
        weights = self.evidence.weights_of(self.key)
        entry = weights.entry
        is_open = bool(entry and entry.sources)
        elsewhere = "url=" in self.key["model"]  # a server may be anybody's
        return {
            "name": self.label,
            "id": self.model_id,
            "additional_details": facts(
                deployment_type="unknown" if elsewhere else "self_deployed",
                model_availability="open_weights" if is_open else "unknown",
                spec=self.key["model"],
                version=", ".join(sorted(self.found.rows["model_version"].unique().drop_nulls())),
                dtype=self.key["dtype"],
                weights=weights.source,
                weights_sha256=self.key["weights_sha256"],
                licence=entry.licence if entry else "",
                citation=entry.citation if entry else "",
                training_data=entry.training_data if entry else "",
                seen_in_training=", ".join(sorted(self.found.rows["seen_in_training"].unique().drop_nulls())),
            ),
        }

    def _source(self) -> dict[str, Any]:
        name, card = self.key["dataset"], self.evidence.card(self.key["dataset"])
        details = facts(
            title=card.title,
            version=", ".join(sorted(self.found.rows["dataset_version"].unique().drop_nulls())),
            modality=card.modality,
            licence=card.licence,
            citation=card.citation,
            labels=card.labels,
            cases="" if card.cases is None else str(card.cases),
            targets="" if card.targets is None else str(card.targets),
            caveats="; ".join(card.caveats),
        )
        at = {"source_type": "url", "url": [card.homepage]} if card.homepage else {"source_type": "other"}
        return {"dataset_name": name, **at, "additional_details": details}

    def _results(self) -> Iterator[dict[str, Any]]:
        for one in self.found.results:
            metric = one.metric
            uncertainty: dict[str, Any] = {"num_samples": one.patients}
            if one.low is not None and one.high is not None:
                interval = {"lower": one.low, "upper": one.high, "confidence_level": 0.95, "method": one.method}
                uncertainty |= {"confidence_interval": interval, "num_bootstrap_samples": one.draws}
            yield {
                "evaluation_result_id": one.id,
                "evaluation_name": one.name,
                "source_data": self._source(),
                "metric_config": {
                    "evaluation_description": f"{metric.head}, {one.how}{', of finite values' if one.infinite else ''}",
                    "metric_id": metric.column,
                    "metric_name": metric.title or metric.name,
                    "metric_kind": metric.name,
                    **facts(metric_unit=metric.unit or ("proportion" if metric.bounds == (0.0, 1.0) else "")),
                    "lower_is_better": metric.best != "high",
                    "score_type": "continuous",
                    "min_score": json_number(metric.bounds[0]),
                    "max_score": json_number(metric.bounds[1]),
                    "additional_details": facts(
                        id=metric.id,
                        best=metric.best,
                        definition=metric.description,
                        source=metric.source,
                        a_miss_counts_as=metric.miss_words,
                    ),
                },
                "score_details": {"score": one.value, "details": one.details, "uncertainty": uncertainty},
            }
