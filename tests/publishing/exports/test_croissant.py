"""Croissant, validated by mlcroissant without a network."""

from __future__ import annotations

import hashlib
import json
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets.base import DatasetCard
from intrabench.publishing.exports.croissant import card_of, export_croissant
from intrabench.registry import registry
from intrabench.results.parts import read_turns
from tests.conftest import Said


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without it."""
    global mlc
    mlc = pytest.importorskip("mlcroissant")


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise AssertionError("the validator asked the network")

    monkeypatch.setattr(socket, "getaddrinfo", refused)


def validated(path: Path) -> Any:
    """The metadata; mlcroissant raises what is wrong, and what is only recommended is a warning."""
    return mlc.Dataset(jsonld=path).metadata


@pytest.mark.parametrize(
    "name", [one.name for one in registry.entries("datasets").values() if one.origin == "intrabench"]
)
def test_every_card_is_valid(name: str, data: Path) -> None:
    dataset = registry.make("datasets", name)
    names, notes = export_croissant(Path("results"), Path("new"), [dataset])
    assert (names, notes) == ([f"{name}.croissant.json"], [])
    found = validated(Path("new") / names[0])
    card = dataset.card
    assert found.name == {"en": name} or found.name == name
    assert found.license == ([card.licence] if card.licence != "not stated" else None)
    assert found.cite_as == (card.citation if card.citation != "not stated" else None)
    assert found.data_limitations == ([*card.caveats] or None)
    assert found.data_annotation_protocol in (card.labels, [card.labels])
    content = json.loads((Path("new") / names[0]).read_text(encoding="utf-8"))
    assert card.title.rstrip(".") in content["description"]
    assert card.modality in content["keywords"]
    assert "http://mlcommons.org/croissant/RAI/1.0" in content["conformsTo"]


def test_files_have_their_checksums(data: Path) -> None:
    dataset = registry.make("datasets", "spine_ct")
    (source,) = dataset.sources()
    (file,) = card_of(dataset, "spine_ct")["distribution"]
    assert (file["sha256"], file["contentUrl"]) == (source.sha256, source.urls()[0])


def test_what_is_unknown_is_left_out(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = registry.make("datasets", "phantom")
    monkeypatch.setattr(type(dataset), "card", DatasetCard("A title", "CT"))
    told = card_of(dataset, "mine")
    assert not {"license", "citeAs", "url", "datePublished", "creator", "rai:dataLimitations"} & told.keys()
    assert "not stated" not in json.dumps(told)


def test_prompts_are_a_data_set(results: Path, data: Path) -> None:
    export_croissant(results, Path("new"), licence="CC-BY-4.0")
    folder = Path("new/prompts")
    dataset = mlc.Dataset(jsonld=folder / "croissant.json")
    assert dataset.metadata.license == ["CC-BY-4.0"]
    (file,) = dataset.metadata.distribution
    assert file.sha256 == hashlib.sha256((folder / "prompts.jsonl").read_bytes()).hexdigest()
    found = {}
    for record in dataset.records("turns"):
        text = {name: one.decode() if isinstance(one, bytes) else one for name, one in record.items()}
        assert text["turns/model"] == "box_fill"
        found[text["turns/session"], int(text["turns/turn"])] = json.loads(text["turns/given"])
    turns = read_turns(results)
    assert found == {(row["session"], row["turn"]): json.loads(row["given"]) for row in turns.iter_rows(named=True)}
    content = json.loads((folder / "croissant.json").read_text(encoding="utf-8"))
    assert content["rai:dataCollectionType"] == ["Software Collection"]


def test_prompts_of_people_are_called_so(private: Path, data: Path, wording: SnapshotAssertion) -> None:
    names, notes = export_croissant(private, Path("new"))
    assert names == ["prompts/croissant.json"]
    assert notes == wording
    content = json.loads(Path("new/prompts/croissant.json").read_text(encoding="utf-8"))
    assert content["rai:dataCollectionType"] == ["Software Collection", "Experiments"]
    assert "license" not in content
    validated(Path("new/prompts/croissant.json"))


def test_missing_prompts_are_counted(private: Path, say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    shutil.rmtree(private / "turns")
    said = say("export", "croissant", "new", "--out", str(private))
    assert said.code == 0
    assert said.err == wording
