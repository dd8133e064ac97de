"""RO-Crate: read by the package rocrate; roc-validator judges it in the slow tests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from intrabench.publishing.exports.ro_crate import export_ro_crate
from intrabench.results.parts import read_rows, read_turns
from intrabench.results.runs import read_records
from intrabench.results.store import Store
from tests.publishing.exports.test_eee import stored

rocrate = pytest.importorskip("rocrate.rocrate")
NOW = datetime(2026, 1, 2, tzinfo=UTC)


def entities(folder: Path) -> dict[str, dict[str, Any]]:
    graph = json.loads((folder / "ro-crate-metadata.json").read_text(encoding="utf-8"))["@graph"]
    assert len({one["@id"] for one in graph}) == len(graph)
    return {one["@id"]: one for one in graph}


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from [value["@id"]] if value.keys() == {"@id"} else []
        yield from (id for one in value.values() for id in references(one))
    elif isinstance(value, list):
        yield from (id for one in value for id in references(one))


def test_a_run_is_a_crate(results: Path, data: Path) -> None:
    count, notes = export_ro_crate(results, Path("new"), "CC-BY-4.0", now=NOW)
    records = read_records(results)
    assert (count, notes) == (len(records), []) == (2, [])
    crate = rocrate.ROCrate(Path("new"))
    assert crate.license["@id"] == "https://spdx.org/licenses/CC-BY-4.0"
    assert crate.datePublished.isoformat().startswith("2026-01-02")
    assert {one.id for one in crate.data_entities} == {
        "rows.parquet", "turns.parquet", *(f"runs/{one['run_id']}.json" for one in records)
    }  # fmt: skip
    found = entities(Path("new"))
    actions = [one for one in found.values() if one["@type"] == "CreateAction"]
    assert {one["@id"] for one in found["./"]["mentions"]} == {f"#run-{record['run_id']}" for record in records}
    assert {one["@id"] for one in actions} == {f"#run-{record['run_id']}" for record in records}
    for action in actions:
        assert action["actionStatus"] == "http://schema.org/CompletedActionStatus"
        software = found[action["instrument"]["@id"]]
        assert software["softwareVersion"] == records[0]["versions"]["intrabench"]
        needed = {found[one["@id"]]["name"] for one in software["softwareRequirements"]}
        assert {"numpy", "polars", "python"} <= needed
        assert {one["@id"] for one in action["object"]} <= found.keys()
    lost = {id for one in found.values() for id in references(one)} - found.keys()
    assert lost == {"https://w3id.org/ro/crate/1.1", "https://spdx.org/licenses/Apache-2.0"}  # outside of every crate


def test_its_files_are_the_results(results: Path, data: Path) -> None:
    export_ro_crate(results, Path("new"), now=NOW)
    for one in entities(Path("new")).values():
        if one["@type"] == "File":
            content = (Path("new") / one["@id"]).read_bytes()
            assert one["sha256"] == hashlib.sha256(content).hexdigest()
            assert one["contentSize"] == str(len(content))
    rows, stored_rows = pl.read_parquet("new/rows.parquet"), read_rows(results)
    key = ("session", "round")
    assert rows.drop("error").sort(key).equals(stored_rows.drop("error").sort(key))
    assert pl.read_parquet("new/turns.parquet").equals(read_turns(results).sort("session", "turn"))
    assert entities(Path("new"))["./"]["license"].startswith("unknown: ")


def test_runs_that_failed_or_left_no_record(private: Path, data: Path) -> None:
    root = private
    Store(root, "run-1").write_record({**read_records(root)[0], "state": "failed (OSError)", "ended": "no time"})
    export_ro_crate(root, Path("new"), now=NOW)
    (action,) = (one for one in entities(Path("new")).values() if one["@type"] == "CreateAction")
    assert action["actionStatus"] == "http://schema.org/FailedActionStatus"
    assert action["error"] == "failed (OSError)"
    assert action["startTime"] == "2026-01-02T03:04:05+00:00"
    assert datetime.fromisoformat(action["endTime"]).year >= 2026  # that of the newest row
    for record in (root / "runs").iterdir():
        record.unlink()
    export_ro_crate(stored({"dice": 0.5}), Path("other"), "our own terms", now=NOW)
    found = entities(Path("other"))
    assert found["./"]["license"] == "our own terms"
    (action,) = (one for one in found.values() if one["@type"] == "CreateAction")
    assert "actionStatus" not in action
    assert found[action["instrument"]["@id"]]["softwareVersion"] == "unknown"
