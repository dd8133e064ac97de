"""Stored cases whose files are empty, cut or absurd: a run says so in one sentence and converts them again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets.cases import store
from intrabench.datasets.phantom import Phantom
from intrabench.errors import IntraBenchError
from tests.conftest import Said
from tests.wording import line_with

Say = Callable[..., Said]
SPEC = "phantom:shape=16x32x32,instances=1"
WORDS = ("run", "-m", "box_fill", "-p", "box_slice", "-d", SPEC)


EYE = [[float(row == column) for column in range(4)] for row in range(4)]


def changed(**entries: object) -> Callable[[str], str]:
    return lambda text: json.dumps({**json.loads(text), **entries})


HARMS: dict[str, Callable[[str], str]] = {
    "empty": lambda text: "",
    "cut": lambda text: text[: len(text) // 2],
    "a list": lambda text: "[]",
    "null": lambda text: "null",
    "a number": lambda text: "7",
    "nothing in it": lambda text: "{}",
    "deep": lambda text: "[" * 100_000,
    "no JSON": lambda text: "<html>",
    "zeros": lambda text: "\0" * len(text),
    "shape is text": changed(shape="abc"),
    "shape is null": changed(shape=None),
    "spacing is text": changed(spacing_mm=["a", "b", "c"]),
    "affine is flat": changed(affine=[1, 2, 3]),
    "sizes is a list": changed(sizes=[1, 2]),
    "sizes are wrong": changed(sizes={"image.nii.zst": "big"}),
    "inputs is a number": changed(inputs=5),
    "targets is text": changed(targets="all"),
    "targets are numbers": changed(targets=[1, 2]),
    "hash is a number": changed(image_hash=7),
    "case is a list": changed(case=["case-1"]),
    "an unknown entry": changed(colour="red"),
    "original has no slices": changed(original={"shape": [4, 4, 0], "affine": EYE, "levels": []}),
    "original has two axes": changed(original={"shape": [4, 4], "affine": EYE, "levels": [0, 1]}),
    "original is not whole": changed(original={"shape": [4, 4, 2], "affine": EYE, "levels": [0]}),
    "original is infinite": changed(original={"shape": [4, 4, 2], "affine": EYE, "levels": [0, 1e999]}),
    "original lacks its affine": changed(original={"shape": [4, 4, 2], "levels": [0, 1]}),
    "original is flat": changed(original={"shape": [4, 4, 2], "affine": [[1]], "levels": [0, 1]}),
    "original is missing": lambda text: text.replace('"original"', '"other"'),
}


@pytest.mark.parametrize("harm", HARMS)
def test_a_run_mends_a_damaged_index(say: Say, data: Path, harm: str, wording: SnapshotAssertion) -> None:
    phantom = Phantom((16, 32, 32), instances=1)
    whole = store.prepare(phantom, "case-1")
    (path,) = data.glob("cases/*/case-1/case.json")
    text = path.read_text()
    path.write_text(HARMS[harm](text))
    said = say(*WORDS)
    assert said.code == 0
    assert "1 of 1 session" in said.err
    assert line_with(said.err, "session, 0") == wording
    if harm not in ("case is a list",):  # the index of another case, which is none of this one
        assert said.err.count("; the case is converted") == 1
        assert f"case case-1: {path.parent}" in said.err
    assert store.index(phantom, "case-1") == whole
    assert path.read_text() == text


@pytest.mark.parametrize("name", ["image.nii.zst", "targets.npz"])
@pytest.mark.parametrize("content", [b"", None], ids=["empty", "missing"])
def test_a_run_mends_damaged_voxels(
    say: Say, data: Path, name: str, content: bytes | None, wording: SnapshotAssertion
) -> None:
    store.prepare(Phantom((16, 32, 32), instances=1), "case-1")
    (path,) = data.glob(f"cases/*/case-1/{name}")
    path.unlink() if content is None else path.write_bytes(content)
    said = say(*WORDS)
    assert (said.code, said.err) == (0, wording)
    assert "damaged" not in say(*WORDS).err


def test_a_first_run_and_a_case_to_be_made_again_are_no_damage(say: Say, data: Path) -> None:
    assert "damaged" not in say(*WORDS).err


def test_export_names_a_damaged_case_once_and_goes_on(say: Say, data: Path, wording: SnapshotAssertion) -> None:
    two = "phantom:shape=16x32x32,instances=2,scans=2"
    assert say("run", "-m", "box_fill", "-p", "box_slice", "-d", two, "--save-masks").code == 0
    (path,) = data.glob("cases/*/case-1/case.json")
    path.write_bytes(b"")
    said = say("export", "masks", "nii")
    assert (said.code, said.out) == (1, wording)
    assert said.err.count("; delete the folder") == said.err.count("\n") == 1
    dry = say("run", "-m", "box_fill", "-p", "box_slice", "-d", two, "--dry-run")
    assert dry.code == 0
    with pytest.raises(IntraBenchError) as caught:
        store.index(Phantom((16, 32, 32), instances=2, scans=2), "case-1")
    assert caught == wording


def test_all_files_of_a_case_are_on_the_disk_before_it_counts(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    monkeypatch.setattr("intrabench.files.atomic.sync", lambda path: steps.append(path.name))
    monkeypatch.setattr(store, "sync", lambda path: steps.append(f"then {path.name}"))
    store.prepare(Phantom((16, 32, 32), instances=1), "case-1")
    (folder,) = data.glob("cases/*")
    assert sorted(steps[-5:-2]) == ["case.json", "image.nii.zst", "targets.npz"]
    assert steps[-2].startswith(".case-1.part-")
    assert steps[-1] == f"then {folder.name}"
