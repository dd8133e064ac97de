"""What weights rows have: one answer for every output."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.cli.describe import describe, described
from intrabench.models.weights import registry as weights
from intrabench.publishing.board.availability import marks, trained_on
from intrabench.publishing.board.lines import stated_lines
from intrabench.publishing.exports.eee import export_eee
from intrabench.publishing.exports.ro_crate import export_ro_crate
from intrabench.results.current import current
from intrabench.results.weights import WORDS, weights_of
from tests.reporting.test_comparison import stored
from tests.results.made import rows

MEDSAM = "34b34b78c1d18cb8c6bf84cf9c00e135d6d6c965699f3c0e31ef1bc9dcb5be74"
FILE = "f" * 64

LINES: dict[str, tuple[dict[str, str], str]] = {
    "published": ({"model": "medsam", "weights": "registered", "weights_sha256": MEDSAM}, "registered"),
    "file": ({"model": "medsam", "weights": "file", "weights_sha256": FILE}, "file"),
    "parameter": ({"model": "click_net:file=a.pt", "weights": "", "weights_sha256": FILE}, "file"),
    "folder": ({"model": "hf:repo=/my/folder", "weights": "registered", "weights_sha256": FILE}, "file"),
    "random": ({"model": "medsam", "weights": "random", "weights_sha256": "random"}, "random"),
    "none": ({"model": "box_fill", "weights": "", "weights_sha256": ""}, "none"),
}
RECORDS = [{"weights": [{"model": "hf:repo=/my/folder", "id": "hf:/my/folder"}]}]


@pytest.mark.parametrize(("line", "source"), LINES.values(), ids=LINES)
def test_a_row_says_what_weights_it_has(line: dict[str, str], source: str) -> None:
    found = weights_of(line, RECORDS)
    assert found.source == weights_of(line).source == source
    assert found.sha256 == (line["weights_sha256"] if source in ("registered", "file") else "")
    assert (found.entry is not None) == (source == "registered")
    assert found.words == WORDS[source]


def test_facts_of_one_file_are_not_said_of_another_of_that_name() -> None:
    known = LINES["published"][0]
    entry = weights_of(known).entry
    assert entry is not None
    assert entry.file == "medsam_vit_b.pth"
    other = weights_of({**known, "weights_sha256": FILE})
    assert (other.source, other.entry, other.unknown) == ("registered", None, "medsam was another file then")
    absent = weights_of({**known, "model": "nothing"})
    assert absent.entry is None
    assert "nothing" in absent.unknown


@pytest.fixture
def lines() -> pl.DataFrame:
    """Rows with all kinds of weights, some of one model."""
    made = rows(*(line for name, (line, _) in LINES.items() if name != "random"), dice=0.5, seen_in_training="unknown")
    stored("intrabench-results", made)
    return made


def test_every_output_says_the_same(lines: pl.DataFrame, tmp_path: Path) -> None:
    expected = {(line["model"], line["weights_sha256"]): source for line, source in LINES.values()}
    counted, _ = current(lines)
    assert set(counted.filter(model="click_net:file=a.pt")["weights"]) == {"parameter"}
    own = {model for model, sha256 in expected if expected[model, sha256] == "file"}
    for line in lines.to_dicts():
        is_own = expected[line["model"], line["weights_sha256"]] == "file"
        assert not is_own or f"own weights: a file with sha256 {FILE[:12]}" in [*marks(line)]

    text = intrabench.methods().written("text")
    assert "click_net:file=a.pt (version 1, weights from a file of our own with the SHA-256 ffff" in text
    assert text.count("Apache-2.0") == 1  # the licence of MedSAM's file is not that of the other file
    assert f"no trained weights with the SHA-256 {FILE}" not in text
    assert "box_fill (version 1, no trained weights, float32)" in text

    now = datetime(2026, 1, 2, tzinfo=UTC)
    export_ro_crate(Path("intrabench-results"), tmp_path / "crate", now=now)
    graph = json.loads((tmp_path / "crate" / "ro-crate-metadata.json").read_text())["@graph"]
    told = {
        (one["name"], one.get("sha256", "")): one["description"] for one in graph if one["@id"].startswith("#model")
    }
    assert told["click_net:file=a.pt", FILE] == told["medsam", FILE] == "Weights: file."
    assert told["medsam", MEDSAM].startswith("Weights: registered. Training data: 1.57 million")
    assert told["box_fill", ""] == "Weights: none."

    export_eee(Path("intrabench-results"), tmp_path / "eee", now=now, by=_evaluator())
    for path in (tmp_path / "eee").rglob("*.json"):
        about = json.loads(path.read_text())["model_info"]["additional_details"]
        key = about["spec"], about.get("weights_sha256", "")
        assert about["weights"] == expected.get(key, "file")  # without the path of the folder
        assert ("training_data" in about) == (key == ("medsam", MEDSAM))
        assert about["model_availability"] == ("open_weights" if key == ("medsam", MEDSAM) else "unknown")
    assert own == {"medsam", "click_net:file=a.pt", "hf:repo=/my/folder"}


def _evaluator() -> Any:
    from intrabench.publishing.exports.eee import Evaluator

    return Evaluator()


def test_a_submission_says_how_a_line_has_its_weights() -> None:
    row = LINES["parameter"][0]
    made = rows({**row, "dice": 0.5, "metrics": "dice@1", "protocol": "basic@1"})
    assert [line["weights"] for line in stated_lines(made)] == ["parameter"]


def test_training_sets_are_those_of_the_file_of_the_row() -> None:
    line = {"weights": "registered", "dataset_version": "1", "seen_in_training": "unknown", "model": "vista3d"}
    line |= {"dataset": "colorectal_livermets"}
    assert trained_on({**line, "weights_sha256": weights.get("vista3d").sha256}) == "yes"
    assert trained_on({**line, "weights_sha256": FILE}) == "unknown"


def test_the_card_of_voxtell_is_of_the_version_that_it_names(wording: SnapshotAssertion) -> None:
    entry = weights.get("voxtell")
    assert entry.file == "voxtell_v1.1"
    assert entry.training_data == wording
    assert entry.held_out == ()  # the test sets of the paper are of v1.0, and v1.1 was trained on them


def test_what_a_card_says_was_not_seen_was_not_trained_on() -> None:
    for entry in weights.entries().values():
        assert not set(entry.trained_on) & set(entry.held_out)
    assert "kits" not in weights.get("vista3d").held_out  # AbdomenCT-1K has scans of it


def test_info_names_the_file_of_a_parameter(plugged: str) -> None:
    facts = json.loads(described(plugged))["weights"]
    assert facts["file"] == "net.pt"
    assert facts["sha256"].startswith("ba7816bf")
    assert "weights sha256: ba7816bf" in describe(plugged)


@pytest.fixture
def plugged() -> str:
    """A spec of a model whose parameter names a file."""
    from intrabench.registry import registry

    Path("own_net.py").write_text(
        "from dataclasses import dataclass\n"
        "from pathlib import Path\n"
        "from intrabench import Answer, Mask, VolumeModel\n\n\n"
        "@dataclass(eq=False)\n"
        "class OwnNet(VolumeModel):\n"
        '    """A file."""\n\n'
        '    name = "own_net"\n'
        '    accepts = frozenset({"point"})\n'
        '    file: str = "net.pt"\n\n'
        "    @property\n"
        "    def weights_file(self):\n"
        "        return Path(self.file)\n\n"
        "    def segment_one(self, volume, request):\n"
        "        return Answer(Mask.empty())\n"
    )
    Path("net.pt").write_bytes(b"abc")
    registry.add_plugins([Path("own_net.py")])
    return "own_net"
