"""Files of JSON and TOML that anybody wrote: every one is read, or refused in one sentence that names it."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.clickability.rclicks import RClicks
from intrabench.datasets.base import Files
from intrabench.datasets.cases.stored_case import read_index, write_case
from intrabench.datasets.folder.rules import Rules
from intrabench.datasets.phantom import Phantom
from intrabench.errors import IntraBenchError
from intrabench.fetch.checksum import note, note_of, noted
from intrabench.files.documents import LARGEST, Unreadable, read_json, read_json_list, read_toml
from intrabench.results.runs import read_record, read_records
from intrabench.workspace import current

DEEP = 10**6

BAD_JSON: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "it is empty"),
    "zeros": (b"\0" * 100, "it is empty"),
    "cut": (b'{"a": ', "Expecting value"),
    "deep lists": (b"[" * DEEP, "more than 100 levels deep"),
    "deep tables": (b'{"a":' * DEEP, "more than 100 levels deep"),
    "101 levels": (b'{"a":' * 101 + b"1" + b"}" * 101, "more than 100 levels deep"),
    "huge number": (b'{"a": ' + b"9" * 5000 + b"}", "is not valid JSON"),
    "NaN": (b'{"a": NaN}', "NaN is not a number in JSON"),
    "infinite": (b'{"a": -Infinity}', "-Infinity is not a number in JSON"),
    "key twice": (b'{"a": 1, "a": 2}', "the key 'a' is there twice"),
    "UTF-16": ('{"a": 1}'.encode("utf-16"), "it is not UTF-8"),
    "Latin-1": (b'{"a": "\xe9"}', "it is not UTF-8"),
    "half a letter": (b'{"a": "\\ud800"}', "it is not UTF-8"),
    "a list": (b"[1, 2]", "has no table of names and values"),
    "null": (b"null", "has no table"),
    "wrong type": (b'{"n": "4"}', 'has n = "4", which is of the wrong kind'),
    "a truth for a number": (b'{"n": true}', "has n = true, which is of the wrong kind"),
    "wrong type inside": (b'{"l": [1, null]}', "has l = .1, null., which is of the wrong kind"),
    "wrong value inside": (b'{"d": {"a": "x"}}', "has d = .*, which is of the wrong kind"),
}
BAD_TOML: dict[str, tuple[bytes, str]] = {
    "cut": (b"a = ", "Invalid value"),
    "zeros": (b"\0" * 100, "is not valid TOML"),
    "deep lists": (b"a = " + b"[" * DEEP, "more than 100 levels deep"),
    "deep tables": (b"a = " + b"{a=" * DEEP, "more than 100 levels deep"),
    "a key of many parts": (b"a" + b".a" * DEEP + b" = 1", "more than 100 levels deep"),
    "a table of many parts": (b"[a" + b".a" * DEEP + b"]", "more than 100 levels deep"),
    "huge number": (b"a = " + b"9" * 5000, "is not valid TOML"),
    "huge hexadecimal number": (b"a = 0x" + b"f" * 5000, "is not valid TOML"),
    "key twice": (b"a = 1\na = 2", "Cannot overwrite a value"),
    "UTF-16": ("a = 1".encode("utf-16"), "it is not UTF-8"),
    "wrong type": (b"n = 1.5", "has n = 1.5, which is of the wrong kind"),
    "a date for a number": (b"n = 2020-01-01", "has n = .2020-01-01., which is of the wrong kind"),
}
TYPES: dict[str, Any] = {"n": int, "l": list[int], "d": dict[str, int]}


@pytest.mark.parametrize("kind", BAD_JSON)
def test_json_that_is_refused(tmp_path: Path, kind: str) -> None:
    content, said = BAD_JSON[kind]
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(Unreadable, match=said) as refused:
        read_json(path, TYPES)
    assert str(path) in str(refused.value)
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize("kind", BAD_TOML)
def test_toml_that_is_refused(tmp_path: Path, kind: str) -> None:
    content, said = BAD_TOML[kind]
    path = tmp_path / "a.toml"
    path.write_bytes(content)
    with pytest.raises(Unreadable, match=said) as refused:
        read_toml(path, TYPES)
    assert str(path) in str(refused.value)


def test_what_is_right_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b'\xef\xbb\xbf{"n": 3, "l": [1], "d": {"a": 2}, "other": {"x": [null, 1.5]}}')
    assert read_json(path, TYPES) == {"n": 3, "l": [1], "d": {"a": 2}, "other": {"x": [None, 1.5]}}
    path.write_bytes(b'{"a":' * 99 + b"1" + b"}" * 99)
    assert list(read_json(path, TYPES)) == ["a"]
    path.write_bytes(b"[]")
    assert read_json_list(path, TYPES) == []
    path.write_bytes(b'[{"n": 1}]')
    assert read_json_list(path, TYPES) == [{"n": 1}]
    path.write_bytes("\N{BYTE ORDER MARK}n = 3 # a.b.c".encode())
    assert read_toml(path, TYPES) == {"n": 3}
    path.write_bytes(b"")
    assert read_toml(path, TYPES) == {}
    with pytest.raises(FileNotFoundError):
        read_json(tmp_path / "none", TYPES)


def test_lists_that_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    for content, said in (b"{}", "has no list of tables"), (b"[1]", "has no table"), (b'[{"n": "x"}]', "wrong kind"):
        path.write_bytes(content)
        with pytest.raises(Unreadable, match=said):
            read_json_list(path, TYPES)


def test_what_is_no_file_is_never_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # names of sockets are short
    os.mkfifo("pipe")
    Path("folder").mkdir()
    Path("device").symlink_to("/dev/zero")
    Path("loop").symlink_to("loop")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("socket")
        kinds = {
            "pipe": "a pipe",
            "folder": "is a folder",
            "device": "a device",
            "socket": "a socket",
            "loop": "cannot",
        }
        for name, said in kinds.items():
            with pytest.raises(Unreadable, match=said):
                read_json(Path(name), TYPES)
    with Path("large").open("wb") as large:
        large.truncate(LARGEST + 1)
    with pytest.raises(Unreadable, match="which is too large"):
        read_json(Path("large"), TYPES)


@pytest.mark.parametrize("kind", BAD_TOML)
def test_settings_of_a_workspace_and_rules_of_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    content, _ = BAD_TOML[kind]
    for name, reads in ("intrabench.toml", current), ("dataset.toml", lambda: Rules.read(Path("dataset.toml"))):
        Path(name).write_bytes(content)
        with pytest.raises(IntraBenchError, match=name):
            reads()


def test_results_of_a_workspace_are_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("intrabench.toml").write_text("results = [1]")
    with pytest.raises(IntraBenchError) as caught:
        current()
    assert caught == wording


@pytest.mark.parametrize("kind", BAD_JSON)
def test_a_damaged_case_or_note_is_named_and_a_damaged_record_is_none(
    tmp_path: Path, kind: str, wording: SnapshotAssertion
) -> None:
    content, _ = BAD_JSON[kind]
    for name in "case.json", "weights.json", "runs/a.json":
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    with pytest.raises(IntraBenchError) as caught:
        read_index(tmp_path, "get it")
    assert caught == wording
    with pytest.raises(IntraBenchError) as caught:
        noted(tmp_path / "weights")
    assert caught == wording
    if not kind.startswith(("wrong", "a truth")):
        assert read_record(tmp_path, "a") == {}


@pytest.mark.parametrize(
    "wrong",
    [
        '"case": 1',
        '"shape": [1, 2]',
        '"shape": "abc"',
        '"shape": [1.5, 2, 3]',
        '"spacing_mm": [1, 1, 1e999]',
        '"affine": [[1, 0], [0, 1]]',
        '"affine": [[1, 0, 0, 0], [0, 1e999, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]',
        '"targets": {}',
        '"targets": [3]',
        '"targets": [{"label": "a"}]',
        '"targets": [{"label": 1, "instance": 1, "box": [0, 0, 0, 1, 1, 1], "voxels": 1, "slices": 1, '
        '"content_hash": ""}]',
        '"targets": [{"label": "a", "instance": 1, "box": [0, 0, 0, 1], "voxels": 1, "slices": 1, "content_hash": ""}]',
        '"sizes": {"image.nii.gz": "9"}',
        '"inputs": [1]',
        '"unknown": 1',
    ],
)
def test_a_case_with_an_entry_of_the_wrong_type(tmp_path: Path, wrong: str) -> None:
    (name,) = Phantom(shape=(8, 16, 16)).cases()[:1]
    volume, targets = Phantom(shape=(8, 16, 16)).load(name, Files(tmp_path, tmp_path))
    write_case(tmp_path, name, volume, targets, {})
    assert read_index(tmp_path, "get it") is not None
    path = tmp_path / "case.json"
    stored = json.loads(path.read_text())
    stored.pop(wrong.split('"')[1], None)
    path.write_text(f"{json.dumps(stored).removesuffix('}')}, {wrong}}}")
    with pytest.raises(IntraBenchError, match=r"case\.json is damaged"):
        read_index(tmp_path, "get it")


def test_notes_of_the_wrong_type_and_records_that_are_no_files(tmp_path: Path) -> None:
    weights = tmp_path / "weights"
    weights.touch()
    note(weights, "sha256:00", "somewhere")
    assert noted(weights) is not None
    note_of(weights).write_text('{"checksum": 1, "size": 0, "mtime_ns": 0, "source": ""}')
    with pytest.raises(IntraBenchError, match="damaged"):
        noted(weights)
    (tmp_path / "runs").mkdir()
    os.mkfifo(tmp_path / "runs" / "a.json")
    (tmp_path / "runs" / "b.json").mkdir()
    assert read_records(tmp_path) == []


@pytest.mark.parametrize(
    "content", ['{"settings": 1}', "[" * DEEP, '{"settings": {"size": 1e999}}', '{"settings": {}}']
)
def test_a_damaged_record_of_a_training(tmp_path: Path, content: str, wording: SnapshotAssertion) -> None:
    (tmp_path / "training.json").write_text(content)
    (tmp_path / "w.pt").touch()
    with pytest.raises(IntraBenchError) as caught:
        _ = RClicks(weights=str(tmp_path / "w.pt")).side
    assert caught == wording
