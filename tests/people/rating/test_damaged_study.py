"""A damaged file of a study, or a full disk, is one sentence with exit code 2, never a traceback."""

from __future__ import annotations

import errno
import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.files.atomic import CannotWrite
from intrabench.people.annotating.server import tokens_of
from intrabench.people.rating.answers import Answer, Answers
from intrabench.people.rating.bundle import write_bundle
from intrabench.people.rating.design import design
from intrabench.people.rating.study import Study
from tests.conftest import Said
from tests.people.rating.conftest import PLAN

Change = Callable[[Any], Any]


def put(*path: Any) -> Change:
    """Sets what the last but one names to the last; a number is the place in the entries of a table."""
    *places, last, value = path

    def change(content: Any) -> None:
        found = content
        for place in places:
            found = found[place if not isinstance(found, dict) or place in found else [*found][place]]
        found[last if not isinstance(found, dict) or isinstance(last, str) else [*found][last]] = value

    return change


def drop(*path: Any) -> Change:
    """Removes what `path` names."""

    def change(content: Any) -> None:
        found = content
        for place in path[:-1]:
            found = found[place if place in found else [*found][place]]
        del found[path[-1] if path[-1] in found else [*found][path[-1]]]

    return change


STUDY = [
    *(drop(name) for name in ("format", "title", "guideline", "questions", "orders", "training")),
    *(put("format", value) for value in (3, "2", None, True, 1)),
    *(put("title", value) for value in (7, None, ["a"])),
    *(put("questions", value) for value in ([], "score", [1], ["ugly"])),
    *(put("orders", value) for value in ({"r1": 7}, {"r1": [7]}, {"r1": "abc"}, [], None, {"r1": ["j0"]})),
    *(put("orders", "r1", 0, value) for value in (7, None, "j0", "../key", ["j0"])),
    *(put("training", value) for value in ([], {"r1": []}, {"r1": [None], "r2": []}, {"r1": ["j"], "r2": []}, 7)),
]
KEY = [
    *(drop(name) for name in ("secret", "masks", "jobs")),
    *(put("secret", value) for value in (7, None, [])),
    *(put("jobs", value) for value in ([], {}, {"j1": 7}, {"j1": "m0-0"}, None)),
    *(put("masks", value) for value in ([], {}, {"m0-0": 7}, None)),
    *(put("jobs", 0, value) for value in ("nothing", 7)),
    *(put("masks", 0, value) for value in (7, [], {}, None, "text")),
    *(drop("masks", 0, name) for name in ("kind", "name", "code", "dataset", "case", "target", "label")),
    *(put("masks", 0, "kind", value) for value in (7, None, "pair")),
    put("masks", 0, "b", 7),
    put("masks", 0, "dice", "high"),
    put("masks", 0, "seed", 0.5),
]
CASES = [
    *(put(0, value) for value in (7, [], {}, None)),
    *(drop(0, name) for name in ("shape", "spacing", "slab", "presets")),
    *(put(0, "shape", value) for value in (7, [1], ["a", "b", "c"], None)),
    put(0, "presets", [7]),
    put("../images/c1", {}),
]
RATERS = [
    *(put("r1", value) for value in (7, None, "", "short", ["x" * 32], "ü" * 32)),
    drop("r1"),
    lambda content: content.update(r1=content["r2"]),
]
JOBS = [
    *(drop(name) for name in ("case", "see")),
    *(put("see", value) for value in (7, [], [1], [5, 2], [0, 10**12], ["a", "b"], [-1, 4], None)),
    *(put("case", value) for value in ("c99", "../c1", 7)),
]


def damaged(study: Study, name: str, change: Change | str) -> None:
    path = study.folder / name
    if isinstance(change, str):
        path.write_text(change)
        return
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def use(folder: Path, bundle: Path) -> None:
    """Whatever reads the files of a study."""
    study = Study.open(folder)
    assert study.tokens
    write_bundle(study, "r1", bundle)


TEXTS = ["", "{", "[]", "7", "null", '"text"', "[" * 5000, '{"a": NaN}', '{"format": 2, "format": 2}', "\0" * 99]


@pytest.mark.parametrize("name", ["study.json", "key.json", "cases.json", "raters.json", "jobs"])
def test_a_damaged_file_is_one_sentence(study: Study, tmp_path: Path, name: str) -> None:
    tables = {"study.json": STUDY, "key.json": KEY, "cases.json": CASES, "raters.json": RATERS, "jobs": JOBS}
    file = f"jobs/{study.order('r1')[0]}.json" if name == "jobs" else name
    whole = (study.folder / file).read_bytes()
    changes: list[Change | str] = [*tables[name], *TEXTS]
    for number, change in enumerate(changes):
        damaged(study, file, change)
        with pytest.raises(IntraBenchError) as error:
            use(study.folder, tmp_path / "bundle")
        said = str(error.value)
        assert study.folder.name in said, (number, said)
        assert "\n" not in said
        assert not list(tmp_path.glob("*bundle*"))
        (study.folder / file).write_bytes(whole)
    (study.folder / file).unlink()
    with pytest.raises(IntraBenchError, match=f"it has no {file}"):
        use(study.folder, tmp_path / "bundle")
    assert not list(tmp_path.glob("*bundle*"))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("study.json", put("orders", "r1", 0, 7)),
        ("key.json", put("jobs", 0, "nothing")),
        ("cases.json", put(0, 7)),
        ("raters.json", put("r1", 7)),
    ],
)
def test_the_commands_end_with_2(say: Callable[..., Said], study: Study, name: str, change: Change) -> None:
    damaged(study, name, change)
    for command in ("serve", "table", "export") if name != "raters.json" else ("serve",):
        said = say("rate", command, str(study.folder), *(["a.csv"] if command == "export" else []))
        assert said.code == 2
        assert name in said.err
        assert "Traceback" not in said.err
        assert said.err.count("error:") == 1


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE answers SET job = 'j0'",
        "UPDATE answers SET rater = 'r9'",
        "UPDATE answers SET place = 7",
        "UPDATE answers SET place = 'first'",
        "UPDATE answers SET errors = '{'",
        "UPDATE answers SET score = 'high'",
        "DROP TABLE answers; CREATE TABLE answers (number INTEGER)",
    ],
)
def test_answers_that_do_not_fit_are_told(say: Callable[..., Said], study: Study, statement: str) -> None:
    stored = Answers(study.answers_file)
    stored.add(Answer("id-one-0", "r1", 0, study.order("r1")[0], score=5))
    stored.close()
    with sqlite3.connect(study.answers_file) as base:
        base.executescript(statement)
    base.close()
    said = say("rate", "table", str(study.folder))
    assert said.code == 2
    assert "Traceback" not in said.err
    assert study.folder.name in said.err


@pytest.mark.parametrize("token", [7, None, "", ["a"]])
def test_tokens_of_annotators_that_are_none(tmp_path: Path, token: Any) -> None:
    (tmp_path / "people").mkdir()
    (tmp_path / "people" / "raters.json").write_text(json.dumps({"r1": token}))
    with pytest.raises(IntraBenchError, match=r"raters\.json has"):
        tokens_of(tmp_path, ["r1", "r2"])


@pytest.mark.parametrize("most", [0, 2, 9, 35])
def test_a_full_disk_is_one_sentence_and_leaves_nothing(
    results: Path, study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, wording: SnapshotAssertion
) -> None:
    """It is full after so many files of a study, or of a bundle."""
    monkeypatch.setenv("INTRABENCH_DATA", str(results.parent / "data"))
    left = [most]

    def until_full(write: Callable[..., int]) -> Callable[..., int]:
        def wrapped(self: Path, *content: Any, **more: Any) -> int:
            left[0] -= 1
            if left[0] < 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return write(self, *content, **more)

        return wrapped

    for name in ("write_bytes", "write_text"):
        monkeypatch.setattr(Path, name, until_full(getattr(Path, name)))
    made: list[tuple[str, Callable[[], Any]]] = [
        ("new", lambda: design(results, tmp_path / "new", PLAN)),
        ("bundle", lambda: write_bundle(study, "r1", tmp_path / "bundle")),
    ]
    for name, make in made:
        left[0] = min(most, 19) if name == "bundle" else most
        with pytest.raises(CannotWrite) as error:
            make()
        assert str(error.value) == wording
        assert not list(tmp_path.glob(f"*{name}*"))
