"""Results for model repositories, read by the hub's own parser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.errors import IntraBenchError
from intrabench.publishing.exports.hugging_face import Source, export_hugging_face
from intrabench.results.selection import selection
from intrabench.results.store import Store
from intrabench.statistics.infinite import Infinite
from tests.publishing.exports.conftest import DATA, SCANS
from tests.publishing.exports.test_eee import stored
from tests.results.made import curve

hub = pytest.importorskip("huggingface_hub")
TASK = f"{DATA}=lab/phantoms@abc123/dice"


def test_the_hub_reads_what_is_written(results: Path) -> None:
    count, notes = export_hugging_face(results, Path("new"), [TASK], source=Source("https://example.org/runs", "Runs"))
    files = sorted(Path("new").glob("box_fill/.eval_results/*.yaml"))
    assert (count, notes, len(files)) == (2, [], 2)
    table = intrabench.table(results, by="prompter")
    means = dict(zip(table["prompter"], table[DATA], strict=True))
    for file in files:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
        (entry,) = hub.parse_eval_result_entries(content)
        assert hub.eval_result_entries_to_yaml([entry]) == content  # nothing that the hub does not know
        assert (entry.dataset_id, entry.task_id, entry.dataset_revision) == ("lab/phantoms", "dice", "abc123")
        assert (entry.source_url, entry.source_name) == ("https://example.org/runs", "Runs")
        assert entry.date.startswith("20")
        prompter = next(name for name in means if f"prompter {name}," in entry.notes)
        assert entry.value == pytest.approx(means[prompter], abs=1e-12)
        assert f"over {SCANS} patients" in entry.notes
        assert f"intrabench {intrabench.__version__}" in entry.notes


def test_of_infinite_values_the_others_are_averaged_and_that_is_said() -> None:
    root = stored(
        *({"case": str(n), "hd95_mm": 2.0 + n, "dice": 0.5} for n in range(8)), {"case": "8", "status": "oom"}
    )
    export_hugging_face(root, Path("new"), ["d=lab/b/t"], "hd95")
    (file,) = Path("new").rglob("*.yaml")
    (entry,) = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert entry["value"] == 5.5
    assert Infinite(1, 9, 5.5).words() in entry["notes"]
    assert "interval 2" not in entry["notes"]


def test_other_data_sets_are_left_out(wording: SnapshotAssertion) -> None:
    root = stored(
        {"dataset": "a", "dice": 0.5},
        {"dataset": "b:x=1", "dice": 0.25},
        {"dataset": "b:x=1", "case": "2", "dice": 0.75},
    )
    count, notes = export_hugging_face(root, Path("new"), ["b:x=1=lab/b/t"])
    (file,) = Path("new").rglob("*.yaml")
    (entry,) = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert (count, entry["value"], entry["dataset"]) == (1, 0.5, {"id": "lab/b", "task_id": "t"})
    assert "source" not in entry
    assert entry["notes"] == wording
    assert notes == wording


@pytest.mark.parametrize(
    "benchmarks",
    [
        [],
        ["d=lab/d"],
        ["e=lab/d/t"],
    ],
    ids=str,
)
def test_what_is_wrong_is_one_sentence(benchmarks: list[str], wording: SnapshotAssertion) -> None:
    root = stored({"dice": 0.5})
    with pytest.raises(IntraBenchError) as caught:
        export_hugging_face(root, Path("new"), benchmarks)
    assert caught == wording
    assert not Path("new").exists()
    with pytest.raises(IntraBenchError, match="--source-name needs an address"):
        Source(name="Runs")


def test_a_failure_leaves_nothing(monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion) -> None:
    root = stored({"dice": 0.5})

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(IntraBenchError) as caught:
        export_hugging_face(root, Path("new"), ["d=lab/d/t"])
    assert caught == wording
    assert {path.name for path in Path().iterdir()} == {"made"}


def test_the_number_of_the_protocol_leads(wording: SnapshotAssertion) -> None:
    """NoC20@90 of IoU over all targets where rclicks@1 was played, Dice where basic@1 was; a summary may be chosen."""
    clicks = {"protocol": "rclicks@1", "metrics": "dice@1 iou@1", "interactions": 1.0, "model": "m"}
    played = pl.concat(
        [
            curve([0.5, 0.95], **clicks, case="1"),  # two clicks
            curve([0.5, 0.6, 0.7, 0.92], **clicks, case="2"),  # four
            curve([0.5, 0.6], **clicks, case="2", instance=2),  # ended early: counts as 20
            curve([0.75], case="1"),
        ]
    )
    store = Store(Path("made"), "run")
    store.write_part([{k: v for k, v in one.items() if v is not None} for one in played.to_dicts()], [])
    count, _ = export_hugging_face(Path("made"), Path("new"), ["d=lab/d/t"])
    (dice, basic), (clicked, noc) = sorted((entry["value"], entry["notes"]) for entry in entries(Path("new")))
    assert (count, dice, clicked) == (2, 0.75, pytest.approx(26 / 3))
    assert basic.startswith("dice of m")
    assert "is 0.9" in noc
    assert noc == wording
    assert "1 of 3 sessions" in noc
    assert export_hugging_face(Path("made"), Path("chosen"), ["d=lab/d/t"], "noc:threshold=0.65")[0] == 2
    assert sorted(entry["value"] for entry in entries(Path("chosen"))) == [2.0, pytest.approx(25 / 3)]


def entries(folder: Path) -> list[dict[str, Any]]:
    return [one for file in sorted(folder.rglob("*.yaml")) for one in yaml.safe_load(file.read_text(encoding="utf-8"))]


def test_means_of_fewer_targets_say_so() -> None:
    cases = [{"case": str(n), "dice": 0.5 + n / 100} for n in range(8)]
    stored(*cases, model="all")
    root = stored(*cases[:3], model="few")
    assert export_hugging_face(root, Path("new"), ["d=lab/d/t"])[0] == 2
    notes = {path.parts[1]: yaml.safe_load(path.read_text())[0]["notes"] for path in Path("new").rglob("*.yaml")}
    assert ("3 of 8 targets" in notes["few"], "mean of" in notes["all"]) == (True, False)
    chosen = export_hugging_face(root, Path("chosen"), ["d=lab/d/t"], selection=selection(cases="[0-2]"))
    assert chosen[0] == 2
    assert not any("mean of" in path.read_text() for path in Path("chosen").rglob("*.yaml"))
