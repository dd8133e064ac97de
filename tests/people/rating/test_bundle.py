"""A study on a disk, and the file that comes back."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.people.rating.answers import Answers
from intrabench.people.rating.study import Study
from tests.conftest import Said
from tests.people.rating.conftest import answer, kept
from tests.wording import without_reasons


def content(path: Path) -> tuple[str, Any]:
    """The name and the data of a script."""
    text = path.read_text()
    assert text.startswith("bundled(")
    name, _, rest = text.removeprefix("bundled(").partition(", ")
    return json.loads(name), json.loads(rest.rstrip().removesuffix(");"))


def test_a_bundle_has_all_that_its_rater_needs(
    say: Callable[..., Said], study: Study, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    said = say("rate", "bundle", str(study.folder), str(tmp_path / "bundle"), "--rater", "r2")
    assert said.code == 0, said.err
    files = dict(map(content, (tmp_path / "bundle" / "data").glob("*.js")))
    about = files["study"]
    assert (about["rater"], about["order"]) == ("r2", study.order("r2"))
    for job in (*about["order"], *about["training"]):
        page = files[f"job-{job}"]
        assert page == json.loads((study.folder / "jobs" / f"{job}.json").read_text())
        slab = base64.b64decode(files[f"image-{page['case']}-0"])
        assert slab == (study.folder / "images" / page["case"] / "0.gz").read_bytes()
    text = "".join(path.read_text() for path in (tmp_path / "bundle").rglob("*.*"))
    assert files["study"]["secret"] == study.secret.of_answers("r2") != study.secret.of_answers("r1")
    assert "window.BUNDLE = true" in text
    assert not any(secret in text for secret in ("random_walker", "box_fill", study.tokens["r2"], study.secret.text))
    again = say("rate", "bundle", str(study.folder), str(tmp_path / "bundle"), "--rater", "r2")
    assert (again.code, "exists already" in again.err) == (2, True)
    nobody = say("rate", "bundle", str(study.folder), "b", "--rater", "r3")
    assert (nobody.code, nobody.err) == (2, wording)


def test_answers_come_back_once(say: Callable[..., Said], study: Study, tmp_path: Path) -> None:
    given = [answer(study, "r1", place) for place in range(3)]
    file = tmp_path / "answers-r1.json"
    file.write_text(json.dumps(kept(study, "r1", given)))
    for _ in range(2):
        said = say("rate", "import", str(study.folder), str(file))
        assert (said.code, "3 answers of" in said.out) == (0, True), said.err
    stored = Answers(study.answers_file)
    assert stored.done("r1") == [0, 1, 2]
    assert len(stored.all()) == 3
    bad = [{**given[0], "score": 99}, {**given[1], "id": "another-one"}, {**answer(study, "r1", 4), "seen": []}, 7]
    file.write_text(json.dumps(kept(study, "r1", [*bad, answer(study, "r1", 3)])))
    said = say("rate", "import", str(study.folder), str(file))
    assert said.code == 1
    assert "1 answer of" in said.out
    for sentence in (
        "answer 1: score is not",
        "answer 2: this mask has been",
        "answer 3: look at all",
        "answer 4: it is",
    ):
        assert sentence in said.err
    assert stored.done("r1") == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "{}",
        '{"study": "another", "rater": "r1", "answers": "[]"}',
        '{"study": "ID", "rater": "r1", "answers": "[]"}',
        '{"study": "ID", "rater": "r1", "answers": []}',
        '{"study": "ID", "rater": "r9", "answers": "[]"}',
    ],
)
def test_files_that_are_none(
    say: Callable[..., Said], study: Study, tmp_path: Path, text: str, wording: SnapshotAssertion
) -> None:
    (tmp_path / "a.json").write_text(text.replace("ID", study.id))
    said = say("rate", "import", str(study.folder), str(tmp_path / "a.json"))
    assert said.code == 2
    assert without_reasons(said.err) == wording
