"""Every Eval Ever: its own schemas, our numbers."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.errors import IntraBenchError
from intrabench.publishing.exports.eee import Evaluator, export_eee
from intrabench.results.parts import read_rows
from intrabench.results.store import Store
from intrabench.statistics.infinite import Infinite
from tests.conftest import GOLDEN, Said
from tests.publishing.exports.conftest import DATA, SCANS
from tests.results.made import curve, rows

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def schema(name: str) -> Any:
    found = json.loads((GOLDEN / "exports" / f"{name}.schema.json").read_text(encoding="utf-8"))
    return jsonschema.Draft7Validator(found)


def read(folder: Path) -> dict[Path, tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Both files of each evaluation, by the path of the first."""
    found = {}
    for path in sorted(folder.glob("data/*/*/*/*.json")):
        lines = path.with_name(f"{path.stem}_samples.jsonl").read_text(encoding="utf-8").splitlines()
        found[path] = json.loads(path.read_text(encoding="utf-8")), [json.loads(line) for line in lines]
    return found


def stored(*given: dict[str, Any], **shared: Any) -> Path:
    root, made = Path("made"), rows(*given, **shared)
    store = Store(root, f"run{len(list(root.glob('rows/*')))}")
    values = made.drop("run_id", "written_at").to_dicts()
    store.write_part([{name: value for name, value in row.items() if value is not None} for row in values], [])
    return root


def test_a_run_fits_the_schemas(results: Path) -> None:
    count, notes = export_eee(results, Path("new"), Evaluator("Our lab", "third_party"), now=NOW)
    ((path, (log, lines)),) = read(Path("new")).items()
    assert (count, notes) == (1, [])
    schema("eval").validate(log)
    for line in lines:
        schema("instance_level_eval").validate(line)
    file = path.with_name(f"{path.stem}_samples.jsonl")
    detailed = log["detailed_evaluation_results"]
    assert detailed["file_path"] == file.relative_to("new").as_posix()
    assert detailed["checksum"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert detailed["total_rows"] == len(lines)
    assert path.parent == Path("new/data/intrabench/intrabench/box-fill")
    assert log["source_metadata"]["source_organization_name"] == "Our lab"
    assert log["source_metadata"]["source_type"] == "evaluation_run"
    assert log["eval_library"]["version"] == intrabench.__version__
    assert log["retrieved_timestamp"] == f"{NOW.timestamp():.0f}"
    assert {line["evaluation_id"] for line in lines} == {log["evaluation_id"]}


def test_its_numbers_are_those_of_the_rows(results: Path) -> None:
    """One label, one target per case: the protocol's mean is the plain mean."""
    export_eee(results, Path("new"), Evaluator(), now=NOW)
    ((log, lines),) = read(Path("new")).values()
    stored_rows = read_rows(results).filter(pl.col("round") == pl.col("round").max().over("session"))
    by_name = {one["evaluation_name"]: one for one in log["evaluation_results"]}
    names = {"box_slice, dice, final", "box_volume+scribble, dice, initial", "box_volume+scribble, dice, final"}
    assert names <= by_name.keys()
    assert "box_slice, dice, initial" not in by_name  # it has no corrections
    table = intrabench.table(results, by="prompter")
    for prompter, mean in zip(table["prompter"], table[DATA], strict=True):
        one = by_name[f"{prompter}, dice, final"]
        details, interval = one["score_details"], one["score_details"]["uncertainty"]["confidence_interval"]
        assert details["score"] == pytest.approx(mean, abs=1e-12)
        assert interval["lower"] < mean < interval["upper"]
        assert interval["confidence_level"] == 0.95
        assert details["uncertainty"]["num_samples"] == SCANS
        mine = [line for line in lines if line["evaluation_result_id"] == one["evaluation_result_id"]]
        dice = stored_rows.filter(prompter=prompter).sort("case", "target")["dice"].to_list()
        assert [line["evaluation"]["score"] for line in mine] == dice
        effort = stored_rows.filter(prompter=prompter)["interactions"].mean()
        assert float(details["details"]["interactions"]) == pytest.approx(effort, rel=1e-5)


def test_the_first_and_the_last_state() -> None:
    """Two sessions of three and of one round: what ended early keeps its state."""
    made = pl.concat([curve([0.25, 0.5, 1.0], case="1"), curve([0.75], case="2")])
    export_eee(stored(*made.to_dicts()), Path("new"), Evaluator(), now=NOW)
    ((log, lines),) = read(Path("new")).values()
    means = {one["evaluation_name"]: one["score_details"] for one in log["evaluation_results"]}
    assert (means["p, dice, initial"]["score"], means["p, dice, final"]["score"]) == (0.5, 0.875)
    assert (
        means["p, dice, initial"]["details"]["interactions"],
        means["p, dice, final"]["details"]["interactions"],
    ) == (
        "2",
        "4",
    )
    turns = [line["evaluation"]["num_turns"] for line in lines if line["evaluation_name"] == "p, dice, final"]
    assert turns == [6, 2]


def test_a_session_is_a_conversation(results: Path) -> None:
    export_eee(results, Path("new"), Evaluator(), now=NOW)
    ((_, lines),) = read(Path("new")).values()
    line = next(one for one in lines if one["evaluation_name"] == "box_volume+scribble, dice, final")
    case = line["sample_id"].split("/")[1]
    played = read_rows(results).filter(case=case, prompter="box_volume+scribble").sort("round")
    asked = [json.loads(one["content"]) for one in line["messages"] if one["role"] == "user"]
    answers = [json.loads(one["content"]) for one in line["messages"] if one["role"] == "assistant"]
    same = line["sample_id"].split("/")[2]
    mine = played.filter(target=same)
    assert [one["prompts_hash"] for one in asked] == mine["prompts_hash"].to_list()
    assert [one["dice"] for one in answers] == mine["dice"].to_list()
    assert line["evaluation"]["num_turns"] == 2 * mine.height
    text = line["input"]["raw"] + "".join(line["input"]["reference"])
    assert line["sample_hash"] == hashlib.sha256(text.encode()).hexdigest()


def test_metrics_say_what_they_are(results: Path) -> None:
    export_eee(results, Path("new"), Evaluator(), now=NOW)
    ((log, _),) = read(Path("new")).values()
    told = {one["metric_config"]["metric_id"]: one["metric_config"] for one in log["evaluation_results"]}
    assert told.keys() == {"dice", "iou", "nsd_2mm", "hd95_mm"}
    assert [told["dice"][name] for name in ("lower_is_better", "min_score", "max_score")] == [False, 0.0, 1.0]
    assert [told["hd95_mm"][name] for name in ("lower_is_better", "max_score")] == [True, "Infinity"]
    assert told["hd95_mm"]["metric_unit"] == "mm"


def test_the_same_results_have_the_same_files(results: Path, wording: SnapshotAssertion) -> None:
    for name, now in (("one", NOW), ("two", datetime(2027, 1, 1, tzinfo=UTC))):
        export_eee(results, Path(name), Evaluator(), now=now)
    one, two = ([path.relative_to(name) for path in read(Path(name))] for name in ("one", "two"))
    assert one == two
    with pytest.raises(IntraBenchError) as caught:
        export_eee(results, Path("one"), Evaluator(), now=NOW)
    assert caught == wording


def test_models_have_names_at_the_hub(wording: SnapshotAssertion) -> None:
    root = stored(
        {"model": "hf:repo=ORG/NAME,x=1", "dice": 0.5}, {"model": "m", "dice": 0.25}, {"model": "n", "dice": 1.0}
    )
    export_eee(root, Path("new"), Evaluator(), ["m=lab/Best"], now=NOW)
    ids = {log["model_info"]["name"]: log["model_info"]["id"] for log, _ in read(Path("new")).values()}
    assert ids == {"hf:repo=ORG/NAME,x=1": "ORG/NAME", "m": "lab/Best", "n": "intrabench/n"}
    with pytest.raises(IntraBenchError) as caught:
        export_eee(root, Path("other"), Evaluator(), ["x=a/b"], now=NOW)
    assert caught == wording
    with pytest.raises(IntraBenchError, match="--model-id m=a: expected ORG/NAME"):
        export_eee(root, Path("other"), Evaluator(), ["m=a"], now=NOW)
    assert not Path("other").exists()


def test_failures_count_and_infinite_values_are_said() -> None:
    root = stored(
        {"case": "1", "dice": 0.5, "hd95_mm": 2.0}, {"case": "2", "status": "error", "dice": None, "hd95_mm": None}
    )
    _, notes = export_eee(root, Path("new"), Evaluator(), now=NOW)
    ((log, lines),) = read(Path("new")).values()
    schema("eval").validate(log)
    dice = next(one for one in log["evaluation_results"] if one["metric_config"]["metric_id"] == "dice")
    assert dice["score_details"]["score"] == 0.25
    assert dice["score_details"]["details"]["failed"] == "1"
    assert "confidence_interval" not in dice["score_details"]["uncertainty"]  # two patients
    assert [(line["evaluation"]["score"], line["error"]) for line in lines if "dice" in line["evaluation_name"]] == [
        (0.5, None),
        (0.0, "error"),
    ]
    far = next(one for one in log["evaluation_results"] if one["metric_config"]["metric_id"] == "hd95_mm")
    assert far["score_details"]["score"] == 2.0
    assert far["score_details"]["details"]["infinite"] == Infinite(1, 2, 2.0).words()
    assert far["score_details"]["details"]["failed"] == "1"
    assert [line["evaluation"]["score"] for line in lines if "hd95" in line["evaluation_name"]] == [2.0]
    for line in lines:
        schema("instance_level_eval").validate(line)
    assert not [note for note in notes if "hd95" in note]
    assert math.isfinite(max(line["evaluation"]["score"] for line in lines))
    assert log["evaluation_results"][0]["source_data"]["source_type"] == "other"  # of an unknown data set
    assert "licence" not in log["evaluation_results"][0]["source_data"]["additional_details"]


def test_means_of_infinite_values_only_are_left_out(wording: SnapshotAssertion) -> None:
    root = stored({"dice": 0.0, "hd95_mm": math.inf, "status": "empty"})
    _, notes = export_eee(root, Path("new"), Evaluator(), now=NOW)
    ((log, lines),) = read(Path("new")).values()
    assert "hd95_mm" not in {one["metric_config"]["metric_id"] for one in log["evaluation_results"]}
    contents = [json.loads(message["content"]) for line in lines for message in line["messages"]]
    assert {one["dice"] for one in contents if "dice" in one} == {0.0}
    assert notes == wording


def test_of_mixed_versions_the_newest_count(wording: SnapshotAssertion) -> None:
    stored({"session": "old", "dataset_version": "1", "dice": 0.25})
    root = stored({"dataset_version": "2", "dice": 0.75})
    _, notes = export_eee(root, Path("new"), Evaluator(), now=NOW)
    ((log, _),) = read(Path("new")).values()
    assert {
        one["score_details"]["score"] for one in log["evaluation_results"] if ", dice," in one["evaluation_name"]
    } == {0.75}
    assert log["evaluation_results"][0]["source_data"]["additional_details"]["version"] == "2"
    assert notes == wording


def test_versions_of_the_program_are_all_named() -> None:
    for case, version in (("1", "0.2.0"), ("2", "0.1.0")):
        root = stored({"case": case, "dice": 0.5})
        Store(root, f"run{int(case) - 1}").write_record({"state": "finished", "versions": {"intrabench": version}})
    export_eee(root, Path("new"), Evaluator(), now=NOW)
    ((log, _),) = read(Path("new")).values()
    assert log["eval_library"]["version"] == "0.1.0, 0.2.0"
    for record in (root / "runs").iterdir():
        record.unlink()
    export_eee(root, Path("other"), Evaluator(), now=NOW)
    ((log, _),) = read(Path("other")).values()
    assert log["eval_library"]["version"] == "unknown"


def test_what_cannot_be_exported_is_one_sentence(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    for format in ("eee", "hf", "croissant", "ro-crate"):
        said = say("export", format, "new", "--out", "nothing")
        assert (said.code, said.out) == (2, "")
        assert said.err == wording
    said = say("export", "eee", "new", "--out", "nothing", "--relationship", "friend")
    assert said.err == wording
    root = stored({"status": "not_applicable", "dice": None, "iou": None, "hd95_mm": None, "nsd_2mm": None})
    with pytest.raises(IntraBenchError) as caught:
        export_eee(root, Path("new"), Evaluator(), now=NOW)
    assert caught == wording
    assert {path.name for path in Path().iterdir()} == {"made"}


def test_means_of_fewer_targets_say_so() -> None:
    cases = [{"case": str(n), "dice": 0.5 + n / 100} for n in range(8)]
    stored(*cases, model="all")
    export_eee(stored(*cases[:3], model="few"), Path("new"), Evaluator(), now=NOW)
    details = {
        (log["model_info"]["name"], one["evaluation_name"]): one["score_details"]["details"]
        for log, _ in read(Path("new")).values()
        for one in log["evaluation_results"]
    }
    assert "3 of 8 targets" in details["few", "p, dice, final"]["fewer_targets"]
    assert not any("fewer_targets" in one for (model, _), one in details.items() if model == "all")
    assert {model for model, _ in details} == {"all", "few"}
