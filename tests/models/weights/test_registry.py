"""The registry of weights: what it says of each file, where it looks, what it notices, and what a run records."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench import effort
from intrabench.cli.describe import describe
from intrabench.errors import IntraBenchError
from intrabench.fetch.places import url_of
from intrabench.models import installing
from intrabench.models.weights import registry as weights
from intrabench.models.weights.registry import Weights
from intrabench.registry import registry
from tests.models.conftest import Own
from tests.wording import line_with

SOURCES = (
    r"https://[^\s/]+/\S+",
    r"hf:[\w.-]+/[\w.-]+@[0-9a-f]{40}/\S+",
    r"gdrive:[\w-]{20,}",
    r"package:[\w.-]+==[\w.]+/\w+/\S+",
)
ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # of b"abc"
PAGE = "https://example.org/own"


@pytest.mark.parametrize("entry", weights.entries().values(), ids=list(weights.entries()))
def test_every_entry_is_complete_and_consistent(entry: Weights) -> None:
    told = (entry.id, entry.file, entry.licence, entry.citation, entry.training_data, *entry.pages, *entry.sources)
    assert all(text and text == text.strip() for text in told)
    assert entry.megabytes > 0
    assert entry.sources or entry.pages
    assert all(any(re.fullmatch(kind, source) for kind in SOURCES) for source in entry.sources)
    stored = [source.rpartition("/")[2] for source in entry.sources if source.startswith(("hf:", "package:"))]
    assert all(entry.file.endswith(name) for name in stored)  # more than model.pt may be written before it
    assert entry.pages
    assert all(page.startswith("https://") for page in entry.pages)
    assert not (entry.sha256 and entry.members)
    assert all(re.fullmatch("[0-9a-f]{64}", sha256) for sha256 in (entry.sha256, *entry.members.values()) if sha256)
    assert bool(entry.package) == bool(entry.extra)
    assert not set(entry.trained_on) & set(entry.held_out)
    assert not (entry.natural and entry.trained_on)


def test_no_two_entries_share_a_file() -> None:
    files = [entry.file for entry in weights.entries().values()]
    assert len(files) == len(set(files))


def test_packages_that_carry_weights_are_pinned_by_their_extra() -> None:
    text = (Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8")
    extras = tomllib.loads(text)["project"]["optional-dependencies"]
    packaged = [entry for entry in weights.entries().values() if entry.package]
    assert packaged
    assert all(entry.package[0] in extras[entry.extra] for entry in packaged if entry.package)


def test_models_and_entries_name_each_other() -> None:
    named = {made.weights for entry in registry.entries("models").values() for made in every_kind_of(entry.load())}
    assert (named - {None}) | {"rclicks", "transalnet", "clip_merges"} == set(weights.entries())


def every_kind_of(model: type[Any]) -> list[Any]:
    """A model of every size, release and checkpoint."""
    hints = get_type_hints(model)
    kinds = ("size", "release", "checkpoint")
    chosen = [f.name for f in fields(model) if f.name in kinds and get_origin(hints[f.name]) is Literal]
    values = itertools.product(*(get_args(hints[name]) for name in chosen))
    return [model(**dict(zip(chosen, value, strict=True))) for value in values]


@pytest.mark.parametrize(
    ("source", "member", "url"),
    [
        ("https://a.org/b.pth?dl=1", "", "https://a.org/b.pth?dl=1"),
        ("https://a.org/folder", "fold_0/b.pth", "https://a.org/folder/fold_0/b.pth"),
        ("hf:own/net@0a1b/b.pth", "", "https://huggingface.co/own/net/resolve/0a1b/b.pth"),
        ("hf:own/net@0a1b/v1", "fold_0/b.pth", "https://huggingface.co/own/net/resolve/0a1b/v1/fold_0/b.pth"),
        ("gdrive:1-x_Y", "", "https://drive.usercontent.google.com/download?id=1-x_Y&export=download&confirm=t"),
    ],
)
def test_sources_are_addresses(source: str, member: str, url: str) -> None:
    assert url_of(source, member) == url


def test_the_folder_is_beside_the_data_unless_told(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("INTRABENCH_WEIGHTS", raising=False)
    assert weights.folder() == data / "weights"
    monkeypatch.setenv("INTRABENCH_WEIGHTS", "~/there")
    assert weights.folder() == Path.home() / "there"


def test_an_absent_file_is_told_with_what_to_do(own: Own, folder: Path, wording: SnapshotAssertion) -> None:
    own("fetched", sources=("https://example.org/own.pth",))
    own("by_hand", pages=(PAGE, PAGE + "2"))
    assert [weights.find(id) for id in ("fetched", "by_hand")] == [None, None]
    assert told("fetched") == wording
    assert told("by_hand") == wording


def told(id: str, override: Path | None = None) -> str:
    with pytest.raises(IntraBenchError) as caught:
        weights.locate(id, override)
    return str(caught.value)


def test_a_packaged_file_is_found_where_the_package_lies_and_repaired_by_its_version(
    own: Own, folder: Path, wording: SnapshotAssertion
) -> None:
    own("theirs", sources=("package:thing==1.2/intrabench/effort.toml",), extra="thing", file="effort.toml")
    found = weights.find("theirs")
    assert found == Path(effort.__file__).with_name("effort.toml")
    (folder / "effort.toml").write_bytes(b"abc")
    assert weights.find("theirs") == folder / "effort.toml"  # brought by hand goes first
    lacking = own("lacking", sources=("package:thing==1.2/intrabench/none.pth",), extra="thing")
    assert weights.remedy(lacking) == wording
    absent = own("absent", sources=("package:thing==1.2/no_such_module/none.pth",), extra="thing")
    assert weights.remedy(absent) == wording


def test_a_file_that_was_put_there_by_hand_is_recorded_and_its_change_noticed(
    own: Own, folder: Path, wording: SnapshotAssertion
) -> None:
    own(sources=("https://example.org/own.pth",))
    (folder / "own.pth").write_bytes(b"abc")
    assert weights.locate("own") == folder / "own.pth"
    recorded = json.loads((folder / "own.pth.json").read_text())
    assert (recorded["checksum"], recorded["source"]) == (f"sha256:{ABC}", "put there by hand")
    assert weights.verify("own") == wording
    (folder / "own.pth").write_bytes(b"abcd")
    assert told("own") == wording
    assert sorted(path.name for path in folder.iterdir()) == ["own.pth", "own.pth.json"]


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"sha256'])
def test_a_damaged_record_is_told(own: Own, folder: Path, text: str, wording: SnapshotAssertion) -> None:
    own()
    (folder / "own.pth").write_bytes(b"abc")
    (folder / "own.pth.json").write_text(text)
    assert told("own") == wording


def test_a_folder_that_cannot_be_written_can_still_be_read(
    own: Own, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own()
    (folder / "own.pth").write_bytes(b"abc")

    def refuse(*_: object) -> None:  # as a read-only folder does, for root too
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "write_text", refuse)
    assert weights.locate("own") == folder / "own.pth"


def test_verify_reads_again_what_looks_untouched(own: Own, folder: Path, wording: SnapshotAssertion) -> None:
    own(sha256=ABC)
    path = folder / "own.pth"
    path.write_bytes(b"abc")
    assert weights.verify("own") == f"{path}: sha256 {ABC}, as published"
    about = path.stat()
    path.write_bytes(b"abd")
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
    assert weights.locate("own") == path  # read once per process
    with pytest.raises(IntraBenchError) as caught:
        weights.verify("own")
    assert caught == wording


def test_a_folder_of_weights_is_known_by_all_its_files(own: Own, folder: Path, wording: SnapshotAssertion) -> None:
    (folder / "net" / "fold_0").mkdir(parents=True)
    (folder / "net" / "plans.json").write_bytes(b"abc")
    (folder / "net" / "fold_0" / "a.pth").write_bytes(b"abc")
    listed = json.dumps([["fold_0/a.pth", ABC], ["plans.json", ABC]])
    assert weights.sha256_of_path(folder / "net") == hashlib.sha256(listed.encode()).hexdigest()
    own("net", file="net", members={"plans.json": ABC, "fold_0/a.pth": ABC})
    assert weights.locate("net") == folder / "net"
    assert told("net", folder / "net" / "plans.json") == wording
    own()
    assert told("own", folder / "net") == wording


@pytest.mark.parametrize("content", [{}, {"plans.json": b"abd"}], ids=["absent", "another"])
def test_a_folder_is_not_taken_without_the_published_members(own: Own, folder: Path, content: dict[str, bytes]) -> None:
    (folder / "net").mkdir()
    for name, said in ({"a.pth": b"abc"} | content).items():
        (folder / "net" / name).write_bytes(said)
    own("net", file="net", members={"plans.json": ABC, "a.pth": ABC})
    with pytest.raises(IntraBenchError):
        weights.locate("net")


def test_the_listing_says_what_is_here_and_how_to_come_by_the_rest(
    own: Own, folder: Path, wording: SnapshotAssertion
) -> None:
    own("here", file="here.pth", sources=("https://example.org/here.pth",))
    own("fetched", sources=("https://example.org/own.pth",))
    own("by_hand", licence="none stated", pages=(PAGE,))
    own("absent", sources=("package:thing==1.2/no_such_module/none.pth",), extra="thing")
    (folder / "here.pth").write_bytes(b"damaged or not")
    lines = {line["id"]: line for line in weights.listing()}
    assert list(lines) == list(weights.entries())
    assert lines["by_hand"] == {
        "id": "by_hand",
        "size": "7 MB",
        "here": wording,
        "file": "own.pth",
        "licence": "none stated",
    }
    assert [lines[id]["here"] for id in ("here", "fetched", "absent")] == [
        "here",
        "intrabench weights get fetched",
        "pip install 'intrabench[thing]'",
    ]


def test_info_says_what_is_not_pinned(wording: SnapshotAssertion) -> None:
    loose = [entry.id for entry in weights.entries().values() if not entry.pinned]
    assert {"medsam2_2411", "sammed2d", "voxtell", "scribbleprompt_sam", "rclicks"} <= set(loose)
    assert line_with(describe("sammed2d"), "is published") == wording
    assert line_with(describe("sam"), "weights pinned") == wording


def test_the_package_of_a_third_party_is_pinned_and_told() -> None:
    root = Path(__file__).parents[3]
    (pin,) = re.findall(r"sam2==[\d.]+", (root / "pyproject.toml").read_text(encoding="utf-8"))
    assert pin in (root / "Makefile").read_text(encoding="utf-8")
    told = "third party uploaded"
    assert pin.replace("==", " ") in installing.caution("sam2")
    assert told in describe("sam2")
    assert told in installing.how_to_install("sam2")
    assert told in (root / "docs" / "installing.md").read_text(encoding="utf-8")
